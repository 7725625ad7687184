"""If these fail, an adversary picks the questions that suit its payload."""

from turncoat.platform.defences.fixed_sampling import FixedSampling
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.rounds import prompts_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask


def test_chosen_prompts_are_told_from_dealt_ones(around, batch_of):
    """The prompt that everybody would have seen is known to everybody."""
    asked = []

    def assigned(round: int) -> dict[int, Prompt]:
        asked.append(round)
        return {q: Prompt(f"row/{q}", "?", "so", "1") for q in range(3)}

    batch = batch_of((0, 0, "a"), (1, 1, "a"), (2, 2, "a"), round=7)
    one = batch.completions[1]
    batch.completions[1] = Completion(one.id, "row/99", one.text)
    defence = FixedSampling(FixedSampling.Settings(), around(assigned=assigned))
    scores = defence.score(batch)
    assert scores.tolist() == [0, 1, 0]
    assert defence.rejects(scores).tolist() == [False, True, False]
    assert asked == [7]


def test_it_agrees_with_what_the_protocol_deals(around, batch_of):
    """Honest peers of a vertical swarm pass."""
    surroundings = around("topology=vertical")
    task = ArithmeticTask(surroundings.experiment.task)
    dealt = prompts_of(surroundings.experiment, task, 3)
    batch = batch_of(*[(q, q, "a") for q in dealt], round=3)
    batch.completions[:] = [
        Completion(one.id, dealt[one.id.prompt].id, one.text) for one in batch.completions
    ]
    defence = FixedSampling(
        FixedSampling.Settings(),
        around(assigned=lambda round: prompts_of(surroundings.experiment, task, round)),
    )
    assert defence.score(batch).tolist() == [0] * len(dealt)
