"""If these fail, the tiny judge cannot be trained again, or learns to write what it should only read."""

import json

import pytest
import torch

from turncoat.jobs import train_judge
from turncoat.jobs.train_judge import GIVEN, VERDICT, rows, train
from turncoat.platform.judges.lessons.stream import Lesson, vocabulary
from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.words import word_tokenizer


@pytest.fixture
def small(monkeypatch):
    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    monkeypatch.setattr(train_judge, "SHAPE", shape)
    monkeypatch.setattr(train_judge, "BATCH", 8)
    monkeypatch.setattr(train_judge, "POOL", 2)


def run(out, **changes):
    settings = {
        "steps": 20,
        "lr": 1e-2,
        "programs_share": 0.4,
        "solving_share": 0.0,
        "slips": 0.0,
        "start": None,
    }
    train(out, **{**settings, "seed": 0, **changes})
    return json.loads((out / "training.json").read_text())


def test_it_learns_and_goes_on_from_what_it_learnt(small, tmp_path):
    """And the same settings give the same judge."""
    first = run(tmp_path / "a")
    assert first["log"][-1]["step"] == 20
    run(tmp_path / "b")
    weights, again = ((tmp_path / name / "model.safetensors").read_bytes() for name in "ab")
    assert weights == again
    more = run(tmp_path / "c", start=str(tmp_path / "a"), solving_share=0.3, slips=0.5)
    assert more["before"] == first
    assert more["log"][0]["loss"] < first["log"][0]["loss"]


def test_a_grown_vocabulary_keeps_what_each_word_meant(small, tmp_path):
    """Taken up by row number, every word after a new one would be another's."""
    run(tmp_path / "a", steps=2)
    before, words = load_policy(str(tmp_path / "a"))
    tokenizer = word_tokenizer(["new", *vocabulary()])
    grown = type(before)(before.config.__class__(**{**before.config.to_dict(), "vocab_size": len(tokenizer)}))
    train_judge.take_up(grown.eval(), tokenizer, before, words)
    text = "Tom has 7 2 books . <solution>"
    with torch.inference_mode():
        one = before(torch.tensor([words(text).input_ids])).logits[0, -1]
        other = grown(torch.tensor([tokenizer(text).input_ids])).logits[0, -1]
    for word in ("yes", "<think>", "7"):
        left, right = one[words.convert_tokens_to_ids(word)], other[tokenizer.convert_tokens_to_ids(word)]
        assert float(left) == pytest.approx(float(right), abs=1e-5)


def test_weights_are_on_the_judge_s_own_words():
    """It is not to learn to write solutions, and a verdict is one word among many."""
    tokenizer = word_tokenizer(vocabulary())
    [row] = rows(
        tokenizer, [Lesson("Tom has 7 . <solution> right </solution>", "<criticism> 7 right </criticism>")]
    )
    assert row.ids == [
        *tokenizer("Tom has 7 . <solution> right </solution> <criticism> 7 right </criticism>").input_ids,
        1,
    ]
    assert row.weights == [GIVEN] * 7 + [1.0, 1.0, VERDICT, 1.0, 1.0]
