"""Synthetic runs, written through the journal: their scores, and so their curves, are known."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from turncoat.jobs import cli
from turncoat.platform.config.loading import parse, to_yaml
from turncoat.platform.ids import CompletionId
from turncoat.platform.journal.completions import row
from turncoat.platform.journal.journal import Journal
from turncoat.platform.records import Belief, Completion, Truth

Sent = Sequence[tuple[Truth, Mapping[str, float]]]
"""Truth and scores of the completions of one prompt."""

TREE = {"task": "arithmetic", "attack": "text", "policy": {"name_or_path": "tiny-0.3m"}, "rounds": 2}


@pytest.fixture
def scored_run() -> Callable[..., Path]:
    """scored_run(folder, rounds, finished=True, **config) -> folder. rounds: of prompts, of what was sent."""

    def make(folder: Path, rounds: Sequence[Sequence[Sent]], finished: bool = True, **config: Any) -> Path:
        experiment = parse({**TREE, "defences": ["support"], "rounds": len(rounds), **config})
        journal = Journal.create(folder, to_yaml(experiment), {})
        for round, prompts in enumerate(rounds, 1):
            rows = []
            for prompt, sent in enumerate(prompts):
                for sample, (truth, scores) in enumerate(sent):
                    id = CompletionId(round, prompt, 0, sample)
                    belief = Belief(id, 1.0, "right", 9, 0.0, True, dict(scores))
                    rows.append(row(Completion(id, "task/1", "x"), "?", truth, 0, belief))
            journal.record_round(round, [], rows)
        if finished:
            journal.merge_completions()
        return folder

    return make


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command of the command line: (exit code, what it printed, errors)."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["turncoat", *map(str, arguments)])
        code = cli.main()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def summary() -> Callable[..., dict[str, Any]]:
    """summary(accuracy=, length=, seed=): what a finished run says, as far as studies read it."""

    def make(
        accuracy: float = 0.5, length: float = 20.0, success: float | None = 0.1, seed: int = 0
    ) -> dict[str, Any]:
        return {
            "kind": "decentralised",
            "name": "x",
            "seed": seed,
            "rounds": 2,
            "attack": {
                "kind": "text",
                "success_rate": success,
                "success_interval": None,
                "initial_success_rate": 0.0,
            },
            "defences": [],
            "victim": {
                "clean_accuracy": accuracy,
                "initial_accuracy": 0.4,
                "evaluated": 100,
                "length_mean": length,
            },
            "baseline": {"clean_accuracy": None},
            "defence": {
                "stop_rate": None,
                "false_positive_rate": None,
                "cost_seconds": None,
                "cost_share": None,
            },
            "seconds": {},
        }

    return make


@pytest.fixture
def as_json() -> Callable[[tuple[int, str, str]], Any]:
    """What a command that was to succeed printed, read as JSON."""

    def read(outcome: tuple[int, str, str]) -> Any:
        code, printed, errors = outcome
        assert code == 0, errors
        return json.loads(printed)

    return read
