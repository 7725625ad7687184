"""If these fail, "exact" adapters are not: the server's policy is none that the clients' training led to."""

import numpy as np
import pytest
import torch

from turncoat.platform.config.errors import BadInput, ConfigError
from turncoat.platform.config.experiment import Lora
from turncoat.platform.config.loading import parse
from turncoat.platform.federation.codec.header import Expected
from turncoat.platform.federation.codec.wire import decode
from turncoat.platform.federation.stacking import stack_of
from turncoat.platform.federation.vectors import Layout, held_by_server
from turncoat.platform.policies.load import load_policy

STACKED = {
    "adapters": "stack",
    "policy": {"name_or_path": "tiny-0.3m", "lora": {"rank": 4}},
    "compression": {"kind": "dense", "send": "weights"},
    "aggregation": "by_samples",
}


@torch.no_grad()
def logits(model, tokenizer) -> torch.Tensor:
    return model(**tokenizer("Ann has 3 apples", return_tensors="pt")).logits


def test_the_stacked_sum_is_what_the_adapters_compute():
    """A wrong place, a wrong scale or A and B swapped would still train, towards something else."""
    model, tokenizer = load_policy("tiny-0.3m", "float32", Lora(rank=4, alpha=12), seed=3)
    trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
    held = held_by_server(model, "stack")
    plain = logits(model, tokenizer)
    base, fresh = Layout.of(held).read(held), Layout.of(trained).read(trained)
    adapters = fresh + np.random.default_rng(0).normal(0, 0.05, len(fresh)).astype(np.float32)
    Layout.of(trained).write(adapters, trained)
    adapted = logits(model, tokenizer)
    assert not torch.allclose(adapted, plain, atol=1e-2)

    stack = stack_of(model, Lora(rank=4, alpha=12))
    total = np.zeros_like(base)
    stack.add(0.25, adapters, total)
    stack.add(0.75, adapters, total)
    Layout.of(held).write(base + total, held)
    Layout.of(trained).write(fresh, trained)
    assert torch.allclose(logits(model, tokenizer), adapted, atol=1e-4)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("modules", [["q_proj", "lm_head"], ["embed_tokens", "q_proj"]])
def test_a_layer_without_weights_of_its_own_is_refused(modules):
    """The bundled policies' output layer is the embedding: what its adapters learn would be dropped."""
    lora = Lora(rank=2, target_modules=modules)
    model, _ = load_policy("tiny-0.3m", "float32", lora, seed=3)
    with pytest.raises(BadInput, match=r"policy.lora.target_modules: '.*(lm_head|embed_tokens)' cannot be"):
        stack_of(model, lora)


def test_clients_end_a_round_at_the_mean_of_their_products(federation):
    """Averaging the factors instead would be FedIT again, under another name."""
    made = federation(
        "adapters=stack",
        "policy.lora.rank=4",
        "compression={kind: dense, send: weights}",
        "aggregation=by_samples",
    )
    trainer, before = made.trainers[0], made.server.weights.copy()
    closing = made.round(1)
    assert closing.taken == [0, 1, 2]
    expected, size = np.zeros_like(before), trainer.stack.size
    for client, weight in closing.result.weights.items():
        adapters = decode(
            made.payloads[client], Expected(size, size, bytes.fromhex(made.server.patched_from), True)
        )
        trainer.stack.add(weight, adapters.dense(), expected)
    np.testing.assert_allclose(made.server.weights - before, expected, atol=1e-6)
    assert np.abs(expected).max() > 0
    assert {cost.length for cost in closing.costs.values()} == {size}
    made.round(2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"compression": "natural"}, "compression={kind: dense, send: weights}"),
        ({"robust": ["norm_clip"]}, "robust is set with adapters 'stack'"),
        ({"policy": {"name_or_path": "tiny-0.3m"}}, "without policy.lora"),
    ],
)
def test_what_cannot_be_stacked_is_refused(given, message):
    """It would fail in the middle of the first round."""
    tree = {"kind": "federated", "task": {"kind": "arithmetic"}, **STACKED, **given}
    with pytest.raises(ConfigError, match=message):
        parse(tree)
