"""Small policies for the tests that need one: a bundled one, and random ones of any shape."""

import copy
from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(scope="session")
def loaded() -> tuple[Any, Any]:
    from turncoat.platform.policies.load import load_policy

    return load_policy("tiny-0.3m")


@pytest.fixture
def policy(loaded: tuple[Any, Any]) -> tuple[Any, Any]:
    """(model, tokenizer) of tiny-0.3m, the model the test's own."""
    model, tokenizer = loaded
    return copy.deepcopy(model), tokenizer


@pytest.fixture
def llama() -> Callable[..., Any]:
    """Make a random two-layer Llama with fewer key heads than query heads; equal seeds give equal weights."""

    def make(seed: int = 0, vocabulary: int = 40) -> Any:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(seed)
        config = LlamaConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=128,
            initializer_range=0.2,
            pad_token_id=0,
            eos_token_id=1,
            bos_token_id=None,
        )
        return LlamaForCausalLM(config).eval()

    return make
