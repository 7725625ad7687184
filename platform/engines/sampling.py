"""Draw the next token of each row from its own stream of uniforms."""

import numpy as np
import torch

from turncoat.platform.config.experiment import Sampling


def uniforms(seeds: list[int], length: int) -> torch.Tensor:
    """[n, length] float64 uniforms in [0, 1). Row i depends on seeds[i] alone."""
    rows = [np.random.Generator(np.random.Philox(key=seed)).random(length) for seed in seeds]
    return torch.from_numpy(np.stack(rows))


def draw(logits: torch.Tensor, uniform: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Sample a token per row by inverting the cumulative distribution over the tokens sorted by probability.

    logits: [n, V]. uniform: [n] in [0, 1). Returns [n] token ids. Tokens outside the top k, then outside the
    smallest set that holds probability top_p, have probability 0.
    """
    k = min(sampling.top_k or logits.shape[-1], logits.shape[-1])
    values, tokens = torch.topk(logits.float() / sampling.temperature, k)
    probabilities = torch.softmax(values.double(), dim=-1)
    cumulative = probabilities.cumsum(-1)
    if sampling.top_p < 1:
        outside = cumulative - probabilities >= sampling.top_p
        cumulative = probabilities.masked_fill(outside, 0).cumsum(-1)
    target = uniform.unsqueeze(-1) * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, target, right=True).clamp_(max=k - 1)
    return tokens.gather(-1, index).squeeze(-1)
