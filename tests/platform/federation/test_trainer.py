"""Local training: where a client stands, and what of the policy travels."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from turncoat.platform.federation.trainer import Trainer

LORA = ("policy.lora={rank: 2}", "optimiser.lr=0.01", "clients.count=2")


def named(federation: Any) -> dict[str, np.ndarray]:
    """The server's weights by the names that the trainer's model has for them."""
    trainer = federation.trainers[0]
    trainer.layout.write(federation.server.weights, trainer.learner.trainable)
    return {name: p.detach().numpy().copy() for name, p in trainer.learner.trainable.items()}


def test_only_adapters_travel(federation: Callable[..., Any]) -> None:
    """FedIT: the frozen policy is everyone's already; sending it would cost a hundred times as much."""
    one = federation(*LORA)
    length = len(one.server.weights)
    assert length < len(federation().server.weights) / 10
    frozen = {
        n: p.detach().clone() for n, p in one.trainers[0].model.named_parameters() if not p.requires_grad
    }
    start = named(one)
    one.run(last=2)
    end = named(one)
    assert all("lora_" in name for name in end)
    moved = {kind: any((start[n] != end[n]).any() for n in end if kind in n) for kind in ("lora_A", "lora_B")}
    assert moved == {"lora_A": True, "lora_B": True}
    now = dict(one.trainers[0].model.named_parameters())
    assert all((now[name] == before).all() for name, before in frozen.items())


def test_frozen_a_is_everyone_s_and_never_moves(federation: Callable[..., Any]) -> None:
    """FFA-LoRA: the mean of products is the product of means only where all clients hold one A."""
    one = federation(*LORA, "adapters=freeze_a", trainers=2)
    a = [
        {n: p.detach().clone() for n, p in each.model.named_parameters() if "lora_A" in n}
        for each in one.trainers
    ]
    assert a[0]
    assert all((a[0][name] == a[1][name]).all() for name in a[0])
    one.run(last=2)
    assert all("lora_B" in name for name in named(one))
    assert one.closings[-1].result.moved
    for each, before in zip(one.trainers, a, strict=True):
        now = dict(each.model.named_parameters())
        assert all((now[name] == was).all() for name, was in before.items())
    assert len(one.server.weights) < len(federation(*LORA).server.weights)


def test_an_evaluation_leaves_no_trace(federation: Callable[..., Any]) -> None:
    """How often one looks must not change the run."""
    seen, unseen = federation("clients.count=2"), federation("clients.count=2")
    first = seen.trainers[0].evaluate(seen.server.weights, 8)
    seen.run(last=2)
    second = seen.trainers[0].evaluate(seen.server.weights, 8)
    again = seen.trainers[0].evaluate(seen.server.weights, 8)
    seen.run(3, 3)
    unseen.run(last=3)
    assert seen.server.version == unseen.server.version
    assert second.line() == again.line()
    assert first.n == 8


def test_a_client_s_training_does_not_depend_on_who_trained_before(federation: Callable[..., Any]) -> None:
    """Clients of one process share a model: momentum and learning rate of another are not theirs."""
    one, alone = federation(), federation()
    opening = one.server.open()
    ends = []
    for each, clients in ((one, (0, 2, 1)), (alone, (1,))):
        for k in clients:
            each.clients[k].work(2, opening.weights, opening.version, 0.5)
        ends.append(each.trainers[0].weights())
    assert np.array_equal(*ends)
    assert not np.array_equal(ends[0], opening.weights)


@pytest.mark.parametrize(
    "override",
    ["proximal=100", "compression={kind: sparsyfed, power: 1.5, sparsity: 0.5}"],
    ids=["proximal", "sparsyfed"],
)
def test_terms_reach_the_update(
    federated: Callable[..., Any], federation: Callable[..., Any], override: str
) -> None:
    """A setting that nothing reads would make FedProx and SparsyFed two more names for FedAvg."""
    lengths = {}
    for name, overrides in (("plain", ()), ("with", (override,))):
        one = federation(
            "clients.count=1", "local_steps=4", "optimiser.kind=sgd", "optimiser.lr=0.003", *overrides
        )
        opening = one.server.open()
        one.clients[0].work(1, opening.weights, opening.version, None)
        lengths[name] = float(np.linalg.norm(one.trainers[0].weights() - opening.weights))
    assert 0 < lengths["with"] < 0.95 * lengths["plain"]


def test_terms_do_not_outlast_their_round(federated: Callable[..., Any]) -> None:
    """The pull is to this round's start; that of the last one would hold training back for good."""
    trainer = Trainer(federated("proximal=1.0"))
    weights = trainer.weights()
    trainer.begin(weights, None, 0)
    first = trainer.learner.terms.terms[0].anchor
    trainer.begin(weights + np.float32(1), None, 2)
    second = trainer.learner.terms.terms[0].anchor
    assert all((second[name] == first[name] + 1).all() for name in first)
    plain = Trainer(federated())
    plain.begin(weights, None, 0)
    assert plain.learner.terms is None
