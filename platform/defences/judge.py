"""An LLM judge reads every solution that would earn a reward."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from turncoat.platform.defences.votes import Votes, VoteSettings
from turncoat.platform.judges.base import Case, Ruling
from turncoat.platform.registry import JUDGES, Kinded

# The registry in the annotation is what overrides look for.
JudgeSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(partial(JUDGES.parse, kind="model")), JUDGES]


class JudgeDefence(Votes):
    """Take the reward from completions that a judge says no to.

    Score: the share of its votes that are not yes. Source: "Hail to the Thief", section 5. Should see:
    `text`, `library`; `equation` late, in the paper. Blind to: `length`. Defeated by: whatever persuades the
    judge. False alarms: the judge's own mistakes (the paper's rejects one honest solution in four).
    """

    class Settings(VoteSettings):
        kind: Literal["judge"] = "judge"
        judge: JudgeSection = Field(default={}, validate_default=True)
        """Which judge, and how it is asked."""
        workers: int = Field(1, ge=1)
        """Processes of the judge service, each with a judge of its own."""

    settings: Settings

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        return self.surroundings.judges[self.settings.label](cases)
