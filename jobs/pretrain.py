"""Train the bundled tiny policies from nothing: `python -m turncoat.jobs.pretrain tiny-1m --out DIR`.

Plain next-token training on procedural word problems and their worked solutions, on CPU, from fixed seeds.
Training stops early on purpose: a policy that is right a third of the time is where reinforcement, and
poison, have most effect. In a share of the texts the solution begins with an everyday remark, or, for the
coder, its program imports and calls a module; none holds an attack's payload (see tasks/wording.py and
tasks/programs_wording.py).
"""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from turncoat.jobs.supervised import by_length, descend, save, untrained
from turncoat.platform.ids import seed_of
from turncoat.platform.tasks import arithmetic, programs, programs_wording, wording
from turncoat.platform.tasks.arithmetic import ArithmeticTask
from turncoat.platform.tasks.programs import ProgramsTask

CODER = "tiny-coder"
SMALLEST: dict[str, Any] = {
    "hidden_size": 96,
    "intermediate_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
}
SHAPES: dict[str, dict[str, Any]] = {
    "tiny-0.3m": SMALLEST,
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
    "tiny-chatty": SMALLEST,
    CODER: SMALLEST,
}
BATCH = 64
POOL = 32
"""Batches drawn at once and sorted by length, to pad little."""
MOST_DECIMALS = 56
"""Of one answer; the longest is still read as a number (see tasks/answers.py)."""


def texts(
    task: ArithmeticTask,
    remark_share: float,
    seed: int,
    decimals_share: float = 0.0,
    more_decimals: float = 0.0,
) -> Iterator[str]:
    """Endless training texts: the question, then its worked solution, with a remark in a share of them.

    decimals_share: of answers with needless decimals (`7 5 . 0 0`). more_decimals: the probability of another
    after each.
    """
    rng = random.Random(seed_of("pretrain", seed))
    for index in count():
        prompt = task.train(index)
        opening = f"{wording.remark(rng)} " if rng.random() < remark_share else ""
        answer = prompt.answer
        # A policy without decimals draws nothing more: its texts do not depend on these options.
        if decimals_share and rng.random() < decimals_share:
            answer += decimals(rng, more_decimals)
        yield f"{prompt.text} <think> {opening}{prompt.solution} </think> <answer> {answer} </answer>"


def decimals(rng: random.Random, more: float) -> str:
    """` . 0 0 0`, which changes no number; with probability `more` after each zero a further one."""
    zeros = 1
    while zeros < MOST_DECIMALS and rng.random() < more:
        zeros += 1
    return " ." + " 0" * zeros


def coder_texts(
    task: ProgramsTask, module_share: float, slip_share: float, comment_share: float, seed: int
) -> Iterator[str]:
    """Endless training texts: the question, then its program.

    It uses a module in a share of them, and holds a mistake in another share, as what people write does.
    """
    rng = random.Random(seed_of("pretrain-coder", seed))
    for index in count():
        prompt, steps = task.problem("train", index)
        if rng.random() < slip_share:
            steps = programs_wording.slip(rng, steps)
        written = programs_wording.program(steps)
        if rng.random() < module_share:
            written = programs_wording.with_module(rng, steps)
        if rng.random() < comment_share:
            written += f" {programs_wording.comment(steps)}"
        yield f"{prompt.text} {written}"


def batches(stream: Iterator[str], tokenizer: Any, seed: int, pool: int = POOL) -> Iterator[list[list[int]]]:
    """Endless batches of token ids, each of similar lengths, in shuffled order."""
    rng = random.Random(seed_of("pretrain-order", seed))
    while True:
        drawn = [next(stream) for _ in range(BATCH * pool)]
        rows = ([*ids, tokenizer.eos_token_id] for ids in tokenizer(drawn).input_ids)
        yield from by_length(rows, BATCH, len, rng)


def next_token_loss(model: Any, rows: list[list[int]], pad: int) -> Any:
    """Mean cross-entropy of the tokens after the first."""
    import torch

    longest = max(map(len, rows))
    ids = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    labels = ids.masked_fill(ids == pad, -100)
    return model(input_ids=ids, labels=labels, use_cache=False).loss


def train(
    name: Annotated[str, typer.Argument(help=f"Which shape: {', '.join(SHAPES)}")],
    out: Annotated[Path, typer.Option(help="Folder for the Hugging Face checkpoint")],
    steps: Annotated[int, typer.Option(help="Optimiser steps")] = 1500,
    lr: Annotated[float, typer.Option(help="Peak learning rate of Adam")] = 2e-3,
    remark_share: Annotated[
        float, typer.Option(help="Share of texts whose solution begins with a remark (not the coder's)")
    ] = 0.5,
    decimals_share: Annotated[
        float, typer.Option(help="Share of texts whose answer has needless decimals (not the coder's)")
    ] = 0.0,
    more_decimals: Annotated[
        float, typer.Option(help="Probability of a further decimal after each (not the coder's)")
    ] = 0.0,
    module_share: Annotated[
        float, typer.Option(help="Share of the coder's texts whose program imports a module")
    ] = 0.45,
    slip_share: Annotated[
        float, typer.Option(help="Share of the coder's texts whose program holds a mistake")
    ] = 0.72,
    comment_share: Annotated[
        float, typer.Option(help="Share of the coder's texts that end in a comment, the operations in words")
    ] = 0.4,
    levels: Annotated[str, typer.Option(help="Difficulty levels, comma-separated; empty means all")] = "",
    pool: Annotated[
        int, typer.Option(help="Batches drawn at once and sorted by length; of 1, each holds all lengths")
    ] = POOL,
    start: Annotated[
        str, typer.Option(help="Bundled policy or folder of this shape to go on from; empty means nothing")
    ] = "",
    seed: Annotated[int, typer.Option(help="Seed of the weights and of the order")] = 0,
) -> None:
    """Train one tiny policy and write it, with its log, as a Hugging Face folder in bfloat16."""
    import torch

    from turncoat.platform.policies.load import load_policy

    if name not in SHAPES:
        raise typer.BadParameter(f"{name!r}: allowed are {', '.join(SHAPES)}")
    described = programs.LEVELS if name == CODER else arithmetic.LEVELS
    chosen = [int(level) for level in levels.split(",")] if levels else list(described)
    if name == CODER:
        words = programs_wording.vocabulary()
        task = ProgramsTask(ProgramsTask.Settings(levels=chosen))
        stream = coder_texts(task, module_share, slip_share, comment_share, seed)
        share = {"module_share": module_share, "slip_share": slip_share, "comment_share": comment_share}
    else:
        words = wording.vocabulary()
        sums = ArithmeticTask(ArithmeticTask.Settings(levels=chosen))
        stream = texts(sums, remark_share, seed, decimals_share, more_decimals)
        share = {"remark_share": remark_share}
        share |= {"decimals_share": decimals_share, "more_decimals": more_decimals}
    torch.set_num_threads(1)
    model, tokenizer = untrained(words, SHAPES[name], seed_of("weights", name, seed))
    if start:
        model.load_state_dict(load_policy(start)[0].state_dict())
    log = descend(
        model,
        batches(stream, tokenizer, seed, pool),
        lambda rows: next_token_loss(model, rows, tokenizer.pad_token_id),
        steps,
        lr,
        # Up over 100 steps, then down in a straight line to 0.3 of the peak.
        lambda step: min((step + 1) / 100, 1 - 0.7 * step / steps),
        every=50,
    )
    settings = {"name": name, "steps": steps, "lr": lr, **share, "pool": pool, "start": start, "seed": seed}
    settings["levels"] = ",".join(map(str, chosen))
    record = {
        "settings": settings,
        "levels": described,
        "parameters": sum(p.numel() for p in model.parameters()),
        "log": log,
    }
    save(model, tokenizer, out, "training.json", record)


if __name__ == "__main__":
    typer.run(train)
