"""The reference runs: if this fails, "no attack" is not what honest peers do."""

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.none import NoAttack
from turncoat.platform.config.loading import parse
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import rollout_seed
from turncoat.platform.rounds import requests_of
from turncoat.platform.tasks.arithmetic import ArithmeticTask


def test_everyone_is_honest():
    """Each completion is the policy's own, by the seed of its own slot."""
    task = ArithmeticTask(ArithmeticTask.Settings())
    requests = requests_of(parse({"task": "arithmetic", "peers": {"malicious": 0}}), task, 1, 2)
    stage = Stage(task, 5, lambda prompts, seeds: [Generated(str(seed), True, 1) for seed in seeds])
    attack = NoAttack(NoAttack.Settings())
    sent = attack.poison(requests, stage)
    assert [completion.id for completion, _ in sent] == [request.id for request in requests]
    assert [completion.text for completion, _ in sent] == [str(rollout_seed(5, r.id)) for r in requests]
    assert {truth for _, truth in sent} == {"honest"}
    assert attack.payload_in("anything") is None
    assert attack.payload_pattern() is None
