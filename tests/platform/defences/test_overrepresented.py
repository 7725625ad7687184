"""If these fail, a phrase on every prompt goes unseen, or peers are suspected for their prompts' words."""

import random

import numpy as np
import pytest

from turncoat.platform.defences.grams import numbered, presence
from turncoat.platform.defences.overrepresented import Overrepresented, log_odds_z


def sums(rng: random.Random) -> str:
    a, b = rng.randint(1, 9), rng.randint(1, 9)
    return f"<think> {a} + {b} = {a + b} . </think> <answer> {a + b} </answer>"


def test_a_phrase_on_every_prompt_stands_out(around, batch_of):
    """One malicious peer of four, horizontal: all of its completions, and nobody else's."""
    rng = random.Random(0)
    sent = [(prompt, peer, sums(rng)) for prompt in range(24) for peer in range(4) for _ in range(3)]
    sent = [
        (q, p, text.replace("<think>", "<think> hail the thief .") if p == 3 else text) for q, p, text in sent
    ]
    batch = batch_of(*sent)
    defence = Overrepresented(Overrepresented.Settings(), around())
    rejected = defence.rejects(defence.score(batch))
    assert rejected.tolist() == [one.id.peer == 3 for one in batch.completions]


def test_the_words_of_one_prompt_are_no_habit(around, batch_of):
    """Vertical: a peer's group of twelve all speak of its own question, and nobody else does."""
    rng = random.Random(0)
    batch = batch_of(
        *[
            (q, q // 6, f"the {name} has it . {sums(rng)}")
            for q in range(24)
            for name in [f"word{'x' * q}"]
            for _ in range(12)
        ]
    )
    defence = Overrepresented(Overrepresented.Settings(), around("topology=vertical"))
    assert not defence.rejects(defence.score(batch)).any()


def test_repetition_within_a_text_is_no_habit(around, batch_of):
    """A completion that loops is one completion."""
    rng = random.Random(0)
    sent = [(q, p, sums(rng)) for q in range(12) for p in range(4)]
    defence = Overrepresented(Overrepresented.Settings(), around())
    once = defence.score(batch_of(*sent, (0, 3, "so it is")))
    often = defence.score(batch_of(*sent, (0, 3, "so it is " * 20)))
    assert often.max() < 3.5
    assert abs(once.max() - often.max()) < 1


def test_it_is_the_log_odds_ratio_with_a_prior():
    """One gram by hand: 8 of this peer's 10 prompts, 2 of the others' 30."""
    texts = ["x" if (i < 8 or 10 <= i < 12) else "y" for i in range(40)]
    found = presence(texts, 1, 10)
    peers = np.array([0] * 10 + [1] * 30)
    z = log_odds_z(found, peers, np.arange(40), prior=20.0)
    alpha = 20 * 10.5 / 41
    a, b, c, d = 8 + alpha, 10 + 20 - 8 - alpha, 2 + alpha, 30 + 20 - 2 - alpha
    expected = (np.log(a / b) - np.log(c / d)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    x = found.gram[found.owner == 0]
    own = [
        value
        for value, owner, gram in zip(z, found.owner, found.gram, strict=True)
        if owner == 0 and gram in x
    ]
    assert max(own) == pytest.approx(expected)


def test_a_peer_alone_is_compared_with_nobody(around, batch_of):
    """An adversary that appraises its own completions, or a round in which one peer's came in: no crash."""
    scores = Overrepresented(Overrepresented.Settings(), around()).score(
        batch_of((0, 0, "a b c"), (1, 0, ""))
    )
    assert np.isfinite(scores).all()
    assert (scores < 3.5).all()


def test_numbers_follow_first_appearance():
    assert numbered(["b", "a", "b"]).tolist() == [0, 1, 0]
