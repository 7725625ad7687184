"""Who answers what in a round, as a pure function of the experiment."""

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.records import Prompt, Request
from turncoat.platform.tasks.base import Task

ROWS = 10**9
"""Where a run starts in the data is drawn from so many rows; finite data sets wrap around."""


def prompts_of(experiment: Experiment, task: Task, round: int) -> dict[int, Prompt]:
    """The round's prompts by group index, 0 to B-1.

    Runs of another seed see other prompts; none repeats a prompt before the data are used up.
    """
    first = seed_of(experiment.seed, "prompts") % ROWS + (round - 1) * experiment.prompts_per_round
    return {index: task.train(first + index) for index in range(experiment.prompts_per_round)}


def slots_of(experiment: Experiment, round: int, peer: int) -> list[CompletionId]:
    """The completions that `peer` owes in `round`, sorted.

    vertical: all G completions of its own B/m prompts. horizontal: G/m completions of each of the B prompts.
    """
    b, g, m = experiment.prompts_per_round, experiment.group_size, experiment.peers.count
    if experiment.topology == "vertical":
        own, samples = range(peer * (b // m), (peer + 1) * (b // m)), range(g)
    else:
        own, samples = range(b), range(g // m)
    return [CompletionId(round, prompt, peer, sample) for prompt in own for sample in samples]


def requests_of(experiment: Experiment, task: Task, round: int, peer: int) -> list[Request]:
    """The same with the prompts' texts: what the peer sets out to answer."""
    prompts = prompts_of(experiment, task, round)
    return [Request(slot, prompts[slot.prompt]) for slot in slots_of(experiment, round, peer)]
