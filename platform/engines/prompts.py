"""Left-padded prompts, each computed once however often it is repeated."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class PromptBatch:
    """Distinct prompts of a batch, padded on the left to [u, P].

    mask: [u, P], 1 on tokens. lengths: [u]. rows: [n], which distinct prompt row i of the batch has.
    """

    ids: torch.Tensor
    mask: torch.Tensor
    lengths: torch.Tensor
    rows: torch.Tensor

    @property
    def positions(self) -> torch.Tensor:
        return (self.mask.cumsum(-1) - 1).clamp_(min=0)


def left_pad(prompts: Sequence[Sequence[int]], pad: int) -> PromptBatch:
    """Batch token ids of prompts; equal prompts become one row."""
    distinct: dict[tuple[int, ...], int] = {}
    rows = [distinct.setdefault(tuple(prompt), len(distinct)) for prompt in prompts]
    longest = max(map(len, distinct))
    ids = torch.full((len(distinct), longest), pad)
    mask = torch.zeros((len(distinct), longest), dtype=torch.long)
    for row, prompt in enumerate(distinct):
        ids[row, longest - len(prompt) :] = torch.tensor(prompt)
        mask[row, longest - len(prompt) :] = 1
    return PromptBatch(ids, mask, mask.sum(-1), torch.tensor(rows))


def prefill(model: Any, batch: PromptBatch) -> tuple[torch.Tensor, Any]:
    """Run the prompts and spread the cache over the rows: ([n, H] hidden state of each last prompt token,
    cache).
    """
    output = model.get_decoder()(
        input_ids=batch.ids,
        attention_mask=batch.mask,
        position_ids=batch.positions,
        use_cache=True,
    )
    cache = output.past_key_values
    cache.batch_select_indices(batch.rows)
    return output.last_hidden_state[:, -1].index_select(0, batch.rows), cache
