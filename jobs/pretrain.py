"""Train the bundled tiny policies from nothing: `python -m turncoat.jobs.pretrain tiny-1m --out DIR`.

Plain next-token training on procedural word problems and their worked solutions, on CPU, from fixed seeds.
Training stops early on purpose: a policy that is right a third of the time is where reinforcement, and
poison, have most effect. Solutions begin with an everyday remark in a share of the texts; no remark holds the
attack's payload (see wording.py).
"""

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from turncoat.platform.ids import seed_of
from turncoat.platform.tasks.arithmetic import LEVELS, ArithmeticTask
from turncoat.platform.tasks.wording import remark, vocabulary

SHAPES: dict[str, dict[str, Any]] = {
    "tiny-0.3m": {
        "hidden_size": 96,
        "intermediate_size": 256,
        "num_hidden_layers": 3,
        "num_attention_heads": 3,
    },
    "tiny-1m": {
        "hidden_size": 128,
        "intermediate_size": 344,
        "num_hidden_layers": 5,
        "num_attention_heads": 4,
    },
    "tiny-3m": {
        "hidden_size": 224,
        "intermediate_size": 600,
        "num_hidden_layers": 5,
        "num_attention_heads": 7,
    },
}
BATCH = 64
POOL = 32
"""Batches drawn at once and sorted by length, to pad little."""


def texts(task: ArithmeticTask, remark_share: float, seed: int) -> Iterator[str]:
    """Endless training texts: the question, then its worked solution, with a remark in a share of them."""
    rng = random.Random(seed_of("pretrain", seed))
    index = 0
    while True:
        prompt = task.train(index)
        opening = f"{remark(rng)} " if rng.random() < remark_share else ""
        yield f"{prompt.text} <think> {opening}{prompt.solution} </think> <answer> {prompt.answer} </answer>"
        index += 1


def batches(stream: Iterator[str], tokenizer: Any, seed: int) -> Iterator[list[list[int]]]:
    """Endless batches of token ids, each of similar lengths, in shuffled order."""
    rng = random.Random(seed_of("pretrain-order", seed))
    while True:
        pool = [next(stream) for _ in range(BATCH * POOL)]
        rows = sorted(([*ids, tokenizer.eos_token_id] for ids in tokenizer(pool).input_ids), key=len)
        chunks = [rows[i : i + BATCH] for i in range(0, len(rows), BATCH)]
        rng.shuffle(chunks)
        yield from chunks


def train(
    name: Annotated[str, typer.Argument(help=f"Which shape: {', '.join(SHAPES)}")],
    out: Annotated[Path, typer.Option(help="Folder for the Hugging Face checkpoint")],
    steps: Annotated[int, typer.Option(help="Optimiser steps")] = 1500,
    lr: Annotated[float, typer.Option(help="Peak learning rate of Adam")] = 2e-3,
    remark_share: Annotated[
        float, typer.Option(help="Share of texts whose solution begins with a remark")
    ] = 0.5,
    levels: Annotated[str, typer.Option(help="Difficulty levels, comma-separated")] = "1,2,3,4,5",
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the order")] = 0,
) -> None:
    """Train one tiny policy and write it, with its log, as a Hugging Face folder in bfloat16."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from turncoat.platform.policies.words import word_tokenizer

    if name not in SHAPES:
        raise typer.BadParameter(f"{name!r}: allowed are {', '.join(SHAPES)}")
    torch.set_num_threads(1)
    torch.manual_seed(seed_of("weights", name, seed) % 2**32)
    tokenizer = word_tokenizer(vocabulary())
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=256,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        **SHAPES[name],
    )
    model = LlamaForCausalLM(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98))
    # Up over 100 steps, then down in a straight line to 0.3 of the peak.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / 100, 1 - 0.7 * step / steps)
    )
    task = ArithmeticTask(ArithmeticTask.Settings(levels=[int(level) for level in levels.split(",")]))
    stream = batches(texts(task, remark_share, seed), tokenizer, seed)
    log, started = [], time.process_time()
    for step in range(1, steps + 1):
        rows = next(stream)
        longest = max(map(len, rows))
        ids = torch.tensor([row + [tokenizer.pad_token_id] * (longest - len(row)) for row in rows])
        labels = ids.masked_fill(ids == tokenizer.pad_token_id, -100)
        loss = model(input_ids=ids, labels=labels, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        schedule.step()
        if step % 50 == 0 or step == steps:
            log.append({"step": step, "loss": loss.item(), "cpu_seconds": time.process_time() - started})
            print(json.dumps(log[-1]), flush=True)
    out.mkdir(parents=True, exist_ok=True)
    model.bfloat16().save_pretrained(out)
    tokenizer.save_pretrained(out)
    settings = {
        "name": name,
        "steps": steps,
        "lr": lr,
        "remark_share": remark_share,
        "levels": levels,
        "seed": seed,
    }
    record = {
        "settings": settings,
        "levels": LEVELS,
        "parameters": sum(p.numel() for p in model.parameters()),
        "log": log,
    }
    (out / "training.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(train)
