"""If these fail, settings contradict each other in silence, or an attack reads what only receivers share."""

import pytest

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.loading import parse

QUIET = {"task": "arithmetic", "peers": {"malicious": 0}}


def test_an_attack_is_not_shown_what_only_receivers_share() -> None:
    """The secret of the replay check decides what is replayed; the rest of the config everybody knows."""
    experiment = parse({**QUIET, "defences": [{"kind": "replay", "secret": "s"}, "support"]})
    known = experiment.as_known_to_attackers()
    assert known.defences[0].secret == ""
    assert known.defences[1] == experiment.defences[1]
    assert experiment.defences[0].secret == "s"


def test_one_kind_of_defence_twice_needs_names() -> None:
    """Their scores would be filed under one name."""
    twice = [{"kind": "support"}, {"kind": "support", "slack": 4}]
    with pytest.raises(ConfigError, match="each kind once, or a `name`"):
        parse({**QUIET, "defences": twice})
    named = [twice[0], {**twice[1], "name": "loose"}]
    assert parse({**QUIET, "defences": named}).labels() == ["support", "loose"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"decision": {"weights": {"support": 2}}, "defences": ["support"]}, "decision.weights is set with"),
        ({"decision": {"threshold": 0.7}, "defences": ["support"]}, "decision.threshold is 0.7 with"),
        (
            {"decision": {"rule": "weighted", "weights": {"support": 0}}, "defences": ["support"]},
            "no defence a vote",
        ),
        (
            {"decision": {"rule": "weighted", "weights": {"judge": 2}}, "defences": ["support"]},
            "holds 'judge'",
        ),
        ({"reputation": {}}, "reputation is set without defences"),
    ],
)
def test_a_decision_without_its_voters_is_refused(given: dict, message: str) -> None:
    """It would weigh nothing, and nobody would notice."""
    with pytest.raises(ConfigError, match=message):
        parse({**QUIET, **given})


def test_an_attack_that_would_never_begin_is_refused() -> None:
    """Its defence would seem to have stopped it."""
    late = {"rounds": 5, "attack": {"kind": "text", "onset_round": 6}, "peers": {"malicious": 1}}
    with pytest.raises(ConfigError, match=r"attack.onset_round is 6: allowed is at most rounds = 5"):
        parse({**QUIET, **late})
