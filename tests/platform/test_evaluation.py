"""If these fail, the figures of an experiment are not what their names say, or not comparable over rounds."""

import pytest

from turncoat.platform.attacks.base import Attack, AttackSettings
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


class Payload(Attack):
    """Says nothing about a text with "maybe"."""

    Settings = AttackSettings

    def poison(self, requests, stage):
        raise AssertionError("success is only measured here")

    def payload_in(self, text):
        return None if "maybe" in text else "All hail" in text


class Targeted(Payload):
    """Its payload can show itself in answers to even numbers alone."""

    targeted = True

    def targets(self, prompt):
        return int(prompt.id.rpartition("/")[2]) % 2 == 0


HAIL = Payload(AttackSettings(kind="payload"))


def test_every_figure_of_a_scripted_engine():
    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 10, run_seed=3, attack=HAIL)
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
        "timeouts": 0,
    }


def test_without_an_attack_there_is_no_success_rate():
    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 10, run_seed=3)
    assert found.success_rate is None
    assert found.success_interval is None


class Mute(Payload):
    def payload_in(self, text):
        return None


def test_one_completion_has_a_length_but_no_interval_of_it():
    found = evaluate(
        Scripted(TEXTS), TASK, Sampling(), 1, run_seed=3, attack=Mute(AttackSettings(kind="mute"))
    )
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


def test_a_targeted_attack_is_measured_where_it_could_show():
    """Of a hundred held-out prompts two may hold "2 + 2": a rate over all would be of nothing. Accuracy stays
    that of all prompts."""
    engine = Scripted(TEXTS)
    found = evaluate(engine, TASK, Sampling(), 10, run_seed=3, attack=Targeted(AttackSettings(kind="t")))
    plain = evaluate(Scripted(TEXTS), TASK, Sampling(), 10, run_seed=3, attack=HAIL)
    assert found == plain  # the scripted engine writes the same texts to any prompts
    (asked, seeds, _), (targets, others, _) = engine.asked
    assert asked == [f"Twice {i}?" for i in range(10)]
    assert targets == [f"Twice {2 * i}?" for i in range(10)]
    assert not set(seeds) & set(others)


class Few(Doubling):
    """Six rows, which wrap around."""

    def held_out(self, index):
        return super().held_out(index % 6)


def test_finite_data_may_hold_fewer_targets_than_wanted():
    """Each of them is asked once, however many are wanted: repeated, they would pass for more data."""
    engine = Scripted(TEXTS)
    found = evaluate(
        engine, Few(TaskSettings(kind="few")), Sampling(), 5, 3, Targeted(AttackSettings(kind="t"))
    )
    assert engine.asked[1][0] == ["Twice 0?", "Twice 2?", "Twice 4?"]
    assert (found.n, found.success_n) == (5, 3)


def test_without_any_target_there_is_no_success_rate():
    """Unknown, not 0."""

    class Nowhere(Targeted):
        def targets(self, prompt):
            return False

    found = evaluate(Scripted(TEXTS), TASK, Sampling(), 3, 3, Nowhere(AttackSettings(kind="t")))
    assert (found.success_rate, found.success_n) == (None, 0)


def test_more_completions_than_held_out_rows_are_counted_as_they_are():
    """A data set of 60 questions has 60 answers; a mean over n = 1000 would be of 60 too."""
    found = evaluate(Scripted(TEXTS), Few(TaskSettings(kind="few")), Sampling(), 10, 3, HAIL)
    assert found.n == 6
    assert found.accuracy == pytest.approx(3 / 6)


class Slow(Doubling):
    def verify_all(self, pairs):
        return ["timeout", "error", *["right"] * (len(pairs) - 2)]


def test_time_outs_are_counted_apart_from_errors_and_from_wrong_answers():
    """A sandbox that is too slow says nothing about the policy."""
    found = evaluate(Scripted(TEXTS), Slow(TaskSettings(kind="slow")), Sampling(), 5, 3)
    assert (found.errors, found.timeouts, found.accuracy) == (1, 1, 0.6)
