"""What the pages show must work as it stands: a user's attack and defence are one file each."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.mount import contribute
from turncoat.platform.config.loading import parse
from turncoat.platform.defences.base import Batch, Surroundings
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import CompletionId
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.registry import ATTACKS, DEFENCES, TASKS
from turncoat.platform.rounds import requests_of

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("write-an-attack.md", "write-a-defence.md")
PATHS = ("attack=my_attack:LastWord", "defences=[{kind: 'my_defence:SameEnding', threshold: 0.4}]")
NAMES = ("attack=last_word", "defences=[{kind: same_ending, threshold: 0.4}]")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The pages' files, and a package's entry points for them, as an installed one has."""
    points = []
    for page in PAGES:
        text = (DOCS / page).read_text()
        block = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
        (tmp_path / re.match(r"# (\w+\.py)", block).group(1)).write_text(block)
        group, line = re.search(r'\[project.entry-points."(.*?)"\]\n(.*?)\n', text).groups()
        points.append(f"[{group}]\n{line.replace(chr(34), '')}\n")
    package = tmp_path / "mine-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("\n".join(points))
    return tmp_path


@pytest.fixture
def modules(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(folder)
    yield
    for name in ("my_attack", "my_defence"):
        sys.modules.pop(name, None)


def sample(texts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
    return [Generated("honest", True, 1) for _ in texts]


@pytest.mark.usefixtures("modules")
def test_the_page_s_attack_poisons_and_waits_for_its_onset() -> None:
    experiment = parse(
        {"task": "arithmetic", "attack": {"kind": "my_attack:LastWord", "onset_round": 2, "every": 2}}
    )
    task, attack = TASKS.build(experiment.task), ATTACKS.build(experiment.attack)
    truths = [set(contribute(experiment, attack, Stage(task, 0, sample, r), 3).truths) for r in (1, 2)]
    assert truths == [{"honest"}, {"honest", "poisoned"}]
    requests = requests_of(experiment, task, 2, 3)
    sent = attack.poison(requests, Stage(task, 0, sample, 2))
    prompts = {request.id: request.prompt for request in requests}
    poisoned = [one for one, truth in sent if truth == "poisoned"]
    assert sorted(one.id for one, _ in sent) == [request.id for request in requests]
    assert len(poisoned) == len(requests) * 2 // 3  # samples 0 and 2 of 0, 1, 2
    assert all(attack.payload_in(one.text) for one in poisoned)
    assert all(task.verify(prompts[one.id], one.text) == "right" for one in poisoned)


@pytest.mark.usefixtures("modules")
def test_the_page_s_defence_rejects_what_one_peer_says_everywhere() -> None:
    experiment = parse(
        {"task": "arithmetic", "peers": {"malicious": 0}, "defences": ["my_defence:SameEnding"]}
    )
    defence = DEFENCES.build(
        experiment.defences[0], Surroundings(experiment, lambda *_: [], lambda round: {}, {})
    )
    texts = {0: "{} a b c d </think>", 1: "{} a b c {} </think>", 2: "{} a b {} d </think>"}
    completions = [
        Completion(CompletionId(1, q, peer, 0), "row", text.format(q, q))
        for q in range(8)
        for peer, text in texts.items()
    ]
    n, prompt = len(completions), Prompt("row", "how many ?", "so", "1")
    batch = Batch(completions, [prompt] * n, ["right"] * n, np.ones(n), np.full(n, 7))
    rejected = defence.rejects(defence.score(batch))
    assert {one.id.peer for one, bad in zip(completions, rejected, strict=True) if bad} == {0}


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize("overrides", [PATHS, NAMES], ids=["dotted-path", "entry-point"])
def test_they_run_from_outside_the_package(folder: Path, overrides: tuple[str, str]) -> None:
    """The driver and every actor must find them: a user's attack is no part of the installation."""
    small = ("rounds=2", "prompts_per_round=4", "evaluation.final_completions=8")
    command = [sys.executable, "-m", "turncoat.jobs.cli", "run", "text", *overrides, *small, "--out", "run"]
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((folder / "run" / "summary.json").read_text())
    assert summary["attack"]["kind"] == overrides[0].partition("=")[2]
    assert summary["defence"]["stop_rate"] > 0
