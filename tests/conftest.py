"""The environment of every test: no network, no other person's cluster, one thread.

Set here, before any test imports torch, Ray or a hub client, so that a bare `pytest` does as `make test`.
"""

import os

import pytest

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a CUDA device where there is none."""
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))
