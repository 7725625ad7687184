"""A study: one experiment under several arms and seeds, side by side."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.registry import Settings

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""Of a study and of its arms, which name folders and, joined by a hyphen, runs."""


class Study(Settings):
    """Every arm with every seed is a whole run of its own; finished runs are not repeated on resume."""

    kind: Literal["study"] = "study"
    name: str = Field("study", pattern=NAME)
    experiment: dict[str, Any]
    """What all arms share: an experiment, as in a recipe of its own."""
    arms: dict[Annotated[str, Field(pattern=NAME)], list[str]] = Field(min_length=1)
    """Name of the arm -> what it changes, as on the command line: ["attack=none", "peers.malicious=0"]."""
    seeds: list[Annotated[int, Field(ge=0)]] = Field(default=[0], min_length=1)
    baseline: str | None = None
    """The arm without attack: its final accuracy is the others' `baseline.clean_accuracy`, seed by seed."""
    concurrency: int = Field(2, ge=1)
    """How many runs go on at a time."""

    @model_validator(mode="after")
    def fields_agree(self) -> "Study":
        if self.baseline is not None and self.baseline not in self.arms:
            raise ValueError(f"baseline is {self.baseline!r}: allowed are the arms {', '.join(self.arms)}")
        for key in ("seed", "name"):
            if key in self.experiment:
                raise ValueError(f"experiment.{key} is set by the study itself: leave it out")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds is {self.seeds}: allowed is each seed once")
        for arm in self.arms:
            self.run_of(arm, self.seeds[0])
        return self

    def run_of(self, arm: str, seed: int) -> Experiment:
        """The experiment of one arm and seed. Raises ConfigError, which names the arm, where it is none."""
        from turncoat.platform.config.errors import ConfigError
        from turncoat.platform.config.loading import parse

        own = {"kind": "decentralised", "seed": seed, "name": f"{self.name}-{arm}"}
        try:
            experiment = parse({**self.experiment, **own}, self.arms[arm])
        except ConfigError as error:
            raise ConfigError(f"arms.{arm}: {error}") from error
        for key, value in own.items():
            if getattr(experiment, key) != value:
                raise ConfigError(f"arms.{arm}: {key} is set by the study itself: leave it out")
        return experiment
