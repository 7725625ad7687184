"""The one forward pass of a round: log-probabilities for the loss, and evidence for the defences."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import cross_entropy

from turncoat.platform.engines.prompts import left_pad, prefill
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.packing import right_pad


def completion_logprobs(
    model: Any, rows: Sequence[Row], pad: int, temperature: float, ranks: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Log-probabilities of the completions' tokens given their prompts, with gradient if the caller records
    one.

    Returns (logprobs [n, T], mask [n, T] bool, ranks [n, T] int32 or [n, 0]). A prompt that several rows
    share is computed once, forwards and backwards, and its keys and values are spread over them; the head
    runs on completion tokens only, not on prompts or padding.
    """
    tokens, mask = right_pad([row.completion for row in rows], pad)
    batch = left_pad([row.prompt for row in rows], pad)
    hidden, cache = prefill(model, batch)
    states = hidden.unsqueeze(1)
    if tokens.shape[1] > 1:
        inputs = tokens[:, :-1]
        start = batch.lengths.index_select(0, batch.rows).unsqueeze(1)
        prompt_mask = batch.mask.index_select(0, batch.rows)
        output = model.get_decoder()(
            input_ids=inputs,
            attention_mask=torch.cat([prompt_mask, torch.ones_like(inputs)], dim=1),
            position_ids=start + torch.arange(inputs.shape[1]),
            past_key_values=cache,
            use_cache=True,
        )
        states = torch.cat([states, output.last_hidden_state], dim=1)
    logits = model.get_output_embeddings()(states[mask]).float()
    targets = tokens[mask]
    flat = -cross_entropy(logits / temperature if temperature != 1 else logits, targets, reduction="none")
    logprobs = flat.new_zeros(mask.shape).masked_scatter(mask, flat)
    if not ranks:
        return logprobs, mask, mask.new_zeros((len(rows), 0), dtype=torch.int32)
    with torch.no_grad():
        above = (logits > logits.gather(1, targets.unsqueeze(1))).sum(-1, dtype=torch.int32)
    return logprobs, mask, above.new_zeros(mask.shape).masked_scatter(mask, above)
