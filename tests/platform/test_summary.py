"""If these fail, the one file that scripts read says something else than the journal."""

from typing import Any

import pytest

from turncoat.platform.config.loading import parse
from turncoat.platform.statistics import wilson
from turncoat.platform.summary import summarise

SECONDS = {
    "rollout": 2.0,
    "verify": 0.1,
    "score": 0.2,
    "learn": 1.0,
    "total": 4.0,
    "defences": {"support": 0.03},
}


def evaluation(round: int, accuracy: float, success: float | None, n: int = 100) -> dict[str, Any]:
    return {
        "kind": "evaluation",
        "round": round,
        "peer": "peer-00",
        "n": n,
        "accuracy": accuracy,
        "success_rate": success,
        "success_n": n if success is not None else 0,
        "length_mean": 20.0,
        "seconds": {"total": 9.0},
    }


def learnt(round: int, honest: int, poisoned: int) -> dict[str, Any]:
    return {
        "kind": "round",
        "round": round,
        "peer": "peer-00",
        "n_honest": 9,
        "n_poisoned": 3,
        "n_lookalike": 0,
        "accepted_honest": honest,
        "accepted_poisoned": poisoned,
        "accepted_lookalike": 0,
        "objections": {"support": {"honest": 9 - honest, "poisoned": 3 - poisoned, "lookalike": 0}},
        "seconds": SECONDS,
    }


LINES = [
    evaluation(0, 0.4, 0.0),
    learnt(1, 9, 0),
    evaluation(1, 0.45, 0.3),
    learnt(2, 8, 1),
    evaluation(2, 0.5, 0.9),
]


def experiment(**changes: Any) -> Any:
    return parse({"name": "x", "seed": 4, "rounds": 2, "task": "arithmetic", "attack": "text", **changes})


def test_a_defended_run():
    """Every stable key, by hand."""
    assert summarise(experiment(defences=["support"]), LINES) == {
        "kind": "decentralised",
        "name": "x",
        "seed": 4,
        "rounds": 2,
        "attack": {
            "kind": "text",
            "success_rate": 0.9,
            "success_interval": list(wilson(90, 100)),
            "initial_success_rate": 0.0,
        },
        "defences": ["support"],
        "victim": {"clean_accuracy": 0.5, "initial_accuracy": 0.4, "evaluated": 100, "length_mean": 20.0},
        "baseline": {"clean_accuracy": None},
        "defence": {
            "stop_rate": pytest.approx(5 / 6),
            "false_positive_rate": pytest.approx(1 / 18),
            "lookalike_rejection_rate": None,
            "cost_seconds": pytest.approx(0.4),
            "cost_share": pytest.approx(0.05),
            "each": {
                "support": {
                    "stop_rate": pytest.approx(5 / 6),
                    "false_positive_rate": pytest.approx(1 / 18),
                    "lookalike_rejection_rate": None,
                    "seconds": pytest.approx(0.06),
                }
            },
        },
        "seconds": {"rollout": 4.0, "verify": 0.2, "score": 0.4, "learn": 2.0, "total": 8.0},
    }


def test_an_undefended_run_has_no_defence_figures():
    """A stop rate of 0 would read as a defence that failed."""
    found = summarise(experiment(), LINES)["defence"]
    assert found.pop("each") == {}
    assert set(found.values()) == {None}


def test_without_attack_there_is_no_success():
    """Nor is there a stop rate, where nobody sent poison."""
    lines = [{**line, "success_rate": None} if line["kind"] == "evaluation" else line for line in LINES]
    silent = {"support": {"honest": 0, "poisoned": 0, "lookalike": 0}}
    none = {"n_poisoned": 0, "accepted_poisoned": 0, "objections": silent}
    quiet = [line | none if line["kind"] == "round" else line for line in lines]
    found = summarise(experiment(attack="none", peers={"malicious": 0}, defences=["support"]), quiet)
    assert found["attack"] == {
        "kind": "none",
        "success_rate": None,
        "success_interval": None,
        "initial_success_rate": None,
    }
    assert found["defence"]["stop_rate"] is None
    assert found["defence"]["false_positive_rate"] == pytest.approx(1 / 18)
    assert found["defence"]["each"]["support"]["stop_rate"] is None


def test_look_alikes_have_a_rate_of_their_own():
    """A probe of false positives, told apart from those of peers that compute as the receiver does."""
    counts = {"n_poisoned": 0, "accepted_poisoned": 0, "n_lookalike": 3, "accepted_lookalike": 1}
    against = {"support": {"honest": 0, "poisoned": 0, "lookalike": 2}}
    lines = [line | counts | {"objections": against} if line["kind"] == "round" else line for line in LINES]
    found = summarise(experiment(defences=["support"]), lines)["defence"]
    assert found["lookalike_rejection_rate"] == pytest.approx(2 / 3)
    assert found["stop_rate"] is None
    assert found["each"]["support"]["lookalike_rejection_rate"] == pytest.approx(2 / 3)
    assert found["each"]["support"]["false_positive_rate"] == 0


def test_each_defence_is_judged_by_what_it_said_not_by_what_was_decided():
    """With "all" of two defences needed, one may object to everything and the swarm reject nothing."""
    lines = []
    for line in LINES:
        if line["kind"] == "round":
            against = {
                "a": {"honest": 9, "poisoned": 3, "lookalike": 0},
                "support": line["objections"]["support"],
            }
            seconds = SECONDS | {"defences": {"a": 0.5, "support": 0.03}}
            line = line | {"objections": against, "seconds": seconds}
        lines.append(line)
    both = experiment(defences=[{"kind": "support", "name": "a"}, "support"], decision={"rule": "all"})
    found = summarise(both, lines)["defence"]
    assert found["false_positive_rate"] == pytest.approx(1 / 18)
    assert list(found["each"]) == ["a", "support"]
    assert found["each"]["a"] == {
        "stop_rate": 1.0,
        "false_positive_rate": 1.0,
        "lookalike_rejection_rate": None,
        "seconds": 1.0,
    }
    assert found["each"]["support"]["stop_rate"] == pytest.approx(5 / 6)


def test_several_policies_are_pooled_by_how_many_completions_each_wrote():
    """In a mixed swarm every policy is a victim."""
    lines = [*LINES, {**evaluation(2, 1.0, 0.1, n=300), "peer": "peer-01"}]
    found = summarise(experiment(), lines)
    assert found["victim"]["clean_accuracy"] == pytest.approx((0.5 * 100 + 1.0 * 300) / 400)
    assert found["attack"]["success_rate"] == pytest.approx(120 / 400)
    assert found["attack"]["success_interval"] == list(wilson(120, 400))
    assert found["victim"]["evaluated"] == 400


def test_peers_that_computed_the_same_count_once():
    """With `peers.share_identical` off, m copies of the same completions would pass for m times the data."""
    copies = [{**line, "peer": peer} for line in LINES for peer in ("peer-00", "peer-01", "peer-02")]
    assert summarise(experiment(defences=["support"]), copies) == summarise(
        experiment(defences=["support"]), LINES
    )


def test_seconds_are_wall_seconds_however_many_receive():
    """Two policies learn at the same time: their rounds do not take twice as long."""
    mixed = [*LINES, *({**line, "peer": "peer-01", "accepted_honest": 9} for line in LINES)]
    found = summarise(experiment(defences=["support"]), mixed)
    assert found["seconds"]["total"] == pytest.approx(2 * SECONDS["total"])
    assert found["defence"]["cost_seconds"] == pytest.approx(2 * SECONDS["score"])
