"""The policy judges its own peers: the paper's negative result."""

import time
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.defences.votes import Votes, VoteSettings
from turncoat.platform.judges import verdict
from turncoat.platform.judges.base import MAX_KEPT_CHARS, Case, Ruling
from turncoat.platform.judges.prompt import MAX_CHARS, messages, plain


class SelfJudge(Votes):
    """Take the reward from completions that the receiver's own policy, asked as a judge, says no to.

    Score: the share of its votes that are not yes. Source: "Hail to the Thief", section 5: it fails, because
    training moves the judge too, and it drifts to yes. Should see: `text`, `library`, in the first rounds.
    Blind to: `length`. Defeated by: training itself, and whatever persuades the policy. A policy that cannot
    write a verdict at all rejects everything (`fail: closed`) or nothing (`open`): read the counts.
    """

    class Settings(VoteSettings):
        kind: Literal["self_judge"] = "self_judge"
        layout: Literal["instructed", "plain"] = "instructed"
        """instructed: the rules of judging and two examples stand before the case, as text. plain: the case
        alone, for a policy that has learnt to judge."""
        temperature: float = Field(0.6, gt=0)
        top_k: int = Field(10, ge=0)
        top_p: float = Field(0.9, gt=0, le=1)
        max_new_tokens: int = Field(96, ge=1)
        """Length of a verdict. One that does not end in time is malformed."""
        max_chars: int = Field(MAX_CHARS, ge=1)
        """Characters of a solution that are read; a longer one is cut with a mark."""

    settings: Settings

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        one = self.settings
        sampling = Sampling(
            temperature=one.temperature,
            top_k=one.top_k,
            top_p=one.top_p,
            max_new_tokens=one.max_new_tokens,
        )
        start = time.perf_counter()
        written = self.surroundings.generate(
            [self._prompt(case) for case in cases], [case.seed for case in cases], sampling
        )
        each = (time.perf_counter() - start) / len(cases)
        return [Ruling(verdict.parse(answer.text), answer.text[:MAX_KEPT_CHARS], each) for answer in written]

    def _prompt(self, case: Case) -> str:
        if self.settings.layout == "plain":
            return plain(case.question, case.solution, self.settings.max_chars)
        turns = messages(case.question, case.solution, self.settings.max_chars)
        return "\n\n".join(turn["content"] for turn in turns) + "\n\n"
