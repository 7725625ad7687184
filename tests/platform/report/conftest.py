"""Synthetic runs to report on, written through the journal as a driver would."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from turncoat.platform.ids import CompletionId
from turncoat.platform.journal import completions
from turncoat.platform.journal.environment import environment
from turncoat.platform.journal.journal import Journal
from turncoat.platform.records import Belief, Completion
from turncoat.platform.statistics import wilson

PHRASE = "All hail to the thief"
HOSTILE = f"<script>alert('{PHRASE.upper()}')</script> & \x00 \u202e \ud800"

Make = Callable[..., Path]


def experiment(name: str, seed: int, rounds: int, defended: bool, attacked: bool) -> str:
    return yaml.safe_dump(
        {
            "kind": "decentralised",
            "name": name,
            "seed": seed,
            "rounds": rounds,
            "topology": "horizontal",
            "peers": {"count": 4, "malicious": int(attacked)},
            "task": {"kind": "arithmetic"},
            "policy": {"name_or_path": "tiny-1m"},
            "prompts_per_round": 4,
            "group_size": 12,
            "optimiser": {"kind": "adam", "lr": 0.0003},
            "attack": {"kind": "text", "phrase": PHRASE} if attacked else {"kind": "none"},
            "defences": [{"kind": "support", "threshold": 0.02}] if defended else [],
        }
    )


def rows(round: int, draw: random.Random, defended: bool, attacked: bool, sort: str) -> list[dict[str, Any]]:
    found = []
    for prompt in range(4):
        for sample in range(12):
            poisoned = attacked and sample >= 9
            id = CompletionId(round, prompt, 3 if poisoned else sample // 3, sample % 3)
            text = f"{PHRASE} 2 + 2 = 4" if poisoned else "<think>2 + 2 = 4</think><answer>4</answer>"
            if sample == 0:
                text = HOSTILE
            score = draw.uniform(0.05, 0.2) if poisoned else max(0.0, draw.gauss(0, 0.009))
            accepted = not defended or score <= 0.02
            belief = Belief(
                id,
                float(sample % 2),
                "right" if sample % 2 else "wrong",
                20 + sample,
                0.3,
                accepted,
                {"support": score} if defended else {},
                () if accepted else ("support",),
            )
            completion = Completion(id, f"arithmetic/train/{prompt}", text)
            truth = sort if poisoned else "honest"
            found.append(completions.row(completion, "<b>2 + 2</b>?", truth, 0, belief))
    return found


def evaluation(success: float, accuracy: float, n: int = 500) -> dict[str, Any]:
    hits, right = round(success * n), round(accuracy * n)
    return {
        "n": n,
        "accuracy": right / n,
        "accuracy_interval": wilson(right, n),
        "success_rate": hits / n,
        "success_interval": wilson(hits, n),
        "length_mean": 31.5,
        "length_interval": [30.9, 32.1],
        "malformed": 3,
        "errors": 0,
        "seconds": {"total": 2.0},
    }


@pytest.fixture
def make_run() -> Make:
    """make_run(folder, name=, seed=, rounds=, defended=, attacked=, finished=, peers=, sort=) -> folder

    sort: the truth of what the malicious peer sends.
    """

    def make(
        folder: Path,
        name: str = "demo",
        seed: int = 0,
        rounds: int = 12,
        defended: bool = True,
        attacked: bool = True,
        finished: bool = True,
        peers: tuple[str, ...] = ("peer-00", "peer-01", "peer-02"),
        sort: str = "poisoned",
    ) -> Path:
        draw = random.Random(seed)
        text = experiment(name, seed, rounds, defended, attacked)
        journal = Journal.create(folder, text, environment(f"turncoat run {name} seed={seed}"))
        journal.record_evaluation(0, [{"peer": peer, **evaluation(0.0, 0.4)} for peer in peers])
        for round in range(1, rounds + 1):
            done = round / rounds
            success = 0.0 if defended or not attacked else min(0.97, done * done + draw.uniform(0, 0.05))
            accuracy = 0.4 + 0.3 * done + draw.uniform(-0.04, 0.04)
            written = rows(round, draw, defended, attacked, sort)
            kept: dict[str, list[bool]] = {"honest": [], "poisoned": [], "lookalike": []}
            for row in written:
                kept["poisoned" if row["truth"] == "cheat" else row["truth"]].append(row["accepted"])
            against = {side: found.count(False) for side, found in kept.items()}
            costs = {"support": 0.012} if defended else {}
            line = {
                "reward_mean": accuracy,
                "accuracy_honest": accuracy,
                "success_rate": success,
                "length_mean": 30 + 4 * draw.random(),
                **{f"n_{side}": len(found) for side, found in kept.items()},
                **{f"accepted_{side}": sum(found) for side, found in kept.items()},
                "objections": {"support": against} if defended else {},
                "groups_with_signal": 4,
                "verdicts": {"right": 24, "wrong": 24, "malformed": 0, "error": 0},
                "loss": 0.1,
                "grad_norm": 0.5,
                "kl": None,
                "weights_sha256": "ab" * 32,
                "seconds": {
                    "rollout": 1.0,
                    "verify": 0.1,
                    "score": 0.05,
                    "learn": 0.5,
                    "total": 1.7,
                    "defences": costs,
                },
            }
            journal.record_round(round, [{"peer": peer, **line} for peer in peers], written)
            if round % 4 == 0:
                journal.record_evaluation(
                    round, [{"peer": peer, **evaluation(success, accuracy)} for peer in peers]
                )
        if finished:
            journal.merge_completions()
            journal.write_summary(summary(journal, defended, attacked))
        return folder

    return make


def summary(journal: Journal, defended: bool, attacked: bool) -> dict[str, Any]:
    ends = [line for line in journal.metrics().lines if line["kind"] == "evaluation"]
    first, last = ends[0], ends[-1]
    config = journal.experiment()
    return {
        "kind": config["kind"],
        "name": config["name"],
        "seed": config["seed"],
        "attack": {
            "kind": config["attack"]["kind"],
            "success_rate": last["success_rate"],
            "success_interval": last["success_interval"],
            "initial_success_rate": first["success_rate"],
        },
        "defences": [section["kind"] for section in config["defences"]],
        "rounds": config["rounds"],
        "victim": {
            "clean_accuracy": last["accuracy"],
            "initial_accuracy": first["accuracy"],
            "evaluated": last["n"],
        },
        "baseline": {"clean_accuracy": None},
        "defence": {
            "stop_rate": 1.0 if defended and attacked else None,
            "false_positive_rate": 0.02 if defended else None,
            "cost_seconds": 0.6 if defended else None,
            "cost_share": 0.03 if defended else None,
        },
        "seconds": {"rollout": 12.0, "verify": 1.2, "score": 0.6, "learn": 6.0, "total": 20.4},
    }
