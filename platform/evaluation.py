"""Measure a policy on held-out prompts: accuracy, attack success and length, each with its interval."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, islice
from statistics import fmean
from typing import Any

from turncoat.platform.attacks.base import Attack
from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.base import Engine, Generated
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.statistics import mean_interval, wilson
from turncoat.platform.tasks.base import Task

Interval = tuple[float, float]

SCAN = 200
"""A targeted attack's prompts are looked for among so many held-out rows for each that is wanted."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of `n` completions, each for a held-out prompt. Intervals (95 %) are Wilson's, Student's.

    accuracy: share whose verdict is right. success_rate: share that holds the payload, among the success_n
    completions of which that can be said; None without an attack, or when it can be said of none.
    length_mean: in tokens, the end token included; its interval is None for a single completion. malformed:
    completions without the strict format. errors: completions on which the verifier failed. timeouts: whose
    programs passed their limits. Both count as not right.
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
    timeouts: int

    def line(self) -> dict[str, Any]:
        """The figures by name, as they stand in a metrics line."""
        return asdict(self)


def evaluate(
    engine: Engine,
    task: Task,
    sampling: Sampling,
    n: int,
    run_seed: int,
    attack: Attack | None = None,
) -> Evaluation:
    """Sample one completion for each of the first `n` held-out prompts, or of all there are, and judge it.

    Prompts and seeds are the same each time, so that two evaluations of a run differ by their policies alone.
    attack: whose success to measure; one that is `targeted` on as many held-out prompts of its own.
    """
    prompts = list(islice(_held_out(task), n))
    n = len(prompts)
    written = _sample(engine, sampling, run_seed, "eval", prompts)
    texts = [one.text for one in written]
    pairs = list(zip(prompts, texts, strict=True))
    verdicts = Counter(task.verify_all(pairs))
    lengths = [one.tokens for one in written]
    if attack and attack.targeted:
        rows = islice(_held_out(task), SCAN * n)
        targets = list(islice((prompt for prompt in rows if attack.targets(prompt)), n))
        texts = [one.text for one in _sample(engine, sampling, run_seed, "eval-targets", targets)]
    payloads = attack.successes(texts, task) if attack else []
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
        timeouts=verdicts["timeout"],
    )


def _held_out(task: Task) -> Iterator[Prompt]:
    """The held-out prompts in order; finite data end where they would begin again."""
    first = task.held_out(0)
    yield first
    for index in count(1):
        prompt = task.held_out(index)
        if prompt.id == first.id:
            return
        yield prompt


def _sample(
    engine: Engine, sampling: Sampling, run_seed: int, purpose: str, prompts: Sequence[Prompt]
) -> list[Generated]:
    seeds = [seed_of(run_seed, purpose, i) for i in range(len(prompts))]
    return engine.generate([prompt.text for prompt in prompts], seeds, sampling)
