"""The all-gather of a round, and the observer's figures of what each receiver made of it."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from turncoat.platform.admission import admit, admit_choices
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import CompletionId, peer_name
from turncoat.platform.journal.completions import Row, row
from turncoat.platform.outcome import Outcome
from turncoat.platform.records import Belief, Completion, Contribution, Prompt, Truth
from turncoat.platform.rounds import own_groups, prompts_of, slots_of
from turncoat.platform.tasks.base import Task

SIDES: dict[Truth, str] = {"honest": "honest", "lookalike": "lookalike"}
"""Completions by their truth: "poisoned", where it is not named here."""


@dataclass(frozen=True)
class Gathered:
    """One round's completions, sorted by id; the truths are the observer's and no peer sees them.

    choices: the rows that peers chose for groups of their own; prompts: all of the round's, by group.
    attackers: the malicious peers, for the observer too.
    """

    round: int
    prompts: dict[int, Prompt]
    completions: tuple[Completion, ...]
    truths: dict[CompletionId, Truth]
    refused: dict[str, int]
    choices: dict[int, int] = field(default_factory=dict)
    attackers: frozenset[int] = frozenset()

    def side(self, id: CompletionId) -> str:
        """What a completion counts as in the figures of a round.

        Honest ones that a malicious peer sends, before its attack or beside its poison, are neither false
        positives nor what is to be stopped.
        """
        side = SIDES.get(self.truths[id], "poisoned")
        return "beside" if side == "honest" and id.peer in self.attackers else side


def gather(experiment: Experiment, task: Task, round: int, contributions: Sequence[Contribution]) -> Gathered:
    """Let in what is well-formed, whoever sent it and in whatever order it came."""
    admitted: dict[CompletionId, tuple[Completion, Truth]] = {}
    refused: Counter[str] = Counter()
    choices: dict[int, int] = {}
    if experiment.topology == "vertical":
        for contribution in contributions:
            chosen, objections = admit_choices(
                contribution.choices, own_groups(experiment, contribution.peer)
            )
            choices |= chosen
            refused += objections
    prompts = prompts_of(experiment, task, round, choices)
    for contribution in contributions:
        owed = slots_of(experiment, round, contribution.peer)
        found, objections = admit(contribution, owed, prompts, experiment.sampling.max_new_tokens)
        admitted |= found
        refused += objections
    order = sorted(admitted)
    return Gathered(
        round,
        prompts,
        tuple(admitted[id][0] for id in order),
        {id: admitted[id][1] for id in order},
        dict(sorted(refused.items())),
        choices,
        frozenset(peer for peer in range(experiment.peers.count) if experiment.is_malicious(peer)),
    )


def round_line(
    gathered: Gathered,
    peer: int,
    outcome: Outcome,
    weights_sha256: str,
    payload_in: Callable[[str], bool | None],
    seconds: dict[str, float],
) -> dict[str, Any]:
    """The metrics line of one receiver: honest peers' completions, what came in of the rest, and the step."""
    pairs = list(zip(gathered.completions, outcome.beliefs, strict=True))
    of: dict[str, list[Belief]] = {"honest": [], "poisoned": [], "lookalike": [], "beside": []}
    for completion, belief in pairs:
        of[gathered.side(completion.id)].append(belief)
    honest = of["honest"]
    texts = [one.text for one in gathered.completions if gathered.side(one.id) == "honest"]
    told = [found for text in texts if (found := payload_in(text)) is not None]
    return {
        "peer": peer_name(peer),
        "reward_mean": fmean(b.reward for b in honest) if honest else None,
        "accuracy_honest": fmean(b.verdict == "right" for b in honest) if honest else None,
        "success_rate": fmean(told) if told else None,
        "length_mean": fmean(b.tokens for b in honest) if honest else None,
        **{f"n_{side}": len(found) for side, found in of.items()},
        **{f"accepted_{side}": sum(b.accepted for b in found) for side, found in of.items()},
        "objections": objections(outcome.costs, of),
        "defence_counts": outcome.counts,
        "groups_with_signal": outcome.groups_with_signal,
        "verdicts": dict(Counter(b.verdict for b in outcome.beliefs)),
        "refused": gathered.refused,
        "loss": outcome.loss,
        "grad_norm": outcome.grad_norm,
        "kl": outcome.kl,
        "weights_sha256": weights_sha256,
        "seconds": seconds,
    }


def objections(defences: Iterable[str], beliefs: Mapping[str, Sequence[Belief]]) -> dict[str, dict[str, int]]:
    """Who objected to how many completions of each side, whatever was decided in the end.

    All of `defences` by name, and the quarantine, where there was one.
    """
    against = {side: Counter(name for b in own for name in b.rejected_by) for side, own in beliefs.items()}
    names = {*defences, *(name for found in against.values() for name in found)}
    return {name: {side: found[name] for side, found in against.items()} for name in names}


def parquet_rows(gathered: Gathered, peer: int, outcome: Outcome) -> list[Row]:
    """The journal's rows of one receiver."""
    return [
        row(c, gathered.prompts[c.id.prompt].text, gathered.truths[c.id], peer, belief)
        for c, belief in zip(gathered.completions, outcome.beliefs, strict=True)
    ]
