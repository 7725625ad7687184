"""If these fail, policies are sampled from another distribution than the recipe says, or no draw can be
replayed."""

import numpy as np
import pytest
import torch

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.sampling import draw, uniforms

LAST = 1 - 2**-53
"""The largest uniform that a generator returns."""


def exact(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """The distribution by its definition: temperature, then the top k, then the smallest set that holds
    top_p."""
    scaled = logits.astype(np.float64) / sampling.temperature
    order = np.argsort(-scaled, kind="stable")
    p = np.zeros(len(logits))
    kept = order[: sampling.top_k or len(logits)]
    p[kept] = np.exp(scaled[kept] - scaled.max())
    p /= p.sum()
    held, nucleus = 0.0, []
    for token in kept:
        if held >= sampling.top_p:
            break
        nucleus.append(token)
        held += p[token]
    cut = np.zeros_like(p)
    cut[nucleus] = p[nucleus]
    return cut / cut.sum()


def test_a_row_of_uniforms_depends_on_its_own_seed():
    """Else nobody could replay one completion without the whole batch."""
    together = uniforms([5, 2**62, 7], 9)
    assert together.shape == (3, 9)
    assert torch.equal(uniforms([7], 9)[0], together[2])
    assert torch.equal(uniforms([2**62, 5], 9), together[[1, 0]])
    assert torch.equal(uniforms([5], 4)[0], together[0, :4])
    assert ((together >= 0) & (together < 1)).all()


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0, top_k=0),
        Sampling(temperature=0.6, top_k=5),
        Sampling(temperature=1.7, top_k=0, top_p=0.8),
        Sampling(temperature=1.0, top_k=8, top_p=0.9),
    ],
)
def test_tokens_are_drawn_as_often_as_their_probability_says(sampling: Sampling):
    """A sampler that is a little off moves every reward, and makes the support check reject the honest."""
    n, logits = 20_000, np.random.default_rng(3).normal(0, 1.5, 12).astype(np.float32)
    expected = exact(logits, sampling)
    drawn = draw(torch.from_numpy(logits).expand(n, -1), uniforms([11], n)[0], sampling)
    counts = np.bincount(drawn.numpy(), minlength=12)
    assert counts[expected == 0].sum() == 0
    possible = expected > 0
    chi_square = ((counts - n * expected)[possible] ** 2 / (n * expected[possible])).sum()
    assert chi_square < 40  # at most 11 degrees of freedom: p = 0.00004


@pytest.mark.parametrize("uniform", [0.0, 0.5, LAST])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_no_draw_leaves_the_support(uniform: float, dtype: torch.dtype):
    """One token beyond the top k in a million would have an honest completion rejected."""
    logits = torch.randn(200, 50, generator=torch.Generator().manual_seed(0)).mul(4).to(dtype)
    chance = torch.full((200,), uniform, dtype=torch.float64)
    drawn = draw(logits, chance, Sampling(top_k=7))
    above = (logits > logits.gather(1, drawn.unsqueeze(1))).sum(1)
    assert (above < 7).all()
    nucleus = draw(logits, chance, Sampling(top_k=7, top_p=0.5))
    for row, token in zip(logits.float().numpy(), nucleus.tolist(), strict=True):
        tied = np.isclose(row, row[token])
        assert exact(row, Sampling(top_k=7, top_p=0.5))[tied].max() > 0


def test_a_nucleus_or_temperature_near_zero_is_greedy():
    """The smallest nucleus holds the most probable token, whatever its probability."""
    logits = torch.randn(50, 30, generator=torch.Generator().manual_seed(1))
    chance = uniforms([4], 50)[0]
    best = logits.argmax(1)
    assert torch.equal(draw(logits, chance, Sampling(top_k=0, top_p=1e-9)), best)
    assert torch.equal(draw(logits, chance, Sampling(top_k=0, temperature=1e-4)), best)
    assert torch.equal(draw(logits, chance, Sampling(top_k=1)), best)


def test_a_top_k_beyond_the_vocabulary_is_all_of_it():
    """A recipe for a large vocabulary must run on a small one."""
    logits, chance = torch.zeros(3, 4), torch.tensor([0.0, 0.5, LAST], dtype=torch.float64)
    assert len(set(draw(logits, chance, Sampling(top_k=99)).tolist())) == 3
