"""`turncoat eval RUN|MODEL`: accuracy, attack success and length on held-out prompts of any task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from turncoat.jobs.single import single
from turncoat.platform.config.loading import parse
from turncoat.platform.evaluation import Evaluation
from turncoat.platform.evaluation import evaluate as measure
from turncoat.platform.journal.journal import EXPERIMENT, Journal
from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.trained import load_trained
from turncoat.platform.registry import ATTACKS, ENGINES, TASKS


def evaluate(
    target: str,
    task: str | None = None,
    n: int | None = None,
    overrides: Sequence[str] = (),
    peer: int = 0,
) -> Evaluation:
    """Measure a run's honest peer, or a policy by name or path.

    A run is measured under its own task, attack, sampling and seed: without changes, the figures are those of
    its last evaluation. A policy is measured on arithmetic, for the default text attack's payload. `task` (a
    kind) and overrides (`task.path=FOLDER`, `sampling.top_k=50`) change that. n: held-out completions, by
    default `evaluation.final_completions`. Raises BadInput.
    """
    import torch

    torch.set_num_threads(1)  # as peers do: another number may round differently
    if (Path(target) / EXPERIMENT).is_file():
        changes = [f"task.kind={task}", *overrides] if task else list(overrides)
        experiment = parse(Journal.open(Path(target)).experiment(), changes)
        problems = TASKS.build(experiment.task)  # before the weights: its errors come at once
        model, tokenizer, _ = load_trained(Path(target), peer)
    else:
        experiment = single(target, task or "arithmetic", ["attack.kind=text", *overrides])
        problems = TASKS.build(experiment.task)
        model, tokenizer = load_policy(experiment.policy.name_or_path, experiment.policy.dtype)
    engine = ENGINES.build(experiment.engine, model, tokenizer)
    completions = n or experiment.evaluation.final_completions
    attack = ATTACKS.build(experiment.attack)
    return measure(engine, problems, experiment.sampling, completions, experiment.seed, attack)


def table(found: Evaluation) -> Any:
    """The figures for a person: a Rich table, a row for each, with 95 % intervals."""
    from rich.table import Table

    rows = Table("measure", "value", "95 % interval", title=f"{found.n} held-out completions")
    rows.add_row("accuracy", f"{found.accuracy:.3f}", interval(found.accuracy_interval, 3))
    if found.success_rate is not None and found.success_interval is not None:
        rows.add_row("attack success", f"{found.success_rate:.3f}", interval(found.success_interval, 3))
    rows.add_row("length in tokens", f"{found.length_mean:.1f}", interval(found.length_interval, 1))
    rows.add_row("malformed", str(found.malformed))
    rows.add_row("timeouts", str(found.timeouts))
    rows.add_row("errors of the verifier", str(found.errors))
    return rows


def interval(bounds: tuple[float, float] | None, digits: int) -> str:
    return f"{bounds[0]:.{digits}f} to {bounds[1]:.{digits}f}" if bounds else ""
