"""If these fail, several defences together reject something else than the config says."""

import itertools

import pytest

from turncoat.platform.decide import Decision

NAMES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("rule", "objections", "rejected"),
    [
        ("any", {}, False),
        ("any", {"a": False, "b": True}, True),
        ("any", {"a": False, "b": False, "c": False}, False),
        ("all", {"a": True, "b": True}, False),
        ("all", {"a": True, "b": True, "c": True}, True),
        ("all", {"a": True, "b": True, "c": False}, False),
        ("weighted", {"a": True}, False),
        ("weighted", {"a": True, "b": True}, True),
    ],
)
def test_the_rules(rule: str, objections: dict[str, bool], rejected: bool):
    """A defence that was not asked does not object."""
    assert Decision(rule=rule).rejected(NAMES, objections) is rejected


def test_weights_are_votes_and_the_threshold_must_be_passed():
    """Half of the votes is not above one half; a weight left out is 1."""
    decision = Decision(rule="weighted", weights={"a": 2.0})
    assert not decision.rejected(NAMES, {"a": True})
    assert decision.rejected(NAMES, {"a": True, "b": True})
    assert not decision.rejected(NAMES, {"b": True, "c": True})
    assert Decision(rule="weighted", weights={"a": 2.0}, threshold=0.4).rejected(NAMES, {"a": True})


@pytest.mark.parametrize("rule", ["any", "all", "weighted"])
def test_without_defences_nothing_is_rejected(rule: str):
    """`all` of nothing is true in logic, and would reject a whole round."""
    assert not Decision(rule=rule).rejected([], {})


@pytest.mark.parametrize(
    "decision", [Decision(), Decision(rule="all"), Decision(rule="weighted", weights={"b": 3})]
)
def test_settled_means_that_no_answer_can_change_it(decision: Decision):
    """Against every way in which the open questions could be answered: the judge is not asked in vain, and
    never left out where it could decide."""
    for asked in itertools.product([None, False, True], repeat=3):
        known = {name: answer for name, answer in zip(NAMES, asked, strict=True) if answer is not None}
        open = [name for name in NAMES if name not in known]
        outcomes = {
            decision.rejected(NAMES, known | dict(zip(open, answers, strict=True)))
            for answers in itertools.product([False, True], repeat=len(open))
        }
        assert decision.settled(NAMES, known) == (len(outcomes) == 1)
