"""What turncoat saves on real lengths and rewards: each saving switched off in turn; and the support check.

The switches live here and nowhere else: a user gets all savings always.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from ours import Ours
from work import Policies, Work

from turncoat.platform.engines import prompts as prompt_module
from turncoat.platform.engines import transformers as engine_module
from turncoat.platform.engines.prompts import PromptBatch
from turncoat.platform.learners import forward as forward_module
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.torch import TorchLearner
from turncoat.platform.receive import Receiver

THREE = "with support, surprisal and duplicate"


class EveryGroup(Receiver):
    """Passes forwards and backwards over groups without signal, too."""

    def _split(self, rows: Sequence[Row], *args: Any) -> tuple[list[Row], list[Row]]:
        return list(rows), []

    def _advantages(self, *args: Any) -> Any:
        gain, weight, live = super()._advantages(*args)
        return gain, weight, max(live, 1)


class AsTheyCome(TorchLearner):
    """As many parts as packing makes, of groups in the order of their prompts."""

    def parts(self, rows: Sequence[Row]) -> list[list[Row]]:
        packed = super().parts(rows)
        groups: dict[int, list[Row]] = {}
        for row in sorted(rows, key=lambda row: row.id):
            groups.setdefault(row.id.prompt, []).append(row)
        each = max(1, -(-len(groups) // max(1, len(packed))))
        order = list(groups.values())
        return [
            [row for group in order[start : start + each] for row in group]
            for start in range(0, len(order), each)
        ]


def left_pad_each(prompts: Sequence[Sequence[int]], pad: int) -> PromptBatch:
    """Every row has a prompt of its own, equal ones too."""
    batch = prompt_module.left_pad(prompts, pad)
    rows = batch.rows
    return PromptBatch(batch.ids[rows], batch.mask[rows], batch.lengths[rows], torch.arange(len(rows)))


@contextmanager
def prompts_apart() -> Iterator[None]:
    with ExitStack() as stack:
        for module in (engine_module, forward_module):
            stack.enter_context(patch.object(module, "left_pad", left_pad_each))
        yield


def variants(work: Work, policies: Policies) -> dict[str, Any]:
    """Name -> a callable that runs one round. All see equal prompts, seeds and (but for rounding) weights."""
    peers = {
        "turncoat": Ours(work, policies),
        "signal-free groups passed over": Ours(work, policies, receiver=EveryGroup),
        "not packed by length": Ours(work, policies, learner=AsTheyCome),
        "prompts not shared": Ours(work, policies),
        "none of the three": Ours(work, policies, receiver=EveryGroup, learner=AsTheyCome),
        "with support check": Ours(work, policies).guarded("support"),
        THREE: Ours(work, policies).guarded({"kind": "support", "threshold": 1}, "surprisal", "duplicate"),
    }
    apart = {"prompts not shared", "none of the three"}

    def runner(name: str) -> Any:
        peer = peers[name]

        def run() -> None:
            with prompts_apart() if name in apart else ExitStack():
                peer.step()
            peer.round += 1

        run.peer = peer
        return run

    return {name: runner(name) for name in peers}
