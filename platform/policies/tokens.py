"""Turn a peer's string into token ids, without letting the string choose control tokens.

A completion that spells "<|im_end|>" must not end itself, open a chat turn or pad itself at the receiver's.
"""

from typing import Any

CHARS_PER_TOKEN = 32
"""Far more than any text that a policy writes; a bound on the tokenizer's own work."""


def encode_foreign(tokenizer: Any, text: str, max_tokens: int, max_chars: int | None = None) -> list[int]:
    """Token ids of a foreign text: none added, no control tokens, bounded length.

    Returns at most `max_tokens + 1` ids: one more than allowed shows that the text is too long, and what
    follows never costs a forward pass. Characters after `max_chars` (default: 32 for each id) are not read.
    """
    text = text[: max_chars or CHARS_PER_TOKEN * (max_tokens + 1)]
    # Lone surrogates are no text, and the tokenizer would raise on them.
    text = text.encode("utf-8", "replace").decode()
    ids = tokenizer(text, add_special_tokens=False, split_special_tokens=True, verbose=False)["input_ids"]
    # Splitting is not enough: a word-level vocabulary holds "<eos>" as a word like any other.
    control = control_ids(tokenizer)
    if not control.isdisjoint(ids):
        unknown = tokenizer.unk_token_id
        instead = [] if unknown is None or unknown in control else [unknown]
        ids = [kept for id in ids for kept in (instead if id in control else [id])]
    return ids[: max_tokens + 1]


def control_ids(tokenizer: Any) -> frozenset[int]:
    """Ids of tokens that steer rather than say something: end, padding, chat turns; not the unknown word."""
    special = {id for id, token in tokenizer.added_tokens_decoder.items() if token.special}
    special |= set(tokenizer.all_special_ids)
    steering = {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id} - {None}
    return frozenset((special - {tokenizer.unk_token_id}) | steering)
