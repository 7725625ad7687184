"""The embedded engine: a Hugging Face causal LM in this process, one thread on CPU."""

import copy
from collections.abc import Sequence
from typing import Any

import torch

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.base import Generated
from turncoat.platform.engines.prompts import left_pad, prefill
from turncoat.platform.engines.sampling import draw, uniforms
from turncoat.platform.engines.settings import TransformersSettings


class TransformersEngine:
    """Batched sampling with a key-value cache; shares its weights with the learner of the same process."""

    Settings = TransformersSettings

    def __init__(self, settings: TransformersSettings, model: Any, tokenizer: Any):
        self.settings = settings
        self.source = model
        self.model = (
            model if settings.dtype is None else copy.deepcopy(model).to(getattr(torch, settings.dtype))
        )
        self.tokenizer = tokenizer

    def refresh(self) -> None:
        """Bring a copy in another precision to the weights that it was made from; sharing needs nothing."""
        if self.model is not self.source:
            with torch.no_grad():
                for mine, theirs in zip(self.model.parameters(), self.source.parameters(), strict=True):
                    mine.copy_(theirs)

    def generate(self, prompts: Sequence[str], seeds: Sequence[int], sampling: Sampling) -> list[Generated]:
        """Sample one completion per prompt; row i is driven by seeds[i]."""
        tokenized = {
            text: self.tokenizer(text, add_special_tokens=False).input_ids for text in dict.fromkeys(prompts)
        }
        generated: list[Generated] = []
        for start in range(0, len(prompts), self.settings.batch_size):
            rows = slice(start, start + self.settings.batch_size)
            generated += self._batch([tokenized[text] for text in prompts[rows]], list(seeds[rows]), sampling)
        return generated

    @torch.inference_mode()
    def _batch(self, prompts: list[list[int]], seeds: list[int], sampling: Sampling) -> list[Generated]:
        end = self.tokenizer.eos_token_id
        decoder, head = self.model.get_decoder(), self.model.get_output_embeddings()
        batch = left_pad(prompts, self.tokenizer.pad_token_id)
        chance = uniforms(seeds, sampling.max_new_tokens)
        hidden, cache = prefill(self.model, batch)
        mask = batch.mask.index_select(0, batch.rows)
        position = batch.lengths.index_select(0, batch.rows)
        sampled: list[list[int]] = [[] for _ in prompts]
        alive = torch.arange(len(prompts))
        for step in range(sampling.max_new_tokens):
            tokens = draw(head(hidden), chance[alive, step], sampling)
            for row, token in zip(alive.tolist(), tokens.tolist(), strict=True):
                sampled[row].append(token)
            going = (tokens != end).nonzero().squeeze(-1)
            if step + 1 == sampling.max_new_tokens or not len(going):
                break
            if len(going) < len(alive):
                # Finished rows leave the batch, so that one long completion does not cost a whole batch's
                # steps.
                cache.batch_select_indices(going)
                alive, tokens, mask, position = alive[going], tokens[going], mask[going], position[going]
            mask = torch.cat([mask, mask.new_ones(len(alive), 1)], dim=-1)
            output = decoder(
                input_ids=tokens.unsqueeze(-1),
                attention_mask=mask,
                position_ids=position.unsqueeze(-1),
                past_key_values=cache,
                use_cache=True,
            )
            hidden = output.last_hidden_state[:, -1]
            position = position + 1
        return [self._finish(row, end) for row in sampled]

    def _finish(self, tokens: list[int], end: int) -> Generated:
        finished = tokens[-1] == end
        text = self.tokenizer.decode(tokens[:-1] if finished else tokens, skip_special_tokens=True)
        return Generated(text, finished, len(tokens))
