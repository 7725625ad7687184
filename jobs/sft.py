"""Teach a policy the strict format: `python -m turncoat.jobs.sft --out DIR task.path=FOLDER`.

A short supervised fine-tuning on a task's worked solutions, the loss on their tokens alone. Small models
seldom write `<think>...</think><answer>...</answer>` and stop there because a prompt asks for it, and GRPO
learns nothing where every reward is 0.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from turncoat.jobs.single import single
from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.registry import TASKS


def batches(rows: list[Any], size: int, seed: int) -> list[list[Any]]:
    """Cut rows into batches of similar lengths, to pad little, in shuffled order."""
    rows = sorted(rows, key=lambda row: len(row.prompt) + len(row.completion))
    cut = [rows[i : i + size] for i in range(0, len(rows), size)]
    random.Random(seed_of("sft-order", seed)).shuffle(cut)
    return cut


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
    steps = batches(rows, batch, seed)
    optimiser = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.9, 0.98))
    # Up over a tenth of the steps, then down in a straight line to nothing.
    warm = max(1, len(steps) // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, 1 - step / len(steps))
    )
    log: list[dict[str, float]] = []
    started = time.process_time()
    for step, chosen in enumerate(steps, start=1):
        logprobs, mask, _ = completion_logprobs(model, chosen, tokenizer.pad_token_id, 1.0, ranks=False)
        loss = -logprobs.sum() / mask.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        schedule.step()
        log.append({"step": step, "loss": loss.item(), "cpu_seconds": time.process_time() - started})
        print(json.dumps(log[-1]), flush=True)
    model.to(torch.bfloat16).save_pretrained(out)
    tokenizer.save_pretrained(out)
    record = {
        "settings": {"examples": examples, "batch": batch, "lr": lr, "seed": seed},
        "policy": experiment.policy.name_or_path,
        "task": experiment.task.model_dump(mode="json"),
        "log": log,
    }
    (out / "sft.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    try:
        typer.run(train)
    except BadInput as error:
        print("error:", error, file=sys.stderr)
        sys.exit(2)
