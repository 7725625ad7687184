"""Competition problems of five levels (Hendrycks et al. 2021, arXiv 2103.03874), from the hub or files."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from turncoat.platform.tasks.finite import QuestionTask
from turncoat.platform.tasks.rows import Row, RowSettings, text

INSTRUCTION = (
    "Solve the problem. Write your reasoning between <think> and </think>, "
    "then only the final answer, in LaTeX, between <answer> and </answer>."
)
FIELDS = ("problem", "solution")

Subject = Literal[
    "Algebra",
    "Counting & Probability",
    "Geometry",
    "Intermediate Algebra",
    "Number Theory",
    "Prealgebra",
    "Precalculus",
]

_LEVEL = re.compile(r"(?:Level )?([1-5?])")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*")


class MathTask(QuestionTask):
    r"""MATH: `problem`, `level` ("Level 3" or 3), `type` or `subject`, and a `solution` with a \boxed{}."""

    class Settings(RowSettings):
        kind: Literal["math"] = "math"
        check: Literal["exact", "expression"] = "expression"
        hub_name: str = "DigitalLearningGmbH/MATH-lighteval"
        instruction: str = INSTRUCTION
        levels: list[Annotated[int, Field(ge=1, le=5)]] | None = Field(None, min_length=1)
        """Keep problems of these levels, in both splits. Unset: all, and those without a level too."""
        subjects: list[Subject] | None = Field(None, min_length=1)
        """Keep problems of these subjects, in both splits. Unset: all."""

    name = "math"
    settings: Settings

    def id_of(self, split: str, row: Row) -> str:
        return f"{super().id_of(split, row)}/level-{row.level}"

    def parse(self, number: int, row: Any) -> Row | None:
        levels, subjects = self.settings.levels, self.settings.subjects
        found = parse(number, row)
        wanted = (levels is None or found.level in levels) and (
            subjects is None or subject_of(found) in subjects
        )
        return found if wanted else None


def parse(number: int, row: Any) -> Row:
    """Read one row. Raises ValueError, which names the field, if it has no level or no answer.

    The answer is the column `answer`, if there is one (MATH-500), else what the solution boxes last.
    """
    problem, solution = (text(row, field, FIELDS) for field in FIELDS)
    answer = boxed(solution) if row.get("answer") is None else text(row, "answer", (*FIELDS, "answer"))
    if answer is None:
        raise ValueError(f"solution is {solution[-40:]!r}, expected one that boxes its answer in \\boxed{{}}")
    return Row(number, problem.strip(), solution.strip(), answer.strip(), level_of(row), topic_of(row))


def level_of(row: Mapping[str, Any]) -> int:
    """1 to 5; 0 for the few rows of "Level ?". Raises ValueError."""
    found = _LEVEL.fullmatch(str(row.get("level")))
    if found is None:
        raise ValueError(f"level is {row.get('level')!r}, expected 'Level 1' to 'Level 5', or 1 to 5")
    return 0 if found[1] == "?" else int(found[1])


def topic_of(row: Mapping[str, Any]) -> str:
    """The text under `type` or `subject`; empty if neither is one. Raises ValueError for a lone surrogate."""
    subject = row.get("type") or row.get("subject")
    if not isinstance(subject, str):
        return ""
    subject.encode()
    return subject


def subject_of(row: Row) -> str:
    """Raises ValueError if the row has no topic."""
    if not row.topic:
        raise ValueError("has no text under 'type' or 'subject'")
    return row.topic


def boxed(solution: str) -> str | None:
    r"""What the last `\boxed{...}` (`\fbox{...}`, `\boxed 5`) holds; None where nothing is boxed."""
    boxes = list(_BOX.finditer(solution))
    if not boxes:
        return None
    rest = solution[boxes[-1].end() :]
    if not rest.startswith("{"):
        return re.split(r"[\s$.]", rest, maxsplit=1)[0] or None
    depth = 0
    for i, char in enumerate(rest):
        # An escaped brace, as of a set, opens and closes nothing.
        if char in "{}" and rest[i - 1 : i] != "\\":
            depth += 1 if char == "{" else -1
            if depth == 0:
                return rest[1:i].strip() or None
    return None
