"""The judge service: a pool of workers that every peer's defence asks. Ray's mailbox of each is its queue."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError

from turncoat.platform.config.loading import parse
from turncoat.platform.judges.base import Case, Judge, Ruling
from turncoat.platform.registry import JUDGES


class JudgeWorker:
    """One judge of a pool. Batches are the caller's, so that a ruling never depends on who else asks."""

    def __init__(self, experiment: Mapping[str, Any], name: str):
        """name: of the defence that it serves."""
        self.experiment, self.name = parse(experiment), name

    def start(self) -> None:
        """Load the judge. Raises BadInput where its model is missing or broken."""
        settings = self.experiment.defences[self.experiment.labels().index(self.name)]
        self.judge: Judge = JUDGES.build(settings.judge)

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        """A ruling for each case, in order."""
        return self.judge.rule(cases)

    def __repr__(self) -> str:
        """What the dashboard and the logs show."""
        return f"{self.experiment.name}/judge-{self.name}"


class JudgePool:
    """What a defence sees of the service. A worker that does not answer in time, or died, is a ruling of its
    own kind and never a "no".
    """

    CASES = 64
    """In one call of a worker: enough to fill a batch, few enough to spread over the pool."""

    def __init__(self, workers: Sequence[Any], deadline_seconds: float):
        self.workers, self.deadline_seconds = list(workers), deadline_seconds

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        """A ruling for each case, in order; chunk i goes to worker i modulo the pool's size."""
        chunks = [cases[i : i + self.CASES] for i in range(0, len(cases), self.CASES)]
        answers = [self.workers[i % len(self.workers)].rule.remote(chunk) for i, chunk in enumerate(chunks)]
        end = time.monotonic() + self.deadline_seconds
        rulings: list[Ruling] = []
        for answer, chunk in zip(answers, chunks, strict=True):
            try:
                rulings += ray.get(answer, timeout=max(0.0, end - time.monotonic()))
            except GetTimeoutError:
                rulings += [Ruling("timeout", "", self.deadline_seconds, None)] * len(chunk)
            except RayActorError as error:
                rulings += [Ruling("error", type(error).__name__, 0.0, None)] * len(chunk)
        return rulings
