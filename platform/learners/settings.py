"""Settings of the learners that ship, apart from the learners, so that reading a config imports no torch."""

from typing import Literal

from pydantic import Field

from turncoat.platform.registry import Kinded


class TorchSettings(Kinded):
    kind: Literal["torch"] = "torch"
    tokens_per_batch: int = Field(2048, ge=1)
    """Padded completion tokens of one forward pass. A matter of memory: gradients add up to the same sum.

    On CPU the activations of few tokens stay in its cache, a fifth faster than 8192; accelerators like more.
    """
