"""No attack: every peer is honest."""

from collections.abc import Sequence
from typing import Literal

from turncoat.platform.attacks.base import Attack, Stage
from turncoat.platform.records import Completion, Request, Truth
from turncoat.platform.registry import Kinded


class NoAttack(Attack):
    """Honest completions only; the reference that attacks are measured against."""

    class Settings(Kinded):
        kind: Literal["none"] = "none"

    def poison(self, requests: Sequence[Request], stage: Stage) -> list[tuple[Completion, Truth]]:
        return stage.honest(requests)
