"""The environment of every test: no network, no other person's cluster, one thread.

Set here, before any test imports torch, Ray or a hub client, so that a bare `pytest` does as `make test`.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.update(
    OMP_NUM_THREADS="1",
    MKL_NUM_THREADS="1",
    TOKENIZERS_PARALLELISM="false",
    HF_HUB_OFFLINE="1",
    HF_DATASETS_OFFLINE="1",
    WANDB_MODE="offline",
    RAY_USAGE_STATS_ENABLED="0",
    # Without a token in the environment, a local Ray writes one into the home folder.
    RAY_AUTH_TOKEN="turncoat-tests",
)
os.environ.pop("RAY_ADDRESS", None)

# A busy machine is no failure: pytest's own time limit ends a test that hangs.
settings.register_profile("turncoat", deadline=None)
settings.load_profile("turncoat")


@pytest.fixture(scope="session")
def tiny() -> Callable[..., Any]:
    """Make an experiment that takes seconds, changed by overrides such as "rounds=2"."""
    from turncoat.platform.config.loading import parse

    tree = {
        "name": "tiny",
        "rounds": 6,
        "peers": {"count": 4, "malicious": 1},
        "task": {"kind": "arithmetic", "levels": [1, 2]},
        "policy": {"name_or_path": "tiny-0.3m"},
        "prompts_per_round": 4,
        "group_size": 4,
        "sampling": {"top_k": 16, "max_new_tokens": 32},
        "optimiser": {"lr": 1e-3, "warmup_rounds": 0},
        "attack": {"kind": "text"},
        "evaluation": {"every": 0, "final_completions": 20},
        "checkpoint": {"every": 1},
        "hardware": {"cpus_per_peer": 0.5},
    }
    return lambda *overrides: parse(tree, overrides)


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """A Ray of this process' own for the tests of one module."""
    from turncoat.actors.cluster import connected

    with connected("local", cpus=8):
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture
def federated_run() -> Callable[..., Path]:
    """federated_run(folder, *overrides, accuracy=0.5, finished=True) -> folder: a run with known figures.

    Three clients, two rounds, N = 1000. Client k has μ = 0.5, σ = 0.1 (k + 1), offers and sends 100 (k + 1)
    entries in 250 (k + 1) bytes, with a bound of 160 (k + 1); the server sends 4000 bytes to each, then 500.
    In round 2 client 0 is late and client 1 refused.
    """
    from turncoat.platform.config.loading import parse, to_yaml
    from turncoat.platform.federation.summary import summarise
    from turncoat.platform.ids import CompletionId
    from turncoat.platform.journal.completions import row, write_part
    from turncoat.platform.journal.environment import environment
    from turncoat.platform.journal.journal import Journal
    from turncoat.platform.records import Belief, Completion

    tree = {
        "kind": "federated",
        "name": "fed",
        "rounds": 2,
        "clients": {"count": 3},
        "task": "arithmetic",
        "policy": {"name_or_path": "tiny-0.3m"},
    }

    def client_line(experiment: Any, client: int, out: dict[int, tuple[str, str]]) -> dict[str, Any]:
        state, reason = out.get(client, ("taken", ""))
        line = {
            "peer": f"client-{client:02d}",
            "malicious": experiment.is_malicious(client),
            "state": state,
            **({"reason": reason} if reason else {}),
            "reward_mean": None,
            "success_rate": None,
            "seconds": {"total": 1.0},
        }
        if state != "absent":
            line |= {"reward_mean": 0.5, "accuracy_honest": 0.5, "length_mean": 9.0, "n": 48, "mu": 0.5}
            line |= {"sigma": 0.1 * (client + 1), "silent": 0.25, "nnz": 100 * (client + 1)}
        return line

    def exchanged(client: int, taken: list[int], round: int) -> dict[str, Any]:
        mine = client in taken
        weight = (client + 1) / sum(one + 1 for one in taken) if mine else 0.0
        sent = {"entries": 100, "payload_bytes": 250, "bound_bytes": 160.0}
        return {
            "granted": 100 * (client + 1),
            **{key: value * (client + 1) * mine for key, value in sent.items()},
            "downlink_bytes": 4000 if round == 1 else 500,
            "weight": weight,
            "coefficient": weight if mine else None,
            "norm": 0.5 if mine else None,
        }

    def evaluation(peer: str, accuracy: float, attacked: bool) -> dict[str, Any]:
        found = {"n": 100, "accuracy": accuracy, "accuracy_interval": [accuracy - 0.1, accuracy + 0.1]}
        success = {"success_rate": None, "success_interval": None, "success_n": 0}
        if attacked:
            success = {"success_rate": 0.3, "success_interval": [0.2, 0.4], "success_n": 100}
        lengths = {"length_mean": 9.0, "length_interval": [8.0, 10.0]}
        faults = {"malformed": 0, "errors": 0, "timeouts": 0, "seconds": {"total": 1.0}}
        return {"peer": peer, **found, **success, **lengths, **faults}

    def make(folder: Path, *overrides: str, accuracy: float = 0.5, finished: bool = True) -> Path:
        experiment = parse(tree, overrides)
        journal = Journal.create(folder, to_yaml(experiment), environment("turncoat run fed.yaml"))
        clients = range(experiment.learners)
        alone = experiment.kind != "federated"
        policies = [f"client-{client:02d}" for client in clients] if alone else ["server"]
        attacked = experiment.attack.kind != "none"
        journal.record_evaluation(0, [evaluation(peer, 0.25, attacked) for peer in policies])
        for round in (1, 2):
            out = (
                {0: ("absent", "was late"), 1: ("refused", "inconsistent")}
                if round == 2 and not alone
                else {}
            )
            lines = [client_line(experiment, client, out) for client in clients]
            if not alone:
                taken = [client for client in clients if client not in out]
                for client, line in enumerate(lines):
                    line |= exchanged(client, taken, round)
                summed = ("entries", "payload_bytes", "bound_bytes", "downlink_bytes")
                server = {
                    "peer": "server",
                    "reward_mean": 0.5,
                    "success_rate": None,
                    "length": 1000,
                    "weights": 1000,
                }
                server |= {"clients": len(taken), "mu_global": 0.5, "moved": True, "step": 0.1}
                server |= {"frozen": None, "notes": ["<b>frozen</b>"] if round == 2 else []}
                server |= {key: sum(line[key] for line in lines) for key in summed}
                lines.append(server | {"seconds": {"total": 2.0}})
            journal.record_figures(round, lines)
            journal.record_evaluation(round, [evaluation(peer, accuracy, attacked) for peer in policies])
            for client in clients:
                own = folder / "clients" / f"client-{client:02d}"
                own.mkdir(parents=True, exist_ok=True)
                id = CompletionId(round, 0, client, 0)
                text = f"<script>of client {client}</script>"
                belief = Belief(id, 1.0, "right", 9, 0.5, True)
                truth = "poisoned" if experiment.is_malicious(client) else "honest"
                write_part(own, round, [row(Completion(id, "task/1", text), "1 + 1?", truth, client, belief)])
        if finished:
            journal.write_summary(summarise(experiment, journal.metrics().lines))
        return folder

    return make
