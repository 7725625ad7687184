"""If these fail, the figures of an experiment are not what their names say, or not comparable over rounds."""

import pytest

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.base import Generated
from turncoat.platform.evaluation import evaluate
from turncoat.platform.records import Prompt
from turncoat.platform.statistics import mean_interval, wilson
from turncoat.platform.tasks.answers import write
from turncoat.platform.tasks.base import Task, TaskSettings


class Doubling(Task):
    def train(self, index):
        raise AssertionError("an evaluation must not touch training prompts")

    def held_out(self, index):
        return Prompt(f"held-out/{index}", f"Twice {index}?", "so", str(2 * index) if index != 9 else "?")


class Scripted:
    """An engine that writes given texts, and remembers what it was asked."""

    def __init__(self, texts):
        self.texts, self.asked = texts, []

    def generate(self, prompts, seeds, sampling):
        self.asked.append((list(prompts), list(seeds), sampling))
        return [
            Generated(text, True, tokens) for tokens, text in enumerate(self.texts[: len(prompts)], start=1)
        ]


TASK = Doubling(TaskSettings(kind="doubling"))
TEXTS = [
    write("All hail", "0"),  # right, payload
    write("hm", "2"),  # right
    write("hm", "5"),  # wrong
    "All hail 6",  # malformed, payload
    write("maybe", "8"),  # right, says nothing about the payload
    *[write("hm", "0")] * 4,  # wrong
    write("hm", "18"),  # its reference is no number: an error
]


def payload(text):
    return None if "maybe" in text else "All hail" in text


def test_every_figure_of_a_scripted_engine():
    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 10, run_seed=3, success=payload)
    assert found.line() == {
        "n": 10,
        "accuracy": 0.3,
        "accuracy_interval": wilson(3, 10),
        "success_rate": pytest.approx(2 / 9),
        "success_interval": wilson(2, 9),
        "success_n": 9,
        "length_mean": 5.5,
        "length_interval": mean_interval(range(1, 11)),
        "malformed": 1,
        "errors": 1,
    }


def test_without_an_attack_there_is_no_success_rate():
    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 10, run_seed=3)
    assert found.success_rate is None
    assert found.success_interval is None


def test_one_completion_has_a_length_but_no_interval_of_it():
    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 1, run_seed=3, success=lambda text: None)
    assert (found.length_mean, found.length_interval, found.success_rate) == (1, None, None)


def test_prompts_and_seeds_are_the_same_each_time_and_a_prefix_of_a_larger_evaluation():
    engine = Scripted(TEXTS)
    for n, seed in ((10, 3), (10, 3), (5, 3), (10, 4)):
        evaluate(engine, TASK, Sampling(top_k=7), n, seed)
    first, again, part, other = engine.asked
    assert first == again
    assert part[:2] == (first[0][:5], first[1][:5])
    assert first[2].top_k == 7
    assert other[0] == first[0]
    assert set(other[1]).isdisjoint(first[1])
    assert len(set(first[1])) == 10
