"""Messages that try to break a receiver, to count in another's name, or to be learnt from all the same."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from pydantic import Field, field_validator

from turncoat.platform.attacks.base import Attack, AttackSettings, Sent, Stage, answered
from turncoat.platform.records import Request
from turncoat.platform.registry import unknown

OVERSIZED = "a" * 10_000_000
"""One object, so that it travels once however many messages of a round hold it."""

REFUSED: dict[str, Callable[[Any], list[Any]]] = {
    "missing": lambda one: [],
    "none": lambda one: [None],
    "number": lambda one: [5],
    "bytes": lambda one: [replace(one, text=one.text.encode())],
    "no_end_flag": lambda one: [replace(one, finished=None)],
    "no_id": lambda one: [replace(one, id=None)],
    "float_id": lambda one: [replace(one, id=one.id._replace(round=float(one.id.round)))],
    # In the name of the first peer, which is always honest.
    "other_peer": lambda one: [replace(one, id=one.id._replace(peer=0))],
    "next_round": lambda one: [replace(one, id=one.id._replace(round=one.id.round + 1))],
    "no_group": lambda one: [replace(one, id=one.id._replace(prompt=-1))],
    "other_prompt": lambda one: [replace(one, prompt_id="another")],
    "array_prompt": lambda one: [replace(one, prompt_id=np.zeros(2))],
    "oversized": lambda one: [replace(one, text=OVERSIZED)],
}
"""Message -> what is sent for one slot, given a right `Completion` of it. It is refused at the door."""

ADMITTED: dict[str, Callable[[Any], list[Any]]] = {
    "duplicate": lambda one: [one, one],
    "denied_end": lambda one: [replace(one, finished=False)],
    "false_end": lambda one: [replace(one, text=one.text[: len(one.text) // 2])],
    "empty": lambda one: [replace(one, text="")],
    "surrogates": lambda one: [replace(one, text=within(one.text, "\ud800 \udfff"))],
    "control": lambda one: [replace(one, text=within(one.text, "\x00\x07\x1b[2J\u202e\ufeff"))],
    "special_tokens": lambda one: [replace(one, text=within(one.text, "<eos> <pad> </s> <|im_end|>"))],
}
"""The same for texts and claims that come in and are judged like any other."""

CHOICES: dict[str, Callable[[list[int]], Any]] = {
    "dealt": lambda rows: rows,
    "none": lambda rows: None,
    "number": lambda rows: rows[0],
    "text": lambda rows: "0" * len(rows),
    "array": lambda rows: np.zeros(len(rows), dtype=int),
    "one_more": lambda rows: [*rows, 0],
    "long": lambda rows: [0] * 1_000_000,
    "negative": lambda rows: [-1] * len(rows),
    "huge": lambda rows: [10**400] * len(rows),
    "fractions": lambda rows: [0.5] * len(rows),
    "truths": lambda rows: [True] * len(rows),
}
"""Dealt rows -> the choice of prompts that is sent. All but "dealt" are refused."""


class HostileMessages(Attack):
    """Send malformed, forged and oversized messages in place of completions.

    Wherever a message holds a text, it is or begins as the data set's own solution, which would earn a reward
    if it came in. What is not simulated: bytes below the transport's own format.
    """

    class Settings(AttackSettings):
        kind: Literal["hostile"] = "hostile"
        messages: list[str] = Field([*REFUSED, *ADMITTED], min_length=1)
        """One for each slot, in turn; see REFUSED and ADMITTED in this module. Unset: all of them."""
        choices: list[str] = Field(["dealt"], min_length=1)
        """Vertical swarms: one for each round, in turn; see CHOICES in this module."""

        @field_validator("messages")
        @classmethod
        def messages_are_known(cls, names: list[str]) -> list[str]:
            return known(names, [*REFUSED, *ADMITTED], "message")

        @field_validator("choices")
        @classmethod
        def choices_are_known(cls, names: list[str]) -> list[str]:
            return known(names, list(CHOICES), "choice")

    settings: Settings
    needs_swarm = True

    def choose(self, rows: Sequence[int], stage: Stage) -> Any:
        names = self.settings.choices
        return CHOICES[names[(stage.round - 1) % len(names)]](list(rows))

    def poison(self, requests: Sequence[Request], stage: Stage) -> Sent:
        makers, names = REFUSED | ADMITTED, self.settings.messages
        return [
            (message, "cheat")
            for slot, request in enumerate(requests)
            for message in makers[names[slot % len(names)]](
                answered(request, stage.task.worked(request.prompt))
            )
        ]


def within(text: str, piece: str) -> str:
    """The text with a piece behind its first word."""
    first, _, rest = text.partition(" ")
    return f"{first} {piece} {rest}"


def known(names: list[str], allowed: list[str], what: str) -> list[str]:
    """The names. Raises ValueError for the first that is not allowed."""
    for name in names:
        if name not in allowed:
            raise ValueError(unknown(name, allowed, what))
    return names
