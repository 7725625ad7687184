"""Settings of the judge that needs torch, apart from it, so that reading a config imports no torch."""

from typing import Literal

from pydantic import Field

from turncoat.platform.judges.base import JudgeSettings


class ModelJudgeSettings(JudgeSettings):
    kind: Literal["model"] = "model"
    name_or_path: str = "tiny-judge"
    """A bundled model, a saved model's folder, or owner/name on the Hugging Face hub. Models with a chat
    template get instructions and two examples; others the layout that the tiny judge was trained on."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    top_k: int = Field(10, ge=0)
    """Tokens that may be sampled at each place; 0 means all of them."""
    beams: int = Field(3, ge=1, le=16)
    """Width of the sampled beam search; 1 is plain sampling. With top_k 1 that is greedy."""
    batch_size: int = Field(64, ge=1)
    """Cases that are judged together. Part of the result: another batch shape may round differently."""
