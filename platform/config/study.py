"""A study: one experiment under several arms and seeds, side by side; a grid spells arms out as a product."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.registry import Settings, nearest

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
"""Of a study and of its arms, which name folders and, joined by a hyphen, runs."""
LEVEL = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$"
"""Of a grid's factors and levels: no dot, which joins levels to the name of an arm."""

Name = Annotated[str, Field(pattern=NAME)]
Level = Annotated[str, Field(pattern=LEVEL)]
Seed = Annotated[int, Field(ge=0)]


class Study(Settings):
    """Every arm with every seed is a whole run of its own; finished runs are not repeated on resume."""

    kind: Literal["study"] = "study"
    name: str = Field("study", pattern=NAME)
    experiment: dict[str, Any]
    """What all arms share: an experiment, as in a recipe of its own."""
    arms: dict[Name, list[str]] = Field(default={})
    """Name of the arm -> what it changes, as on the command line: ["attack=none", "peers.malicious=0"]."""
    grid: dict[Level, dict[Level, list[str]]] = Field(default={})
    """Two or more factors, e.g. attack and defence -> level -> what it changes. Each combination is an arm,
    `text.support`; the changes of the first factor come first."""
    skip: dict[str, str] = Field(default={})
    """Cells of the grid that make no sense -> why. Patterns are allowed: "*.replay"."""
    seeds: list[Seed] = Field(default=[0], min_length=1)
    seeds_of: dict[str, list[Seed]] = Field(default={})
    """Arms, patterns allowed -> seeds that they have besides `seeds`. A baseline has those of its arms too.
    """
    baseline: str | dict[Level, str] | None = None
    """The arm without attack: its final accuracy is the others' `baseline.clean_accuracy`, seed by seed.
    With a grid also: level of the first factor -> arm, since attacks may differ in task and topology."""
    concurrency: int = Field(2, ge=1)
    """How many runs go on at a time."""
    keep: Literal["all", "results"] = "all"
    """results: delete the checkpoints of a run once it is finished. Its report, curves and comparisons need
    none; `turncoat eval` and `turncoat export` do."""

    @model_validator(mode="after")
    def fields_agree(self) -> "Study":
        for key in ("seed", "name"):
            if key in self.experiment:
                raise ValueError(f"experiment.{key} is set by the study itself: leave it out")
        for factor, levels in self.grid.items():
            if len(self.grid) < 2 or not levels:
                raise ValueError(
                    f"grid.{factor} has {len(levels)} levels in a grid of {len(self.grid)} factors: "
                    "allowed are two factors or more, with a level or more each"
                )
        for pattern in self.skip:
            matched(pattern, self.cells, "skip")
        if not self.all_arms:
            raise ValueError("arms is {}: allowed is one or more, of its own or by a grid")
        if twice := sorted(set(self.arms) & set(self.cells)):
            raise ValueError(f"arms.{twice[0]} is a cell of the grid too: allowed is another name")
        for pattern in self.seeds_of:
            matched(pattern, self.all_arms, "seeds_of")
        for where, seeds in (
            ("seeds", self.seeds),
            *((f"seeds_of.{k}", v) for k, v in self.seeds_of.items()),
        ):
            if len(set(seeds)) < len(seeds):
                raise ValueError(f"{where} is {seeds}: allowed is each seed once")
        self._check_baseline()
        for arm in self.all_arms:
            self.run_of(arm, self.seeds[0])
        return self

    def _check_baseline(self) -> None:
        if isinstance(self.baseline, dict):
            levels = list(next(iter(self.grid.values()), {}))
            for level in self.baseline:
                if level not in levels:
                    raise ValueError(
                        f"baseline holds {level!r}{nearest(level, levels or ['no level: no grid'])}"
                    )
            named = {f"baseline.{level}": arm for level, arm in self.baseline.items()}
        else:
            named = {"baseline": self.baseline} if self.baseline is not None else {}
        for where, arm in named.items():
            if arm not in self.all_arms:
                raise ValueError(f"{where} is {arm!r}: allowed are the arms {', '.join(self.all_arms)}")

    @cached_property
    def cells(self) -> dict[str, tuple[str, ...]]:
        """Every combination of the grid's levels, skipped ones too: name -> level of each factor."""
        return {".".join(levels): levels for levels in product(*self.grid.values())} if self.grid else {}

    @cached_property
    def skipped(self) -> dict[str, str]:
        """Cells that are left out -> why."""
        return {
            cell: reason
            for cell in self.cells
            for pattern, reason in reversed(self.skip.items())
            if fnmatchcase(cell, pattern)
        }

    @cached_property
    def all_arms(self) -> dict[str, list[str]]:
        """The arms, then the grid's cells that are not skipped: name -> what it changes."""
        return self.arms | {
            cell: [
                change
                for factor, level in zip(self.grid.values(), levels, strict=True)
                for change in factor[level]
            ]
            for cell, levels in self.cells.items()
            if cell not in self.skipped
        }

    def baseline_of(self, arm: str) -> str | None:
        """The arm whose accuracy and length without attack this arm is compared with."""
        found = self.baseline
        if isinstance(found, dict):
            found = found.get(self.cells[arm][0]) if arm in self.cells else None
        return found if found != arm else None

    def seeds_for(self, arm: str) -> list[int]:
        """The seeds of an arm, ascending after `seeds`: its own, and those of the arms whose baseline it
        is.
        """
        mine = [arm, *(other for other in self.all_arms if self.baseline_of(other) == arm)]
        more = {
            seed
            for pattern, seeds in self.seeds_of.items()
            if any(fnmatchcase(one, pattern) for one in mine)
            for seed in seeds
        }
        return [*self.seeds, *sorted(more - set(self.seeds))]

    def runs(self) -> list[tuple[str, int]]:
        """Every (arm, seed), the first seeds of all arms first: a study that is cut short has a whole
        table.
        """
        seeds = {arm: self.seeds_for(arm) for arm in self.all_arms}
        most = max(map(len, seeds.values()))
        return [(arm, own[i]) for i in range(most) for arm, own in seeds.items() if i < len(own)]

    def run_of(self, arm: str, seed: int) -> Experiment:
        """The experiment of one arm and seed. Raises ConfigError, which names the arm, where it is none."""
        from turncoat.platform.config.errors import ConfigError
        from turncoat.platform.config.loading import parse

        own = {"seed": seed, "name": f"{self.name}-{arm}"}
        where = f"arms.{arm}" if arm in self.arms else f"grid, {arm}"
        try:
            experiment = parse({**self.experiment, **own}, self.all_arms[arm])
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from error
        for key, value in own.items():
            if getattr(experiment, key) != value:
                raise ConfigError(f"{where}: {key} is set by the study itself: leave it out")
        return experiment


def matched(pattern: str, names: Iterable[str], field: str) -> list[str]:
    """The names that `pattern` fits. Raises ValueError for none: most likely it is misspelt."""
    found = [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise ValueError(f"{field} holds {pattern!r}, which fits nothing{nearest(pattern, list(names))}")
    return found
