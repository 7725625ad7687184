"""Who answers what in a round, as a pure function of the experiment and of what peers chose."""

from collections.abc import Mapping

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.records import Prompt, Request
from turncoat.platform.tasks.base import Task

ROWS = 10**9
"""Where a run starts in the data is drawn from so many rows; finite data sets wrap around."""


def rows_of(experiment: Experiment, round: int) -> dict[int, int]:
    """The training rows that the protocol deals out: group index (0 to B-1) -> row.

    Runs of another seed see other rows; none repeats a row before the data are used up.
    """
    first = seed_of(experiment.seed, "prompts") % ROWS + (round - 1) * experiment.prompts_per_round
    return {index: first + index for index in range(experiment.prompts_per_round)}


def prompts_of(
    experiment: Experiment, task: Task, round: int, choices: Mapping[int, int] | None = None
) -> dict[int, Prompt]:
    """The round's prompts by group index. choices: group -> the row that its owner chose instead."""
    rows = rows_of(experiment, round) | dict(choices or {})
    return {index: task.train(row) for index, row in rows.items()}


def own_groups(experiment: Experiment, peer: int) -> range:
    """The groups that `peer` writes completions for: its own B/m in vertical swarms, else all."""
    b, m = experiment.prompts_per_round, experiment.peers.count
    return range(peer * (b // m), (peer + 1) * (b // m)) if experiment.topology == "vertical" else range(b)


def slots_of(experiment: Experiment, round: int, peer: int) -> list[CompletionId]:
    """The completions that `peer` owes in `round`, sorted.

    vertical: all G completions of its own B/m prompts. horizontal: G/m completions of each of the B prompts.
    """
    g, m = experiment.group_size, experiment.peers.count
    samples = range(g) if experiment.topology == "vertical" else range(g // m)
    return [
        CompletionId(round, prompt, peer, sample)
        for prompt in own_groups(experiment, peer)
        for sample in samples
    ]


def requests_of(
    experiment: Experiment, task: Task, round: int, peer: int, choices: Mapping[int, int] | None = None
) -> list[Request]:
    """The same with the prompts' texts: what the peer sets out to answer."""
    prompts = prompts_of(experiment, task, round, choices)
    return [Request(slot, prompts[slot.prompt]) for slot in slots_of(experiment, round, peer)]
