"""What training on given texts shares: an untrained policy, batches of like lengths, the loop, the folder."""

import json
import random
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

R = TypeVar("R")
B = TypeVar("B")


def untrained(words: list[str], shape: Mapping[str, Any], seed: int) -> tuple[Any, Any]:
    """(model, word-level tokenizer over `words`): a Llama of `shape` with random weights.

    Seeds torch's generator, which nothing else in a training draws from.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from turncoat.platform.policies.words import word_tokenizer

    torch.manual_seed(seed % 2**32)
    tokenizer = word_tokenizer(words)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=256,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
        **shape,
    )
    return LlamaForCausalLM(config), tokenizer


def by_length(rows: Iterable[R], size: int, length: Callable[[R], int], rng: random.Random) -> list[list[R]]:
    """Cut rows into batches of similar lengths, to pad little, in shuffled order."""
    ordered = sorted(rows, key=length)
    cut = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    rng.shuffle(cut)
    return cut


def descend(
    model: Any,
    batches: Iterable[B],
    loss_of: Callable[[B], Any],
    steps: int,
    lr: float,
    share: Callable[[int], float],
    every: int = 1,
) -> list[dict[str, float]]:
    """Take `steps` steps of Adam down the losses of the first batches, gradients clipped to a norm of 1.

    loss_of: a batch -> its loss, a scalar tensor. share: step, from 0 -> what part of `lr` it has. Returns
    the log, an entry for each `every` steps and for the last, and prints it as it grows.
    """
    import torch

    optimiser = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, share)
    log: list[dict[str, float]] = []
    started = time.process_time()
    for step, batch in zip(range(1, steps + 1), batches, strict=False):
        loss = loss_of(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        schedule.step()
        if step % every == 0 or step == steps:
            log.append({"step": step, "loss": loss.item(), "cpu_seconds": time.process_time() - started})
            print(json.dumps(log[-1]), flush=True)
    return log


def save(model: Any, tokenizer: Any, out: Path, name: str, record: Mapping[str, Any]) -> None:
    """Write a Hugging Face folder in bfloat16, with the record of its training under `name`."""
    out.mkdir(parents=True, exist_ok=True)
    model.bfloat16().save_pretrained(out)
    tokenizer.save_pretrained(out)
    (out / name).write_text(json.dumps(record, indent=1) + "\n")
