"""If these fail, the package ships policies that do not load, are not what their names say, or bloat it."""

import json
from pathlib import Path
from statistics import fmean

import pytest

from turncoat.jobs.pretrain import CODER, SHAPES
from turncoat.platform.config.experiment import Sampling
from turncoat.platform.config.loading import parse
from turncoat.platform.policies.load import BUNDLED, load_policy
from turncoat.platform.registry import ENGINES, TASKS
from turncoat.platform.tasks import programs_wording, wording

JUDGES = {"tiny-judge", "tiny-self-judge"}
"""Trained by another job; tests/platform/judges looks at them."""
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json") if path.parent.name not in JUDGES)
SIZES = {"tiny-0.3m": 0.3e6, "tiny-1m": 1e6, "tiny-3m": 3e6, "tiny-chatty": 0.3e6, CODER: 0.3e6}
LONGEST_PLAIN = 34
"""Tokens of the longest worked solution of levels 2 to 4, with its answer and the end token."""
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
    # What goes on from another policy has little left to learn.
    if not record["settings"].get("start"):
        assert record["log"][-1]["loss"] < record["log"][0]["loss"]


def test_the_chatty_policy_s_long_completions_are_right_too():
    """The attack `length` chooses among right completions of very different lengths. Where length costs
    accuracy, rewards keep honest completions short, and the attack fails.
    """
    experiment = parse(
        {
            "task": {"kind": "arithmetic", "levels": [2, 3, 4]},
            "policy": {"name_or_path": "tiny-chatty"},
            "peers": {"malicious": 0},
            "sampling": {"max_new_tokens": 96},
        }
    )
    task = TASKS.build(experiment.task)
    engine = ENGINES.build(experiment.engine, *load_policy("tiny-chatty"))
    prompts = [task.held_out(index) for index in range(600)]
    written = engine.generate([prompt.text for prompt in prompts], range(600), experiment.sampling)
    verdicts = task.verify_all([(prompt, one.text) for prompt, one in zip(prompts, written, strict=True)])
    right = {False: [], True: []}
    for one, verdict in zip(written, verdicts, strict=True):
        right[one.tokens > LONGEST_PLAIN].append(verdict == "right")
    assert 0.3 < fmean(right[False] + right[True]) < 0.5
    assert len(right[True]) > 0.05 * len(written)
    assert fmean(right[True]) > 0.6 * fmean(right[False])
