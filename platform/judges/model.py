"""A language model in this process as the judge: the bundled tiny one, or any chat model."""

import time
from collections.abc import Sequence
from typing import Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.judges import prompt, verdict
from turncoat.platform.judges.base import MAX_KEPT_CHARS, Case, Judge, Ruling
from turncoat.platform.judges.beams import Found, Search, beam_sample
from turncoat.platform.judges.settings import ModelJudgeSettings
from turncoat.platform.policies.load import find_policy, load_policy
from turncoat.platform.policies.tokens import encode_foreign

MIN_ROOM = 32
"""Tokens that must be left for question and solution."""


class ModelJudge(Judge):
    """A causal language model that writes its criticism and its decision, by sampled beam search."""

    Settings = ModelJudgeSettings
    settings: ModelJudgeSettings

    def __init__(self, settings: ModelJudgeSettings, loaded: tuple[Any, Any] | None = None):
        """loaded: (model, tokenizer) to judge with, such as the policy itself; it is not copied.

        Raises BadInput if the model cannot be loaded, or leaves no room for a solution.
        """
        super().__init__(settings)
        if loaded is None:
            find_policy(settings.name_or_path, "judge.name_or_path")  # names the field in its errors
            loaded = load_policy(settings.name_or_path, settings.dtype)
        self.model, self.tokenizer = loaded
        context = getattr(self.model.config, "max_position_embeddings", None) or 1 << 20
        self.room = context - settings.max_new_tokens - self._length_of_ours()
        if self.room < MIN_ROOM:
            raise BadInput(
                f"max_new_tokens is {settings.max_new_tokens}: {settings.name_or_path!r} reads {context} "
                f"tokens, allowed are at most {settings.max_new_tokens + self.room - MIN_ROOM}"
            )
        self.watch = (self._spelling("yes"), self._spelling("no"))
        self.search = Search(
            beams=settings.beams,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
            max_new_tokens=settings.max_new_tokens,
            end=self.tokenizer.eos_token_id,
            pad=self.tokenizer.pad_token_id,
        )

    def rule(self, cases: Sequence[Case]) -> list[Ruling]:
        encoded = [self._encode(case) for case in cases]
        rulings: dict[int, Ruling] = {}
        # Batches of similar lengths, to pad little.
        order = sorted(range(len(cases)), key=lambda i: (len(encoded[i]), encoded[i], cases[i].seed))
        for start in range(0, len(order), self.settings.batch_size):
            chosen = order[start : start + self.settings.batch_size]
            begun = time.perf_counter()
            prompts, seeds = [encoded[i] for i in chosen], [cases[i].seed for i in chosen]
            found = beam_sample(self.model, prompts, seeds, self.search, self.watch)
            seconds = (time.perf_counter() - begun) / len(chosen)
            rulings |= {i: self._ruling(one, seconds) for i, one in zip(chosen, found, strict=True)}
        return [rulings[i] for i in range(len(cases))]

    def _ruling(self, found: Found, seconds: float) -> Ruling:
        # Control tokens stay visible: a verdict that holds one is malformed.
        text = self.tokenizer.decode(found.tokens, skip_special_tokens=False)
        outcome = verdict.parse(text)
        decided = [i for i, token in enumerate(found.tokens) if any(token in said for said in self.watch)]
        p_yes = found.watched[decided[-1]] if decided and outcome != "malformed" else None
        return Ruling(outcome, text[:MAX_KEPT_CHARS], seconds, p_yes)

    def _encode(self, case: Case) -> list[int]:
        """Token ids of the input. A question gets half of the room at most, its solution the rest."""
        ids: list[int] = []
        room = self.room // 2
        for piece in prompt.pieces(self.tokenizer, case.question, case.solution, self.settings.max_chars):
            if not piece.foreign:
                ids += self._ours(piece.text)
                continue
            foreign = encode_foreign(self.tokenizer, piece.text, room)
            if len(foreign) > room:
                mark = self._ours(f" {prompt.CUT}")
                foreign = foreign[: room - len(mark)] + mark
            ids += foreign
            room = self.room - len(foreign)
        return ids

    def _length_of_ours(self) -> int:
        pieces = prompt.pieces(self.tokenizer, "", "")
        return sum(len(self._ours(piece.text)) for piece in pieces if not piece.foreign)

    def _ours(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False).input_ids

    def _spelling(self, word: str) -> list[int]:
        """Tokens that are this word, whatever their case and the space before them."""
        texts = ((id, self.tokenizer.decode([id])) for id in range(len(self.tokenizer)))
        found = [id for id, text in texts if text.isascii() and text.strip().lower() == word]
        if not found:
            name = self.settings.name_or_path
            raise BadInput(
                f"name_or_path is {name!r}: it has no token {word!r}, expected is one that can judge"
            )
        return found
