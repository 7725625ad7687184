"""No attack: every peer is honest."""

from collections.abc import Sequence
from typing import Literal

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage
from turncoat.platform.records import Request


class NoAttack(Attack):
    """Honest completions only; the reference that attacks are measured against."""

    class Settings(AttackSettings):
        kind: Literal["none"] = "none"

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        return stage.honest(requests)
