"""A study: one experiment under several arms and seeds, side by side."""

from typing import Any, Literal

from pydantic import Field, model_validator

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.registry import Settings


class Study(Settings):
    """Every arm with every seed is a whole run of its own; finished runs are not repeated on resume."""

    kind: Literal["study"] = "study"
    name: str = Field("study", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    experiment: dict[str, Any]
    """What all arms share: an experiment, as in a recipe of its own."""
    arms: dict[str, list[str]] = Field(min_length=1)
    """Name of the arm -> what it changes, as on the command line: ["attack.kind=none", "peers.malicious=0"]."""
    seeds: list[int] = Field(default=[0], min_length=1)
    baseline: str | None = None
    """The arm without attack: its final accuracy becomes the others' `baseline.clean_accuracy`, seed by seed."""
    concurrency: int = Field(2, ge=1)
    """How many runs go on at a time."""

    @model_validator(mode="after")
    def fields_agree(self) -> "Study":
        if self.baseline is not None and self.baseline not in self.arms:
            raise ValueError(f"baseline is {self.baseline!r}: allowed are the arms {', '.join(self.arms)}")
        for key in ("seed", "name"):
            if key in self.experiment:
                raise ValueError(f"experiment.{key} is set by the study itself: leave it out")
        for arm in self.arms:
            self.run_of(arm, self.seeds[0])
        return self

    def run_of(self, arm: str, seed: int) -> Experiment:
        """The experiment of one arm and seed. Raises ConfigError, which names the arm, where it is no experiment."""
        from turncoat.platform.config.errors import ConfigError
        from turncoat.platform.config.loading import parse

        try:
            experiment = parse(
                {**self.experiment, "kind": "decentralised", "seed": seed, "name": f"{self.name}-{arm}"[:64]},
                self.arms[arm],
            )
        except ConfigError as error:
            raise ConfigError(f"arms.{arm}: {error}") from error
        return experiment
