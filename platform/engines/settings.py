"""Settings of the engines that ship, apart from the engines, so that reading a config imports no torch."""

from typing import Literal

from pydantic import Field

from turncoat.platform.registry import Kinded


class TransformersSettings(Kinded):
    kind: Literal["transformers"] = "transformers"
    dtype: Literal["float32", "bfloat16"] | None = None
    """Sample in this precision, from a copy of the weights that follows every update. Unset: from the
    learner's own.
    """
    batch_size: int = Field(128, ge=1)
    """Rows that are generated together. Part of the result: another batch shape may round differently."""
