"""If this fails, nobody can give a policy the answer format that GRPO needs to start from."""

import json

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

from turncoat.jobs.sft import batches, train
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Row
from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.tasks.wording import vocabulary


def test_it_learns_the_format_and_writes_a_plain_model(tmp_path):
    tokenizer = word_tokenizer(vocabulary())
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    train(
        tmp_path / "out",
        ["task.levels=[1]"],
        policy=str(tmp_path / "base"),
        task="arithmetic",
        examples=256,
        batch=4,
        lr=1e-2,
        seed=0,
        threads=1,
    )
    log = json.loads((tmp_path / "out" / "sft.json").read_text())["log"]
    assert len(log) == 64
    assert log[-1]["loss"] < 0.6 * log[0]["loss"]
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "out").dtype == torch.bfloat16


def test_every_example_is_seen_once_in_an_order_that_the_seed_decides():
    rows = [Row(CompletionId(0, i, 0, 0), (1,) * (i % 5), (2,)) for i in range(10)]
    cut = batches(rows, 4, seed=1)
    assert sorted(row.id for batch in cut for row in batch) == [row.id for row in rows]
    assert cut == batches(rows, 4, seed=1)
    assert any(cut != batches(rows, 4, seed=seed) for seed in (2, 3, 4))
