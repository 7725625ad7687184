"""64 peers on a laptop are 63 light processes: what one of them imports is paid for 63 times."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from turncoat.actors import light
from turncoat.platform.attacks.base import Attack, Stage
from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import CompletionId
from turncoat.platform.records import Completion, Contribution

HEAVY = ("torch", "transformers", "datasets", "pandas", "pyarrow", "matplotlib", "scipy")

SCRIPT = f"""
import sys
from turncoat.actors.light import Adversary, Twin
from turncoat.platform.config.loading import parse
tree = {{"task": "arithmetic", "attack": "text"}}
twin, adversary = Twin(tree, 1), Adversary(tree, 3, None, None)
twin.start(), adversary.start()
assert twin.slots(1)
adversary.contribute(1)
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def test_light_peers_import_nothing_heavy() -> None:
    """With torch in each, 64 peers would take 18 GB instead of 5."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


class Asked:
    """Stands for an actor's handle and its methods: remembers what it was asked, and answers the same."""

    def __init__(self, answer: Any):
        self.answer, self.calls = answer, []
        self.remote = lambda *arguments: self.calls.append(arguments) or self.answer
        self.generate = self.appraise = self.weights = self


def test_an_adversary_sees_what_it_may(monkeypatch: pytest.MonkeyPatch, tiny: Callable[..., Any]) -> None:
    """What others sent, if it waits for them; its victim's judgement and weights, if it asks; the round."""
    monkeypatch.setattr(light.ray, "get", lambda answer, timeout: answer)
    seen: list[Stage] = []

    class Looks(Attack):
        def poison(self, requests: Any, stage: Stage) -> Any:
            seen.append(stage)
            assert stage.sample(["How many?"], [7]) == ["sampled"]
            assert stage.appraise(stage.others, {}) == ["told"]
            assert stage.weights() == ["told"]
            return []

    policy, victim = Asked(["sampled"]), Asked(["told"])
    adversary = light.Adversary(tiny().model_dump(mode="json"), 3, policy, victim)
    adversary.start()
    adversary.attack = Looks(adversary.experiment.attack)
    one, two = (Completion(CompletionId(4, 0, peer, 0), "row", "text") for peer in (0, 1))
    others = [Contribution(4, peer, (c,), ("honest",)) for peer, c in enumerate((one, two))]
    assert adversary.contribute(4, others) == Contribution(4, 3, (), ())
    assert (seen[0].round, seen[0].others) == (4, (one, two))
    assert policy.calls == [(["How many?"], [7])]
    assert victim.calls == [((one, two), {}), ()]
    adversary.contribute(5)
    assert seen[1].others == ()


def test_an_attack_is_prepared_before_the_run(tiny: Callable[..., Any]) -> None:
    """What is missing, such as a policy of its own, is found at the start and not after an hour."""
    bad = tiny("attack.kind=wrong_model", "attack.policy=tiny-9m").model_dump(mode="json")
    with pytest.raises(BadInput, match=r"attack\.policy"):
        light.Adversary(bad, 3, None, None).start()
