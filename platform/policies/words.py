"""The word-level tokenizer of the bundled policies.

Tags, words, single digits and single signs are tokens; white space only separates. A text that a bundled
policy wrote re-tokenises to the very tokens that were sampled, because decoding joins them by one space.
"""

from typing import Any

SPECIAL = ["<pad>", "<eos>", "<unk>"]
PIECES = r"</?[a-z]+>|[0-9]|[^\W\d_]+|[^\w\s]|_"


def word_tokenizer(vocabulary: list[str]) -> Any:
    """A `PreTrainedTokenizerFast` over `vocabulary`, whose ids follow the special tokens' in order."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    ids = {word: i for i, word in enumerate([*SPECIAL, *vocabulary])}
    core = Tokenizer(models.WordLevel(ids, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(PIECES), behavior="removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )
