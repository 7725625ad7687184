"""A cheat that does no work: it waits, and sends what honest peers have sent."""

from collections.abc import Sequence
from typing import Literal

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.records import Completion, Request, Truth
from turncoat.platform.rounds import rows_of


class Copycat(Attack):
    """Resend honest peers' completions of the same prompt, under its own name.

    horizontal: everybody answers the same prompts, so there is something to copy for each. vertical: nobody
    else answers its prompts, so it chooses those of the first honest peers instead and sends whole groups
    again. Where there is nothing to copy it answers honestly.
    """

    class Settings(AttackSettings):
        kind: Literal["copycat"] = "copycat"
        pick: Literal["first", "longest", "right"] = "first"
        """Which of them: the first by id, the longest text first, or the right ones, as it verifies too."""

    settings: Settings
    needs_swarm = True
    rushing = True

    def prepare(self, experiment: Experiment, peer: int) -> None:
        self.experiment = experiment

    def choose(self, rows: Sequence[int], stage: Stage) -> Sequence[int]:
        dealt = rows_of(self.experiment, stage.round)
        answered = [dealt[group] for group in sorted({one.id.prompt for one in stage.others})]
        # As many as it needs; from the start again, should the others have too few.
        return [answered[i % len(answered)] for i in range(len(rows))] if answered else rows

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        originals: dict[str, list[Completion]] = {}
        for one in sorted(stage.others, key=lambda one: one.id):
            originals.setdefault(one.prompt_id, []).append(one)
        for request in {request.prompt.id: request for request in requests}.values():
            if request.prompt.id in originals:
                originals[request.prompt.id] = self._ranked(request, originals[request.prompt.id], stage)
        sent = stage.honest([request for request in requests if request.prompt.id not in originals])
        taken: dict[int, int] = {}
        for request in requests:
            if found := originals.get(request.prompt.id):
                turn = taken.get(request.id.prompt, 0)
                taken[request.id.prompt] = turn + 1
                sent.append(copied(request, found[turn % len(found)]))
        return sent

    def _ranked(self, request: Request, found: list[Completion], stage: Stage) -> list[Completion]:
        if self.settings.pick == "longest":
            return sorted(found, key=lambda one: -len(one.text))
        if self.settings.pick == "right":
            verdicts = stage.task.verify_all([(request.prompt, one.text) for one in found])
            right = [one for one, verdict in zip(found, verdicts, strict=True) if verdict == "right"]
            return right or found
        return found


def copied(request: Request, original: Completion) -> tuple[Completion, Truth]:
    """The original in a slot of the copycat's own."""
    return Completion(request.id, request.prompt.id, original.text, original.finished), "cheat"
