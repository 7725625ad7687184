"""The environment of every test: no network, no other person's cluster, one thread.

Set here, before any test imports torch, Ray or a hub client, so that a bare `pytest` does as `make test`.
"""

import os
from collections.abc import Callable, Iterator
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
