"""All actors of one run: placed in its group, named, waited for, and ended together."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import ray

from turncoat.actors.cluster import wait_for_name
from turncoat.actors.placement import release, reserve, within
from turncoat.actors.waiting import wait_for
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.plan import plan_of

LIMIT = "hardware.deadline_seconds"

START_SECONDS = 300.0
"""How long actors may take at least to start: the first on a node imports torch and loads its policy."""

GONE_SECONDS = 30.0
"""How long the actors of a killed attempt may take to end."""


class Ensemble(ABC):
    """Reserves the placement group of an experiment; a subclass creates the actors in it, in `_start`.

    Actors are named `<run>/<member>/<role>` and not detached: they end with the driver. Call `close`, or use
    it as a context manager. stop: when set, every wait ends with CalledOff.
    """

    def __init__(self, experiment: Experiment | Federated, run: str, stop: threading.Event):
        self.run, self.stop = run, stop
        self.seconds = experiment.hardware.deadline_seconds
        # Within a Tune trial the trial's own group is this experiment's plan, and goes with the trial.
        self.lent = ray.util.get_current_placement_group()
        self.group = self.lent or reserve(plan_of(experiment), run, experiment.hardware.wait_seconds, stop)
        self.actors: dict[str, Any] = {}

    def __enter__(self) -> Self:
        """Start the actors, or leave none behind."""
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all actors and give the resources back."""
        if not ray.is_initialized():
            return
        # The group's end ends them too, but their names stay taken where somebody still holds their handles.
        for actor in self.actors.values():
            ray.kill(actor)
        if self.lent is None:
            release(self.group)

    @abstractmethod
    def _start(self) -> None:
        """Create all actors and wait until they can work."""

    def _place(self, cls: type, name: str, bundle: int, cpus: float, gpus: float, *arguments: Any) -> Any:
        """An actor of `cls` in one bundle of the group, under a name that a former attempt may still hold."""
        wait_for_name(f"{self.run}/{name}", GONE_SECONDS)
        self.actors[name] = (
            ray.remote(cls)
            .options(
                name=f"{self.run}/{name}",
                num_cpus=cpus,
                num_gpus=gpus,
                scheduling_strategy=within(self.group, bundle),
            )
            .remote(*arguments)
        )
        return self.actors[name]

    def _wait(self, answers: Mapping[str, Any], what: str) -> dict[str, Any]:
        return wait_for(answers, what, self.seconds, LIMIT, self.stop)

    def _wait_for_start(self, answers: Mapping[str, Any], what: str) -> None:
        limit = f"{LIMIT}, {START_SECONDS:g} at least"
        wait_for(answers, what, max(START_SECONDS, self.seconds), limit, self.stop)
