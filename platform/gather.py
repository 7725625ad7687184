"""The all-gather of a round, and the observer's figures of what each receiver made of it."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from turncoat.platform.admission import admit, admit_choices
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import CompletionId, peer_name
from turncoat.platform.journal.completions import Row, row
from turncoat.platform.outcome import Outcome
from turncoat.platform.records import Completion, Contribution, Prompt, Truth
from turncoat.platform.rounds import own_groups, prompts_of, slots_of
from turncoat.platform.tasks.base import Task


@dataclass(frozen=True)
class Gathered:
    """One round's completions, sorted by id; the truths are the observer's and no peer sees them.

    choices: the rows that peers chose for groups of their own; prompts: all of the round's, by group.
    """

    round: int
    prompts: dict[int, Prompt]
    completions: tuple[Completion, ...]
    truths: dict[CompletionId, Truth]
    refused: dict[str, int]
    choices: dict[int, int] = field(default_factory=dict)


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
    honest = [(c, b) for c, b in pairs if gathered.truths[c.id] == "honest"]
    alike = [b for c, b in pairs if gathered.truths[c.id] == "lookalike"]
    others = [b for c, b in pairs if gathered.truths[c.id] not in ("honest", "lookalike")]
    told = [found for completion, _ in honest if (found := payload_in(completion.text)) is not None]
    return {
        "peer": peer_name(peer),
        "reward_mean": fmean(b.reward for _, b in honest) if honest else None,
        "accuracy_honest": fmean(b.verdict == "right" for _, b in honest) if honest else None,
        "success_rate": fmean(told) if told else None,
        "length_mean": fmean(b.tokens for _, b in honest) if honest else None,
        "n_honest": len(honest),
        "n_poisoned": len(others),
        "n_lookalike": len(alike),
        "accepted_honest": sum(b.accepted for _, b in honest),
        "accepted_poisoned": sum(b.accepted for b in others),
        "accepted_lookalike": sum(b.accepted for b in alike),
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


def parquet_rows(gathered: Gathered, peer: int, outcome: Outcome) -> list[Row]:
    """The journal's rows of one receiver."""
    return [
        row(c, gathered.prompts[c.id.prompt].text, gathered.truths[c.id], peer, belief)
        for c, belief in zip(gathered.completions, outcome.beliefs, strict=True)
    ]
