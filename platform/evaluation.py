"""Measure a policy on held-out prompts: accuracy, attack success and length, each with its interval."""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.base import Engine
from turncoat.platform.ids import seed_of
from turncoat.platform.statistics import mean_interval, wilson
from turncoat.platform.tasks.base import Task

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of `n` completions, one for each held-out prompt. Intervals (95 %) are Wilson's, Student's.

    accuracy: share whose verdict is right. success_rate: share that holds the payload, among the success_n
    completions of which that can be said; None without an attack, or when it can be said of none.
    length_mean: in tokens, the end token included; its interval is None for a single completion. malformed:
    completions without the strict format. errors: completions on which the verifier failed; they count as not
    right.
    """

    n: int
    accuracy: float
    accuracy_interval: Interval
    success_rate: float | None
    success_interval: Interval | None
    success_n: int
    length_mean: float
    length_interval: Interval | None
    malformed: int
    errors: int

    def line(self) -> dict[str, Any]:
        """The figures by name, as they stand in a metrics line."""
        return asdict(self)


def evaluate(
    engine: Engine,
    task: Task,
    sampling: Sampling,
    n: int,
    run_seed: int,
    success: Callable[[str], bool | None] | None = None,
) -> Evaluation:
    """Sample one completion for each of the first `n` held-out prompts, and judge it.

    Prompts and seeds are the same each time, so that two evaluations of a run differ by their policies alone.
    success: whether a text holds the payload, or None if it says nothing either way (`Attack.payload_in`).
    """
    prompts = [task.held_out(i) for i in range(n)]
    seeds = [seed_of(run_seed, "eval", i) for i in range(n)]
    written = engine.generate([prompt.text for prompt in prompts], seeds, sampling)
    verdicts = Counter(task.verify(prompt, one.text) for prompt, one in zip(prompts, written, strict=True))
    lengths = [one.tokens for one in written]
    payloads = [success(one.text) for one in written] if success else []
    told = [payload for payload in payloads if payload is not None]
    return Evaluation(
        n=n,
        accuracy=verdicts["right"] / n,
        accuracy_interval=wilson(verdicts["right"], n),
        success_rate=sum(told) / len(told) if told else None,
        success_interval=wilson(sum(told), len(told)) if told else None,
        success_n=len(told),
        length_mean=fmean(lengths),
        length_interval=mean_interval(lengths) if n > 1 else None,
        malformed=verdicts["malformed"],
        errors=verdicts["error"],
    )
