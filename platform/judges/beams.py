"""Sampled beam search, batched, where each row's draw follows from its own seed.

The library's own version draws all rows from one global stream, so that a verdict would depend on which cases
happen to be judged together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from turncoat.platform.engines.prompts import left_pad, prefill
from turncoat.platform.engines.sampling import uniforms

NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Search:
    """How to search. top_k 0: all tokens. end: the token that ends a text; pad: any."""

    beams: int
    temperature: float
    top_k: int
    top_p: float
    max_new_tokens: int
    end: int
    pad: int


@dataclass(frozen=True, slots=True)
class Found:
    """The best text of one row. tokens: without the end. watched: [t] for each token, the probability of the
    first watched set against the second at its place, at temperature 1.
    """

    tokens: list[int]
    finished: bool
    watched: list[float]


class Row:
    """What one row has finished so far, and the best of it by mean log-probability."""

    def __init__(self) -> None:
        self.count = 0
        self.best = (False, NEVER)
        self.found = Found([], False, [])

    def offer(self, mean: float, found: Found) -> None:
        """Any text that met its end is better than one that ran out of length."""
        self.count += found.finished
        if (found.finished, mean) > self.best:
            self.best, self.found = (found.finished, mean), found


@torch.inference_mode()
def beam_sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    seeds: Sequence[int],
    search: Search,
    watch: tuple[Sequence[int], Sequence[int]],
) -> list[Found]:
    """One text per prompt. Row i is driven by seeds[i] alone.

    Each step draws 2 x beams continuations without replacement from the beams' joint distribution (Gumbel
    top-k, Kool et al. 2019, arXiv 1903.06059), each beam's own cut to top_k and top_p; the likeliest
    unfinished ones go on. A row ends when `beams` of its texts have met their end; the one with the highest
    mean log-probability is taken ("beam-search multinomial sampling" of the transformers library). One beam
    is plain sampling.
    """
    beams, n = search.beams, len(prompts)
    head = model.get_output_embeddings()
    k = min(search.top_k or head.out_features, head.out_features)
    batch = left_pad(prompts, search.pad)
    hidden, cache = prefill(model, batch)
    chance = uniforms(list(seeds), search.max_new_tokens * beams * k).clamp_(min=1e-300)  # 0 has no logarithm
    noise = -torch.log(-torch.log(chance)).view(n, search.max_new_tokens, beams * k)
    rows = [Row() for _ in prompts]
    alive = torch.arange(n)
    width = 1  # beams of a row so far
    score = torch.zeros(n, 1, dtype=torch.float64)
    tokens = torch.zeros(n, 1, 0, dtype=torch.long)
    watched = torch.zeros(n, 1, 0)
    mask = batch.mask.index_select(0, batch.rows)
    position = batch.lengths.index_select(0, batch.rows)
    for step in range(search.max_new_tokens):
        logits = head(hidden).float()
        seen = _share(logits, watch).view(len(alive), width)
        values, ids = _cut(logits, k, search)
        joint = (score.unsqueeze(-1) + values.view(len(alive), width, k)).flatten(1)
        draws = min(1 if beams == 1 else 2 * beams, width * k)
        drawn = (joint + noise[alive, step, : width * k]).topk(draws).indices
        joint, parent = joint.gather(1, drawn), drawn // k
        token = ids.view(len(alive), width * k).gather(1, drawn)
        last = step + 1 == search.max_new_tokens
        ended = (token == search.end) | last
        for row, spot in (ended & (joint > NEVER)).nonzero().tolist():
            beam = int(parent[row, spot])
            finished = int(token[row, spot]) == search.end
            said = tokens[row, beam].tolist() + ([] if finished else [int(token[row, spot])])
            shares = [*watched[row, beam].tolist(), float(seen[row, beam])][: len(said)]
            rows[int(alive[row])].offer(float(joint[row, spot]) / (step + 1), Found(said, finished, shares))
        score, order = joint.masked_fill(ended, NEVER).topk(min(beams, draws))
        done = torch.tensor([rows[row].count >= beams for row in alive.tolist()])
        going = (~done & (score[:, 0] > NEVER)).nonzero().squeeze(-1)
        if not len(going):
            break
        score, order = score[going], order[going]
        parent, token = parent[going].gather(1, order), token[going].gather(1, order)
        source = (going.unsqueeze(-1) * width + parent).flatten()
        tokens = torch.cat([tokens.flatten(0, 1)[source], token.view(-1, 1)], -1).unflatten(0, order.shape)
        watched = torch.cat([watched.flatten(0, 1)[source], seen.view(-1, 1)[source]], -1)
        watched = watched.unflatten(0, order.shape)
        alive, width = alive[going], order.shape[1]
        cache.batch_select_indices(source)
        mask, position = mask[source], position[source]
        mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=-1)
        output = model.get_decoder()(
            input_ids=token.view(-1, 1),
            attention_mask=mask,
            position_ids=position.unsqueeze(-1),
            past_key_values=cache,
            use_cache=True,
        )
        hidden = output.last_hidden_state[:, -1]
        position = position + 1
    return [row.found for row in rows]


def _cut(logits: torch.Tensor, k: int, search: Search) -> tuple[torch.Tensor, torch.Tensor]:
    """([b, k] log-probabilities of the tokens that may be sampled, -inf outside top_p; [b, k] their ids)."""
    values, ids = torch.topk(logits / search.temperature, k)
    logprobs = torch.log_softmax(values.double(), -1)
    if search.top_p < 1:
        probabilities = logprobs.exp()
        outside = probabilities.cumsum(-1) - probabilities >= search.top_p
        logprobs = torch.log_softmax(logprobs.masked_fill(outside, NEVER), -1)
    return logprobs, ids


def _share(logits: torch.Tensor, watch: tuple[Sequence[int], Sequence[int]]) -> torch.Tensor:
    """[b] probability of the first set of tokens, given that either set's come next."""
    first, second = (logits[:, list(ids)].logsumexp(-1) for ids in watch)
    return torch.sigmoid(first - second)
