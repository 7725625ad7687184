"""A client counts as much as it is right, within its task; tasks have shares of their own."""

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from turncoat.platform.federation.signals import Signal
from turncoat.platform.federation.weights.base import Aggregator, AggregatorSettings


class TaskAccuracy(Aggregator):
    """FedMOA-style weights by accuracy within each task: an approximation.

    w_k = π_task · n_k acc_k / Σ over the task's clients of n_j acc_j. A client that reports no accuracy is
    taken at its mean reward μ_k. FedMOA's own formula is not public to us: results under this name are not
    FedMOA's. The accuracy is the client's own word.
    """

    class Settings(AggregatorSettings):
        kind: Literal["task_accuracy"] = "task_accuracy"
        tasks: list[str] = Field(default=[])
        """The task of each client, by its index. Clients beyond the list share one more task."""
        priors: dict[str, Annotated[float, Field(ge=0)]] = Field(default={})
        """π: what each task counts. A task that is not named counts 1; they need not sum to 1."""

        @model_validator(mode="after")
        def priors_are_of_tasks(self) -> "TaskAccuracy.Settings":
            unknown = sorted(set(self.priors) - set(self.tasks))
            if unknown:
                known = ", ".join(sorted(set(self.tasks))) or "none: tasks is empty"
                raise ValueError(f"priors names {unknown[0]!r}; allowed are the names in tasks: {known}")
            return self

    settings: Settings

    def shares(self, signals: Sequence[Signal]) -> NDArray[np.float64]:
        right = np.array(
            [max(0.0, one.mu if one.accuracy is None else one.accuracy) * one.n for one in signals]
        )
        tasks = np.array([self._task(signal.client) for signal in signals])
        shares = np.zeros(len(signals))
        for task in sorted(set(tasks.tolist())):
            members = tasks == task
            if right[members].any():
                prior = self.settings.priors.get(task, 1.0)
                shares[members] = prior * (right[members] / right[members].sum())
        return shares

    def _task(self, client: int) -> str:
        tasks = self.settings.tasks
        return tasks[client] if client < len(tasks) else ""
