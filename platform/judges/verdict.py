"""Read a judge's verdict: `<criticism>...</criticism><decision>yes|no</decision>`, and nothing else.

What the judge wrote may have been steered by the text that it judged, so the parser forgives nothing: a
decision counts only where the whole output is one well-formed verdict.
"""

import re
from typing import Literal

Outcome = Literal["yes", "no", "malformed"]

MAX_CHARS = 1 << 16
"""Longer outputs are malformed without a look at them."""

_OPEN, _BETWEEN, _CLOSE = "<criticism>", ("</criticism>", "<decision>"), "</decision>"

# Anything that a careless reader would take for one of the four tags: `< Decision`, `</ criticism foo`.
_TAG = re.compile(r"<[\s/]*(?:criticism|decision)", re.IGNORECASE)


def parse(text: str) -> Outcome:
    """The decision of a judge's output ("Hail to the Thief", section 5: criticism first, then yes or no).

    Strict: one `<criticism>...</criticism>`, then one `<decision>yes</decision>` or `no`, no tag inside
    either, nothing but white space before, between and after. White space around the word and its case are
    free; it must be ASCII. Linear in the length of the text.
    """
    if len(text) > MAX_CHARS:
        return "malformed"
    text = text.strip()
    if not (text.startswith(_OPEN) and text.endswith(_CLOSE)):
        return "malformed"
    if len(_TAG.findall(text)) != 4:
        return "malformed"
    _, closed, rest = text.partition(_BETWEEN[0])
    between, opened, word = rest.removesuffix(_CLOSE).partition(_BETWEEN[1])
    if not (closed and opened) or between.strip():
        return "malformed"
    # "ſ" and "K" have ASCII letters for other cases.
    word = word.strip().lower() if word.isascii() else ""
    return "yes" if word == "yes" else "no" if word == "no" else "malformed"
