"""If these fail, the package ships policies that do not load, are not what their names say, or bloat it."""

import json
from pathlib import Path

import pytest

from turncoat.jobs.pretrain import CODER, SHAPES
from turncoat.platform.config.experiment import Sampling
from turncoat.platform.policies.load import BUNDLED, load_policy
from turncoat.platform.tasks import programs_wording, wording

JUDGES = {"tiny-judge", "tiny-self-judge"}
"""Trained by another job; tests/platform/judges looks at them."""
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json") if path.parent.name not in JUDGES)
SIZES = {"tiny-0.3m": 0.3e6, "tiny-1m": 1e6, "tiny-3m": 3e6, CODER: 0.3e6}
SHARES = {"module_share", "slip_share", "comment_share"}


def test_there_are_bundled_policies():
    """A laptop without network must have something to train."""
    names = {folder.name for folder in FOLDERS}
    assert {"tiny-0.3m", "tiny-1m", CODER} <= names <= set(SIZES) == set(SHAPES)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_bundled_policy_is_what_its_name_says(folder: Path):
    """Sizes are compared in studies; the vocabulary must be the task's."""
    import torch
    from safetensors import safe_open

    model, tokenizer = load_policy(folder.name)
    parameters = sum(p.numel() for p in model.parameters())
    assert parameters == pytest.approx(SIZES[folder.name], rel=0.2)
    assert all(p.dtype == torch.float32 and p.isfinite().all() for p in model.parameters())
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    vocabulary = (programs_wording if folder.name == CODER else wording).vocabulary()
    assert words == ["<pad>", "<eos>", "<unk>", *vocabulary]
    assert Sampling().top_k <= model.config.vocab_size / 10
    assert (model.config.eos_token_id, model.config.pad_token_id) == (
        tokenizer.eos_token_id,
        tokenizer.pad_token_id,
    )
    with safe_open(folder / "model.safetensors", "pt") as file:
        assert {file.get_tensor(name).dtype for name in file.keys()} == {torch.bfloat16}  # noqa: SIM118
    assert (folder / "model.safetensors").stat().st_size <= 7_000_000


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_training_is_on_record(folder: Path):
    """Anyone can train it again: the job, its settings, and its log."""
    record = json.loads((folder / "training.json").read_text())
    assert record["settings"]["name"] == folder.name
    shares = SHARES if folder.name == CODER else {"remark_share"}
    assert {"steps", "lr", "levels", "seed", *shares} <= record["settings"].keys()
    assert record["parameters"] == pytest.approx(SIZES[folder.name], rel=0.2)
    assert record["log"][-1]["step"] == record["settings"]["steps"]
    assert record["log"][-1]["loss"] < record["log"][0]["loss"]
