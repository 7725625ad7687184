"""The all-gather's door: what a peer sent is data from a stranger."""

from collections import Counter
from collections.abc import Iterable, Mapping

from turncoat.platform.ids import CompletionId
from turncoat.platform.policies.tokens import CHARS_PER_TOKEN
from turncoat.platform.records import Completion, Contribution, Prompt, Truth

MAX_ROW = 2**48
"""Far more rows than any run deals out; a bound on what a peer can have the task compute."""


def admit(
    contribution: Contribution,
    owed: Iterable[CompletionId],
    prompts: Mapping[int, Prompt],
    max_new_tokens: int,
) -> tuple[dict[CompletionId, tuple[Completion, Truth]], Counter[str]]:
    """Keep the well-formed completions that this peer owes this round, and count the rest by reason.

    Reasons: "type" (not a completion of text), "foreign" (an id that the peer does not owe: of another peer,
    round or group), "duplicate", "prompt" (names another prompt), "oversized" (more characters than any
    honest text), and "missing" (owed, and nothing admissible came).
    """
    expected, refused = set(owed), Counter[str]()
    admitted: dict[CompletionId, tuple[Completion, Truth]] = {}
    for one, truth in zip(contribution.completions, contribution.truths, strict=True):
        reason = _objection(one, expected, prompts, CHARS_PER_TOKEN * (max_new_tokens + 1))
        if reason is None and one.id in admitted:
            reason = "duplicate"
        if reason is None:
            admitted[one.id] = (one, truth)
        else:
            refused[reason] += 1
    if len(admitted) < len(expected):
        refused["missing"] = len(expected) - len(admitted)
    return admitted, refused


def admit_choices(choices: object, groups: range) -> tuple[dict[int, int], Counter[str]]:
    """(group -> row that its owner chose, refusals). A peer chooses a row for each of its groups, or none.

    Refused, as "choices", and then as if nothing was chosen: anything but plain row numbers below `MAX_ROW`.
    """
    if isinstance(choices, tuple) and not choices:
        return {}, Counter()
    if (
        isinstance(choices, tuple)
        and len(choices) == len(groups)
        and all(type(row) is int and 0 <= row < MAX_ROW for row in choices)
    ):
        return dict(zip(groups, choices, strict=True)), Counter()
    return {}, Counter(choices=1)


def _objection(
    one: Completion, expected: set[CompletionId], prompts: Mapping[int, Prompt], max_chars: int
) -> str | None:
    if not (isinstance(one, Completion) and isinstance(one.text, str) and isinstance(one.finished, bool)):
        return "type"
    # Plain integers only: 1.0 and True equal 1, and an id of lists cannot even be looked up.
    if not (isinstance(one.id, CompletionId) and all(type(part) is int for part in one.id)):
        return "foreign"
    if one.id not in expected:
        return "foreign"
    # An array, compared with a string, is neither equal nor unequal.
    if not (isinstance(one.prompt_id, str) and one.prompt_id == prompts[one.id.prompt].id):
        return "prompt"
    return "oversized" if len(one.text) > max_chars else None
