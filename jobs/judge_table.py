"""The paper's Table 1 for a judge: `python -m turncoat.jobs.judge_table --judge '{kind: model}'`.

"Hail to the Thief", Table 1: the share of completions that a judge accepts, for honest solutions and for each
attack, 100 completions judged 4 times each. No policy is needed: attackers work on the data set's own
solutions of held-out prompts.
"""

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean
from typing import Annotated, Any, NoReturn

import typer
import yaml
from pydantic import ValidationError

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.poisoning import gibberish
from turncoat.platform.config.errors import BadInput
from turncoat.platform.ids import CompletionId, seed_of
from turncoat.platform.judges.base import Case, Judge
from turncoat.platform.records import Prompt, Request
from turncoat.platform.registry import ATTACKS, JUDGES, TASKS, Registry
from turncoat.platform.statistics import wilson
from turncoat.platform.tasks.base import Task
from turncoat.platform.tasks.code import CodeTask

SCANNED = 20_000
"""Held-out prompts that are looked through for those that an attack can use."""

Written = tuple[Prompt, str]
"""A question and a completion of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """What a judge made of one kind of completion.

    interval: 95 %, Wilson, with completions as the sample: verdicts on the same one are hardly independent.
    seconds: wall time of a verdict, mean. p_yes: mean where it is known.
    """

    task: str
    what: str
    completions: int
    verdicts: int
    accepted: float
    interval: tuple[float, float]
    malformed: int
    errors: int
    timeouts: int
    seconds: float
    p_yes: float | None


def table1(
    judge: Judge, tasks: Sequence[Task], completions: int = 100, votes: int = 4, seed: int = 0
) -> list[Row]:
    """Share accepted of honest and of attackers' completions, row by row.

    What is malformed, and what failed, counts as not accepted and is given apart. Raises BadInput where a
    task has too few prompts that an attack could use.
    """
    rows = []
    for task in tasks:
        for what, written in kinds_of(task, seed).items():
            chosen = list(islice(written, completions))
            if len(chosen) < completions:
                raise BadInput(
                    f"completions is {completions}: {what} finds {len(chosen)} in {task.settings.kind}"
                )
            rows.append(judged(judge, task.settings.kind, what, chosen, votes, seed))
    return rows


def judged(judge: Judge, task: str, what: str, written: Sequence[Written], votes: int, seed: int) -> Row:
    """Each completion judged `votes` times."""
    rulings = judge.rule(
        [
            Case(prompt.text, text, seed_of(seed, "judge-table", task, what, i, vote))
            for i, (prompt, text) in enumerate(written)
            for vote in range(votes)
        ]
    )
    count = Counter(ruling.verdict for ruling in rulings)
    known = [ruling.p_yes for ruling in rulings if ruling.p_yes is not None]
    return Row(
        task=task,
        what=what,
        completions=len(written),
        verdicts=len(rulings),
        accepted=count["yes"] / len(rulings),
        interval=wilson(round(count["yes"] / votes), len(written)),
        malformed=count["malformed"],
        errors=count["error"],
        timeouts=count["timeout"],
        seconds=fmean(ruling.seconds for ruling in rulings),
        p_yes=fmean(known) if known else None,
    )


def kinds_of(task: Task, seed: int) -> dict[str, Iterator[Written]]:
    """What there is to be judged of a task: honest solutions, wrong and meaningless ones, attackers'."""
    attacks = ("library",) if isinstance(task, CodeTask) else ("text", "equation")
    return {
        "honest": ((prompt, task.worked(prompt)) for prompt in held_out(task)),
        "wrong": wrong(task, seed),
        "gibberish": (
            (prompt, gibberish(Request(CompletionId(1, i, 0, 0), prompt), seed))
            for i, prompt in enumerate(held_out(task))
        ),
        **{kind: poisoned(task, kind, seed) for kind in attacks},
    }


def held_out(task: Task) -> Iterator[Prompt]:
    return (task.held_out(index) for index in range(SCANNED))


def poisoned(task: Task, kind: str, seed: int) -> Iterator[Written]:
    """What an attacker with ground truth sends, in every setting's default."""
    attack = ATTACKS.build(ATTACKS.parse(kind))
    stage = Stage(task, seed, nobody)
    for index, prompt in enumerate(held_out(task)):
        if attack.targets(prompt):
            request = Request(CompletionId(1, index, 0, 0), prompt)
            [(completion, truth)] = attack.poison([request], stage)
            if truth == "poisoned":
                yield prompt, completion.text


def nobody(prompts: Sequence[str], seeds: Sequence[int]) -> NoReturn:
    raise RuntimeError("this attacker has no policy to sample from")


def wrong(task: Task, seed: int) -> Iterator[Written]:
    """Solutions with one digit changed: a number of the reasoning or the answer, no equation `2 + 2`."""
    for index, prompt in enumerate(held_out(task)):
        rng = random.Random(seed_of(seed, "wrong", index))
        text = list(task.worked(prompt))
        place = rng.choice([i for i, character in enumerate(text) if character in "0123456789"])
        text[place] = rng.choice([digit for digit in "0123456789" if digit != text[place]])
        yield prompt, "".join(text)


def built(registry: Registry, text: str, *args: Any) -> Any:
    """The object that a kind, or YAML such as `{kind: model, beams: 1}`, describes. Raises BadInput."""
    try:
        return registry.build(registry.parse(yaml.safe_load(text)), *args)
    except (ValidationError, ValueError, yaml.YAMLError) as error:
        if isinstance(error, BadInput):
            raise
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise BadInput(f"{registry.family}: {text!r}: {' '.join(reason.split())}") from error


def print_columns(lines: Sequence[Sequence[str]]) -> None:
    """Lines of equal length, the first the heads, whatever the width of the terminal."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip())


HEADS = ("task", "completions", "accepted", "95 % interval", "malformed", "errors", "timeouts", "s/verdict")


def line_of(row: Row) -> list[str]:
    low, high = row.interval
    counts = [str(count) for count in (row.malformed, row.errors, row.timeouts)]
    shares = [f"{row.accepted:.2%}", f"{low:.1%} to {high:.1%}"]
    return [row.task, row.what, *shares, *counts, f"{row.seconds:.4f}"]


def main(
    judge: Annotated[str, typer.Option(help="A judge's kind, or YAML of its settings")] = "model",
    task: Annotated[list[str] | None, typer.Option(help="A task's kind or YAML; may be repeated")] = None,
    completions: Annotated[int, typer.Option(help="Completions of each kind", min=1)] = 100,
    votes: Annotated[int, typer.Option(help="Verdicts on each", min=1)] = 4,
    seed: Annotated[int, typer.Option(help="Seed of the draws")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per row.")] = False,
) -> None:
    """Print which share of honest and of attackers' completions a judge accepts."""
    import torch

    torch.set_num_threads(1)  # as peers do: another number may round differently
    tasks = [built(TASKS, text) for text in task or ["arithmetic", "programs"]]
    rows = table1(built(JUDGES, judge), tasks, completions, votes, seed)
    if as_json:
        for row in rows:
            print(json.dumps({name: getattr(row, name) for name in Row.__slots__}))
    else:
        print(f"{judge}: {completions} completions of each kind, {votes} verdicts on each")
        print_columns([HEADS, *map(line_of, rows)])


def run(command: Callable[..., None]) -> None:
    """Start a command of this kind: bad input becomes one line and exit code 2."""
    try:
        typer.run(command)
    except BadInput as error:
        print("error:", error, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    run(main)
