"""Which n-grams of words stand in which text: the raw material of the defences that compare texts.

Words are those that a word-level policy sees (single digits, single signs, words without digits), without
case and white space: copies that differ in white space alone are the same to such a policy.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from turncoat.platform.policies.tokens import CHARS_PER_TOKEN
from turncoat.platform.policies.words import PIECES

WORD = re.compile(PIECES)
START, END = 0, 1


class Presence(NamedTuple):
    """Text `owner[i]` holds gram `gram[i]`, each pair once, sorted by owner. owner, gram: [k] int64."""

    owner: NDArray[np.int64]
    gram: NDArray[np.int64]


def admissible_chars(max_new_tokens: int) -> int:
    """How much of a text is read: no longer one passes the gather, so nothing that is learnt stays unread."""
    return CHARS_PER_TOKEN * (max_new_tokens + 1)


def numbered(keys: Sequence[object]) -> NDArray[np.int64]:
    """[n] a number from 0 for each key, equal for equal ones, in the order of their first appearance."""
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


def presence(texts: Sequence[str], n: int, max_chars: int) -> Presence:
    """The n-grams (n >= 1) of each text's first `max_chars` characters.

    A text counts as n - 1 start marks, its words, and an end mark, so that where it begins and ends shows,
    and the shortest has a gram. Grams are numbered exactly: no hash has collisions that a peer could seek.
    """
    numbers: dict[str, int] = {}
    flat: list[int] = []
    lengths = np.empty(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        before = len(flat)
        flat += [START] * (n - 1)
        flat += [
            numbers.setdefault(word, len(numbers) + 2) for word in WORD.findall(text[:max_chars].lower())
        ]
        flat.append(END)
        lengths[i] = len(flat) - before
    marks = np.array(flat, dtype=np.int64)
    # Every place but the last n - 1 of a text begins a gram.
    owner = np.repeat(np.arange(len(texts)), lengths - (n - 1))
    skipped = (n - 1) * np.arange(len(texts))
    begin = np.arange(len(owner)) + np.repeat(skipped, lengths - (n - 1))
    gram = marks[begin]
    for step in range(1, n):
        gram = np.unique(gram * (len(numbers) + 2) + marks[begin + step], return_inverse=True)[1]
    many = int(gram.max(initial=0)) + 1
    pairs = np.unique(owner * many + gram)
    return Presence(pairs // many, pairs % many)
