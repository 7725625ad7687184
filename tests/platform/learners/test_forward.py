"""If these fail, the loss trains on, and the defences judge by, probabilities that the policy does not
give."""

from typing import Any

import numpy as np
import pytest
import torch

from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.forward import completion_logprobs


def some_rows(seed: int = 0) -> list[Row]:
    """Prompts of several lengths, some shared, and completions of 0 to 9 tokens, not sorted by either."""
    rng = np.random.default_rng(seed)
    prompts = [tuple(rng.integers(2, 40, length).tolist()) for length in (3, 9, 5)]
    lengths = [4, 9, 1, 0, 7, 2, 9, 3]
    return [
        Row(CompletionId(1, i % 3, i, 0), prompts[i % 3], tuple(rng.integers(1, 40, length).tolist()))
        for i, length in enumerate(lengths)
    ]


@torch.no_grad()
def naive(model: Any, row: Row, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Log-probabilities and ranks of one completion in a pass of its own, without padding or cache."""
    if not row.completion:
        return torch.zeros(0), torch.zeros(0, dtype=torch.int32)
    logits = model(torch.tensor([row.prompt + row.completion])).logits[0, len(row.prompt) - 1 : -1].float()
    targets = torch.tensor(row.completion)[:, None]
    logprobs = torch.log_softmax(logits / temperature, -1).gather(1, targets)[:, 0]
    return logprobs, (logits > logits.gather(1, targets)).sum(1)


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_a_shared_padded_pass_equals_one_pass_per_completion(llama, temperature: float):
    """Sharing prompts and padding are for speed; they may not change a probability."""
    model, rows = llama(), some_rows()
    logprobs, mask, ranks = completion_logprobs(model, rows, 0, temperature, ranks=True)
    assert mask.sum(1).tolist() == [len(row.completion) for row in rows]
    for at, row in enumerate(rows):
        expected, above = naive(model, row, temperature)
        torch.testing.assert_close(logprobs[at][mask[at]], expected, atol=1e-5, rtol=0)
        assert ranks[at][mask[at]].tolist() == above.tolist()


def test_the_padding_s_token_does_not_matter(llama):
    """Some tokenizers pad with the end token."""
    model, rows = llama(), some_rows()
    zero, mask, _ = completion_logprobs(model, rows, 0, 1.0, ranks=False)
    nine, _, none = completion_logprobs(model, rows, 9, 1.0, ranks=False)
    assert torch.equal(zero[mask], nine[mask])
    assert none.shape == (len(rows), 0)


def test_only_empty_completions_cost_nothing_and_crash_nothing(llama):
    """A peer may send nothing but empty texts."""
    rows = [Row(CompletionId(1, 0, p, 0), (4, 5), ()) for p in range(3)]
    logprobs, mask, ranks = completion_logprobs(llama(), rows, 0, 1.0, ranks=True)
    assert not mask.any()
    assert (logprobs == 0).all()
    assert ranks.shape == mask.shape
