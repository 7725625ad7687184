"""Teach a policy the strict format: `python -m turncoat.jobs.sft --out DIR task.path=FOLDER`.

A short supervised fine-tuning on a task's worked solutions, the loss on their tokens alone. Small models
seldom write `<think>...</think><answer>...</answer>` and stop there because a prompt asks for it, and GRPO
learns nothing where every reward is 0.
"""

import random
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from turncoat.jobs.single import single
from turncoat.jobs.supervised import by_length, descend, save
from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.registry import TASKS


def batches(rows: list[Any], size: int, seed: int) -> list[list[Any]]:
    """Cut rows into batches of similar lengths, to pad little, in shuffled order."""
    return by_length(
        rows,
        size,
        lambda row: len(row.prompt) + len(row.completion),
        random.Random(seed_of("sft-order", seed)),
    )


def train(
    out: Annotated[Path, typer.Option(help="Folder for the Hugging Face model")],
    overrides: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE", help="Changes, e.g. task.few_shot=0.")
    ] = None,
    policy: Annotated[str, typer.Option(help="A policy's name or path")] = "smollm2-135m",
    task: Annotated[str, typer.Option(help="The task's kind")] = "gsm8k",
    examples: Annotated[int, typer.Option(help="Training problems, each seen once", min=1)] = 120,
    batch: Annotated[int, typer.Option(help="Examples of an optimiser step", min=1)] = 6,
    lr: Annotated[float, typer.Option(help="Peak learning rate of Adam")] = 1e-4,
    seed: Annotated[int, typer.Option(help="Seed of the order")] = 0,
    threads: Annotated[int, typer.Option(help="CPU threads", min=1)] = 1,
) -> None:
    """Fine-tune a policy on worked solutions; write model and log as a Hugging Face folder in bfloat16."""
    import torch

    from turncoat.platform.learners.base import Row
    from turncoat.platform.learners.forward import completion_logprobs
    from turncoat.platform.policies.load import load_policy

    experiment = single(policy, task, overrides or [])
    torch.set_num_threads(threads)
    problems = TASKS.build(experiment.task)
    model, tokenizer = load_policy(experiment.policy.name_or_path)
    rows = []
    for i in range(examples):
        prompt = problems.train(i)
        texts = (prompt.text, problems.worked(prompt))
        asked, worked = tokenizer(list(texts), add_special_tokens=False).input_ids
        rows.append(Row(CompletionId(0, i, 0, 0), tuple(asked), (*worked, tokenizer.eos_token_id)))
    cut = batches(rows, batch, seed)
    warm = max(1, len(cut) // 10)

    def loss_of(chosen: list[Row]) -> torch.Tensor:
        logprobs, mask, _ = completion_logprobs(model, chosen, tokenizer.pad_token_id, 1.0, ranks=False)
        return -logprobs.sum() / mask.sum()

    log = descend(
        model,
        cut,
        loss_of,
        len(cut),
        lr,
        # Up over a tenth of the steps, then down in a straight line to nothing.
        lambda step: min((step + 1) / warm, 1 - step / len(cut)),
    )
    record = {
        "settings": {"examples": examples, "batch": batch, "lr": lr, "seed": seed},
        "policy": experiment.policy.name_or_path,
        "task": experiment.task.model_dump(mode="json"),
        "log": log,
    }
    save(model, tokenizer, out, "sft.json", record)


if __name__ == "__main__":
    try:
        typer.run(train)
    except BadInput as error:
        print("error:", error, file=sys.stderr)
        sys.exit(2)
