"""From what several defences say to one decision: any of them, all of them, or a weighted vote."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from turncoat.platform.registry import Settings


class Decision(Settings):
    """How the defences' objections to one completion add up."""

    rule: Literal["any", "all", "weighted"] = "any"
    weights: dict[str, Annotated[float, Field(ge=0)]] = Field(default={})
    """With "weighted": the vote of each defence, by its name or kind; 1 where it is left out."""
    threshold: float = Field(0.5, ge=0, lt=1)
    """With "weighted": a completion is rejected when the objecting share of all votes is above this."""

    def rejected(self, names: Sequence[str], objections: Mapping[str, bool]) -> bool:
        """names: all defences. objections: those that were asked -> whether they object."""
        if not names:
            return False
        if self.rule == "any":
            return any(objections.values())
        if self.rule == "all":
            return len(objections) == len(names) and all(objections.values())
        total = sum(self._weight(name) for name in names)
        against = sum(self._weight(name) for name, objects in objections.items() if objects)
        return against > self.threshold * total

    def settled(self, names: Sequence[str], objections: Mapping[str, bool]) -> bool:
        """Whether the defences not yet asked can no longer change the decision."""
        open = [name for name in names if name not in objections]
        return self.rejected(names, {**objections, **dict.fromkeys(open, False)}) == self.rejected(
            names, {**objections, **dict.fromkeys(open, True)}
        )

    def _weight(self, name: str) -> float:
        return self.weights.get(name, 1.0)
