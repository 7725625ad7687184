"""From a template and plain data to one HTML file that needs nothing else.

Styles and figures lie inside it.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from turncoat.platform.journal.atomic import write_text

NONE = "–"


def write_page(path: Path, template: str, **content: Any) -> Path:
    """Fill `template` and replace `path` by the result, atomically; returns `path`."""
    write_text(path, _templates().get_template(template).render(**content))
    return path


@cache
def _templates() -> Environment:
    # Autoescape is on for every template: what peers wrote reaches the page as text, never as markup.
    templates = Environment(
        loader=PackageLoader("turncoat.platform.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters |= {"percent": percent, "decimal": decimal, "interval": interval, "visible": visible}
    return templates


def percent(share: float | None) -> str:
    """0.9421 as "94.2 %"."""
    return NONE if share is None else f"{100 * share:.1f} %"


def decimal(value: float | None, digits: int = 1) -> str:
    """1234.56 as "1,234.6"."""
    return NONE if value is None else f"{value:,.{digits}f}"


def interval(bounds: Sequence[float] | None, scale: float = 100) -> str:
    """(0.92, 0.958) as "[92.0, 95.8]": percentages unless `scale` is 1."""
    return "" if bounds is None else f"[{scale * bounds[0]:.1f}, {scale * bounds[1]:.1f}]"


def visible(text: str) -> str:
    """Text that hides nothing: control and direction characters are spelt out, as `\\x00` or `\\u202e`."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else _spelt(char)
        for char in text
    )


def _spelt(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
