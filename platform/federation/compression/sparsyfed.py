"""SparsyFed's uplink: a fixed share of the pseudo-gradient."""

from math import ceil
from typing import Literal

from pydantic import Field

from turncoat.platform.federation.compression.base import Compressor, Difference, Vector
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.largest import largest_of
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import Kinded


class SparsyFed(Compressor):
    """Send the top (1 - sparsity) of the pseudo-gradient, in float32.

    Source: Guastella et al. 2025, arXiv 2504.05153. What makes updates sparse in the first place, the
    re-parameterisation w = v · |v|^(power-1), takes place in the client's learner, which reads `power`.
    """

    class Settings(Kinded):
        kind: Literal["sparsyfed"] = "sparsyfed"
        sparsity: float = Field(0.95, ge=0, lt=1)
        """Share of the entries that is not sent; the paper goes up to 0.95."""
        power: float = Field(1.25, ge=1)
        """Exponent of the re-parameterisation; 1: none."""

    settings: Settings

    @property
    def coding(self) -> str | None:
        return "fp32"

    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        length = len(base)
        count = ceil((1 - self.settings.sparsity) * length)
        return Sparse(length, *largest_of(Difference(trained, base, feedback), length, count))
