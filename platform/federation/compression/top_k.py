"""Send the entries of largest magnitude."""

from math import ceil
from typing import Literal

from pydantic import Field, model_validator

from turncoat.platform.federation.compression.base import Compressor, Difference, Vector
from turncoat.platform.federation.compression.bits import quantised
from turncoat.platform.federation.compression.dense import in_bf16
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.compression.largest import largest_of
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.registry import Kinded


class TopK(Compressor):
    """Send the k entries of the difference that are largest in magnitude; zeros are never sent."""

    class Settings(Kinded):
        kind: Literal["top_k"] = "top_k"
        share: float = Field(0.05, gt=0, le=1)
        """k as a share of all entries, rounded up."""
        entries: int | None = Field(None, ge=1)
        """k itself, in place of `share`."""
        values: Literal["fp32", "bf16", "bits"] = "bf16"
        bits: int = Field(4, ge=1, le=8)
        """Bits of a value where `values` is `bits`, its sign included."""
        group: int = Field(256, ge=1, le=1 << 20)
        """How many entries share the two scales of `bits`."""

        @model_validator(mode="after")
        def one_k(self) -> "TopK.Settings":
            # A config that was written out names every field: `share` at its default is not a second wish.
            default = type(self).model_fields["share"].default
            if self.entries is not None and self.share != default:
                raise ValueError(
                    f"share is {self.share} and entries is {self.entries}; allowed is one of them"
                )
            return self

    settings: Settings

    @property
    def coding(self) -> str | None:
        return self.settings.values

    @property
    def bits(self) -> tuple[int, int] | None:
        return (self.settings.bits, self.settings.group) if self.settings.values == "bits" else None

    def offer(self, trained: Vector, base: Vector, feedback: ErrorFeedback | None = None) -> Sparse:
        length = len(base)
        count = min(self.settings.entries or ceil(self.settings.share * length), length)
        return Sparse(length, *largest_of(Difference(trained, base, feedback), length, count))

    def rounded(self, update: Sparse) -> Sparse:
        if self.settings.values == "bits":
            return quantised(update, self.settings.bits, self.settings.group)
        return in_bf16(update) if self.settings.values == "bf16" else update
