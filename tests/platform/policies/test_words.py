"""If these fail, a bundled policy's text is not the tokens that it sampled, and its peers train on something
else."""

import random

import pytest

from turncoat.platform.policies.tokens import control_ids, encode_foreign
from turncoat.platform.policies.words import SPECIAL, word_tokenizer
from turncoat.platform.tasks.wording import vocabulary

TOKENIZER = word_tokenizer(vocabulary())


def test_any_tokens_come_back_from_their_text():
    """Whatever a policy writes, in whatever order."""
    rng = random.Random(0)
    words = range(len(SPECIAL), len(TOKENIZER))
    for _ in range(200):
        tokens = rng.choices(words, k=30)
        assert encode_foreign(TOKENIZER, TOKENIZER.decode(tokens, skip_special_tokens=True), 30) == tokens


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("85+7=92.", "8 5 + 7 = 9 2 ."),
        ("<think>All hail</think>", "<think> All hail </think>"),
        ("How many\n\t apples?", "How many apples ?"),
        ("2*2", "2 * 2"),
        ("bananas and apples", "<unk> and apples"),
        ("a_b", "<unk> <unk> <unk>"),
        ("<Think>", "<unk> <unk> <unk>"),
        ("", ""),
    ],
)
def test_words_digits_and_signs_are_tokens(text: str, pieces: str):
    """White space only separates: a peer's spelling does not choose the tokens."""
    assert TOKENIZER.convert_ids_to_tokens(TOKENIZER(text).input_ids) == pieces.split()


def test_special_tokens_come_first():
    """Ids are part of the saved policies."""
    assert TOKENIZER.convert_ids_to_tokens([0, 1, 2, 3]) == ["<pad>", "<eos>", "<unk>", "<think>"]
    assert control_ids(TOKENIZER) == {0, 1}
    assert len(vocabulary()) == len(set(vocabulary())) == len(TOKENIZER) - 3
