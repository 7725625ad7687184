"""Train the bundled tiny judge from nothing: `python -m turncoat.jobs.train_judge --out DIR`.

Plain next-token training, on CPU, from fixed seeds, on right and corrupted solutions of the arithmetic and
the programs task. What it is to write is the criticism of an exact teacher (platform/judges/lessons), which
the judge imitates without seeing the reference. No lesson holds an attack's payload.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from turncoat.jobs.supervised import by_length, descend, save, untrained
from turncoat.platform.ids import seed_of
from turncoat.platform.judges.lessons.critic import WORDS
from turncoat.platform.judges.lessons.stream import Lesson, mixed, vocabulary

SHAPE: dict[str, Any] = {
    "hidden_size": 96,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 3,
}
BATCH = 64
POOL = 16
"""Batches drawn at once and sorted by length, to pad little."""

GIVEN, VERDICT = 0.1, 3.0
"""Weights in the loss, where a criticism's other tokens have 1: of question and solution, which the judge
need not write; and of "right", "wrong" and their like, few tokens among many that are easily copied."""


class Row(NamedTuple):
    """Token ids of a text, and the weight of each in the loss."""

    ids: list[int]
    weights: list[float]


def rows(tokenizer: Any, lessons: list[Lesson]) -> list[Row]:
    """Lessons as token ids, the end token included."""
    decisive = {tokenizer.convert_tokens_to_ids(word) for word in WORDS}
    asked = tokenizer([lesson.asked for lesson in lessons]).input_ids
    written = tokenizer([lesson.verdict for lesson in lessons]).input_ids
    return [
        Row(
            [*given, *said, tokenizer.eos_token_id],
            [GIVEN] * len(given) + [VERDICT if id in decisive else 1.0 for id in said] + [1.0],
        )
        for given, said in zip(asked, written, strict=True)
    ]


def batches(stream: Iterator[Lesson], tokenizer: Any, seed: int) -> Iterator[list[Row]]:
    """Endless batches, each of similar lengths, in shuffled order."""
    rng = random.Random(seed_of("judge-order", seed))
    while True:
        pool = rows(tokenizer, [next(stream) for _ in range(BATCH * POOL)])
        yield from by_length(pool, BATCH, lambda row: len(row.ids), rng)


def weighted_loss(model: Any, batch: list[Row], pad: int) -> Any:
    """Mean cross-entropy of the tokens after the first, by their weights. Padding weighs nothing."""
    import torch

    longest = max(len(row.ids) for row in batch)
    ids = torch.tensor([row.ids + [pad] * (longest - len(row.ids)) for row in batch])
    weights = torch.tensor([row.weights + [0.0] * (longest - len(row.ids)) for row in batch])[:, 1:]
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
    ).view_as(weights)
    return (losses * weights).sum() / weights.sum()


def take_up(model: Any, tokenizer: Any, before: Any, words: Any) -> None:
    """Copy a trained judge's weights, word by word where the vocabulary has changed; new words begin anew."""
    table = model.get_input_embeddings().weight.detach().clone()
    known = words.get_vocab()
    for word, row in tokenizer.get_vocab().items():
        if word in known:
            table[row] = before.get_input_embeddings().weight[known[word]].detach()
    tables = {name: table for name in ("model.embed_tokens.weight", "lm_head.weight")}  # tied
    model.load_state_dict({**before.state_dict(), **tables})


def train(
    out: Annotated[Path, typer.Option(help="Folder for the Hugging Face checkpoint")],
    steps: Annotated[int, typer.Option(help="Optimiser steps", min=1)] = 2000,
    lr: Annotated[float, typer.Option(help="Peak learning rate of Adam")] = 3e-3,
    programs_share: Annotated[float, typer.Option(help="Share of lessons on programs")] = 0.4,
    solving_share: Annotated[
        float, typer.Option(help="Share of texts that solve a problem of arithmetic instead of judging")
    ] = 0.0,
    slips: Annotated[
        float, typer.Option(help="Share of corrupted solutions in which only one digit is another")
    ] = 0.0,
    start: Annotated[
        str | None, typer.Option(help="A trained judge to go on from, by its name or its folder")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the weights, the lessons and the order")] = 0,
) -> None:
    """Train the tiny judge and write it, with its log, as a Hugging Face folder in bfloat16."""
    import torch

    from turncoat.platform.policies.load import find_policy, load_policy

    torch.set_num_threads(1)
    model, tokenizer = untrained(vocabulary(), SHAPE, seed_of("judge-weights", seed))
    if start is not None:
        take_up(model, tokenizer, *load_policy(start))
    log = descend(
        model,
        batches(mixed(seed, programs_share, solving_share, slips), tokenizer, seed),
        lambda batch: weighted_loss(model, batch, tokenizer.pad_token_id),
        steps,
        lr,
        # Up over 100 steps, then down in a straight line, nearly to nothing: a judge is to be right.
        lambda step: min((step + 1) / 100, max(0.02, 1 - step / steps)),
        every=50,
    )
    record = {
        "settings": {
            "name": out.name,
            "steps": steps,
            "lr": lr,
            "programs_share": programs_share,
            "solving_share": solving_share,
            "slips": slips,
            "seed": seed,
        },
        "parameters": sum(p.numel() for p in model.parameters()),
        "log": log,
        "before": start and json.loads((Path(find_policy(start).location) / "training.json").read_text()),
    }
    save(model, tokenizer, out, "training.json", record)


if __name__ == "__main__":
    typer.run(train)
