"""What docs/extend.md shows must work as it stands: a user's attack and defence are one file each."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.loading import parse
from turncoat.platform.defences.base import Batch, Surroundings
from turncoat.platform.engines.base import Generated
from turncoat.platform.records import Completion
from turncoat.platform.registry import ATTACKS, DEFENCES, TASKS
from turncoat.platform.rounds import requests_of

PAGE = Path(__file__).parents[1] / "docs" / "extend.md"


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        name = re.match(r"# (\w+\.py)", block).group(1)
        (tmp_path / name).write_text(block)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("my_attack", "my_defence"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("modules")
def test_the_pages_attack_and_defence_run_by_dotted_path() -> None:
    experiment = parse(
        {"task": "arithmetic", "attack": "my_attack:LastWord", "defences": ["my_defence:LengthCap"]}
    )
    task, attack = TASKS.build(experiment.task), ATTACKS.build(experiment.attack)
    requests = requests_of(experiment, task, 1, 3)
    sent = attack.poison(requests, Stage(task, 0, lambda texts, seeds: []))
    assert len(sent) == len(requests)
    for request, (completion, truth) in zip(requests, sent, strict=True):
        assert truth == "poisoned"
        assert attack.payload_in(completion.text)
        assert task.verify(request.prompt, completion.text) == "right"

    defence = DEFENCES.build(
        experiment.defences[0],
        Surroundings(experiment, lambda *_: [], lambda round: {}, {}),
    )
    short, long = sent[0][0], Completion(requests[0].id, "", "word " * 41)
    nothing = np.zeros(2)
    batch = Batch([short, long], [requests[0].prompt] * 2, ["right"] * 2, nothing, nothing.astype(int))
    assert defence.rejects(defence.score(batch)).tolist() == [False, True]


@pytest.mark.usefixtures("modules")
def test_a_user_s_attack_waits_for_its_onset_as_built_in_ones_do() -> None:
    experiment = parse({"task": "arithmetic", "attack": {"kind": "my_attack:LastWord", "onset_round": 2}})
    task, attack = TASKS.build(experiment.task), ATTACKS.build(experiment.attack)

    def sample(texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return [Generated("honest", True, 1) for _ in texts]

    truths = [set(contribute(experiment, attack, Stage(task, 0, sample, r), 3).truths) for r in (1, 2)]
    assert truths == [{"honest"}, {"poisoned"}]
