"""If these fail, the step is not the one of the formulas, or a run cannot be repeated or resumed."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from turncoat.platform.config.experiment import Grpo, Optimiser
from turncoat.platform.grpo.losses import completion_weights
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Row
from turncoat.platform.learners.settings import TorchSettings
from turncoat.platform.learners.torch import TorchLearner

SGD = Optimiser(kind="sgd", lr=0.1, beta1=0.0, warmup_rounds=0, clip_norm=None)


def some_rows(seed: int = 0) -> list[Row]:
    """Three groups of four completions of 1 to 9 tokens, sorted by id."""
    rng = np.random.default_rng(seed)
    prompts = [tuple(rng.integers(2, 40, length).tolist()) for length in (3, 8, 5)]
    return [
        Row(CompletionId(1, q, p, 0), prompts[q], tuple(rng.integers(2, 40, rng.integers(1, 10)).tolist()))
        for q in range(3)
        for p in range(4)
    ]


ROWS = some_rows()
ADVANTAGES = np.random.default_rng(1).normal(size=len(ROWS))
ADVANTAGES[3] = 0.0


def weights_of(loss: str) -> np.ndarray:
    lengths, groups = [len(row.completion) for row in ROWS], [row.id.prompt for row in ROWS]
    return completion_weights(loss, lengths, groups, 12)


def learner_of(
    model: Any,
    optimiser: Optimiser = SGD,
    tokens_per_batch: int = 10**6,
    temperature: float = 1.0,
    **grpo: Any,
) -> TorchLearner:
    return TorchLearner(
        TorchSettings(tokens_per_batch=tokens_per_batch), model, 0, Grpo(**grpo), optimiser, temperature
    )


def gradient_of(learner: TorchLearner, weights: np.ndarray) -> dict[str, torch.Tensor]:
    """Over all rows as one part."""
    learner.backward(learner.forward(ROWS, ranks=False), ADVANTAGES, weights)
    return {name: p.grad.clone() for name, p in learner.model.named_parameters()}


def naive_logprobs(model: Any, row: Row, temperature: float) -> torch.Tensor:
    logits = model(torch.tensor([row.prompt + row.completion])).logits[0, len(row.prompt) - 1 : -1]
    chosen = torch.tensor(row.completion)[:, None]
    return torch.log_softmax(logits.float() / temperature, -1).gather(1, chosen)[:, 0]


def naive_gradient(
    model: Any, weights: np.ndarray, temperature: float = 1.0, cap: float = 0.0, engine: Any = None
) -> dict[str, torch.Tensor]:
    """Of -Σ_i w_i A_i Σ_t c_it log π(a_it), one completion after the other, without padding."""
    model = copy.deepcopy(model)
    for row, advantage, weight in zip(ROWS, ADVANTAGES, weights, strict=True):
        own = naive_logprobs(model, row, temperature)
        correction = torch.ones_like(own)
        if engine is not None:
            rollout = naive_logprobs(engine, row, temperature)
            correction = (own.detach() - rollout.detach()).exp().clamp(max=cap)
        (-weight * advantage * (correction * own).sum()).backward()
    return {name: p.grad for name, p in model.named_parameters()}


def same(found: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    assert found.keys() == expected.keys()
    scale = max(gradient.abs().max().item() for gradient in expected.values())
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=2e-5 * scale, rtol=1e-4)


def train(learner: TorchLearner, rounds: int, start: int = 0) -> None:
    for round in range(start, start + rounds):
        rows = some_rows(round)
        for part in learner.parts(rows):
            gain = np.random.default_rng(round).normal(size=len(part))
            learner.backward(learner.forward(part, ranks=False), gain, np.full(len(part), 0.1))
        learner.step(3.0)


@pytest.mark.parametrize("loss", ["grpo", "dr_grpo", "dapo"])
@pytest.mark.parametrize("tokens_per_batch", [1, 20, 10**6])
def test_the_gradient_is_that_of_a_loop_over_completions(llama, loss: str, tokens_per_batch: int):
    """Shared prompts, packing and micro-batches are for speed; the step is the formula's."""
    model = llama()
    learner = learner_of(model, tokens_per_batch=tokens_per_batch, temperature=0.8, loss=loss)
    weights = weights_of(loss)
    same(gradient_of(learner, weights), naive_gradient(model, weights, temperature=0.8))


def test_tied_embeddings_get_both_their_gradients(policy):
    """The bundled policies tie input and output embeddings."""
    model, _ = policy
    weights = weights_of("grpo")
    same(gradient_of(learner_of(model), weights), naive_gradient(model, weights))


def test_the_reported_loss_is_minus_the_weighted_advantages(llama):
    """At one update per batch the ratio is 1, so that the loss can be checked by hand."""
    learner, weights = learner_of(llama()), weights_of("grpo")
    policy, kl = learner.backward(learner.forward(ROWS, ranks=False), ADVANTAGES, weights)
    lengths = [len(row.completion) for row in ROWS]
    assert policy == pytest.approx(-(weights * ADVANTAGES * lengths).sum(), rel=1e-5)
    assert kl == 0


def test_evidence_stands_in_the_order_of_the_rows(llama):
    """A score of one completion must not be held against another."""
    model = llama()
    whole = learner_of(model).forward(ROWS, ranks=True).evidence
    cut = learner_of(model, tokens_per_batch=9).forward(ROWS[::-1], ranks=True).evidence[::-1]
    for row, one, other in zip(ROWS, whole, cut, strict=True):
        assert one.logprobs.shape == one.ranks.shape == (len(row.completion),)
        np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-5)
        np.testing.assert_array_equal(one.ranks, other.ranks)
    assert len(learner_of(model).forward(ROWS, ranks=False).evidence[0].ranks) == 0


def test_a_step_divides_warms_up_and_clips(llama):
    """The first rounds' steps are small on purpose, and one wild round must not end a policy."""
    recipe = SGD.model_copy(update={"lr": 0.5, "warmup_rounds": 3, "clip_norm": None})
    learner = learner_of(llama(), recipe)
    for factor in (0.25, 0.5, 0.75, 1.0, 1.0):
        before = {name: p.detach().clone() for name, p in learner.model.named_parameters()}
        gradient = gradient_of(learner, weights_of("grpo"))
        norm = learner.step(4.0)
        total = torch.cat([g.flatten() for g in gradient.values()]).norm().item()
        assert norm == pytest.approx(total / 4, rel=1e-4)
        for name, p in learner.model.named_parameters():
            torch.testing.assert_close(p.detach(), before[name] - 0.5 * factor * gradient[name] / 4)
    clipped = learner_of(llama(), SGD.model_copy(update={"lr": 1.0, "clip_norm": 1e-3}))
    before = torch.cat([p.detach().clone().flatten() for p in clipped.model.parameters()])
    gradient_of(clipped, weights_of("grpo"))
    assert clipped.step(1.0) > 0.01
    moved = torch.cat([p.detach().flatten() for p in clipped.model.parameters()]) - before
    assert moved.norm().item() == pytest.approx(1e-3, rel=0.02)


def test_a_step_clears_the_gradient(llama):
    """Else every round would step along all the former ones."""
    learner = learner_of(llama())
    first = gradient_of(learner, weights_of("grpo"))
    learner.step(1e9)
    same(gradient_of(learner, weights_of("grpo")), first)


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_four_rounds_are_two_and_two_after_a_reload(llama, tmp_path: Path, kind: str):
    """A resumed run must be the run that was not interrupted, bit for bit."""
    recipe = Optimiser(kind=kind, lr=0.01, warmup_rounds=3, weight_decay=0.01)
    whole = learner_of(llama(), recipe, tokens_per_batch=30)
    train(whole, 2)
    whole.save(tmp_path)
    middle = whole.weights_sha256()
    train(whole, 2, start=2)
    resumed = learner_of(llama(seed=5), recipe, tokens_per_batch=30)
    resumed.load(tmp_path)
    assert resumed.weights_sha256() == middle
    train(resumed, 2, start=2)
    assert resumed.weights_sha256() == whole.weights_sha256() != middle


def test_another_policy_s_checkpoint_is_refused(llama, policy, tmp_path: Path):
    """A checkpoint of another policy must not be taken up in part."""
    learner_of(llama()).save(tmp_path)
    with pytest.raises(ValueError, match="other weights"):
        learner_of(policy[0]).load(tmp_path)


def test_the_hash_sees_every_weight(llama):
    """Twins are proved equal by it, and resumed runs."""
    learner = learner_of(llama())
    original = learner.weights_sha256()
    assert learner_of(llama()).weights_sha256() == original
    for parameter in learner.model.parameters():
        kept = parameter.detach().clone()
        with torch.no_grad():
            parameter.view(-1)[-1] += 1e-6
        assert learner.weights_sha256() != original
        with torch.no_grad():
            parameter.copy_(kept)
    assert learner.weights_sha256() == original
    assert learner_of(llama().bfloat16()).weights_sha256() != original


def test_the_kl_term_pulls_towards_the_initial_policy(llama):
    """Without any advantage, nothing but the penalty moves the weights."""
    learner = learner_of(llama(), SGD.model_copy(update={"lr": 0.01}), kl_beta=0.5)
    with torch.no_grad():
        for parameter in learner.model.parameters():
            parameter += 0.02 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
    penalties = []
    for _ in range(6):
        policy, kl = learner.backward(
            learner.forward(ROWS, ranks=False), np.zeros(len(ROWS)), weights_of("grpo")
        )
        assert policy == 0
        penalties.append(kl)
        learner.step(1.0)
    assert penalties == sorted(penalties, reverse=True)
    assert penalties[-1] < 0.7 * penalties[0]


def test_at_the_initial_policy_there_is_no_penalty(llama):
    """The reference is the policy that the run began with."""
    learner = learner_of(llama(), kl_beta=0.5)
    assert learner.backward(learner.forward(ROWS, ranks=False), ADVANTAGES, weights_of("grpo"))[1] == 0


@pytest.mark.parametrize("cap", [0.5, 1.005, 2.0])
def test_tokens_of_a_rounded_engine_are_weighed_by_the_truncated_ratio(llama, cap: float):
    """An engine in bfloat16 samples another distribution than the learner trains."""
    model, weights = llama(), weights_of("grpo")
    engine = copy.deepcopy(model).bfloat16()
    learner = TorchLearner(
        TorchSettings(), model, 0, Grpo(importance_cap=cap), SGD, temperature=1.0, engine_model=engine
    )
    found = gradient_of(learner, weights)
    # A shared pass in bfloat16 rounds otherwise than one per completion: compare as vectors.
    corrected = naive_gradient(model, weights, cap=cap, engine=engine)
    plain = naive_gradient(model, weights)

    def distance(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> float:
        return torch.cat([(a[name] - b[name]).flatten() for name in a]).norm().item()

    assert distance(found, corrected) < 0.3 * distance(found, plain)


def test_a_gradient_that_is_no_number_ends_the_run_before_it_spoils_the_weights(llama):
    """NaN weights would be saved, and every later figure be of nothing."""
    learner = learner_of(llama())
    before = learner.weights_sha256()
    learner.backward(learner.forward(ROWS, ranks=False), ADVANTAGES, np.full(len(ROWS), np.inf))
    with pytest.raises(RuntimeError, match="non-finite"):
        learner.step(1.0)
    assert learner.weights_sha256() == before


def test_frozen_weights_stay_and_are_not_saved(llama, tmp_path: Path):
    """Adapters are trained and exchanged alone."""
    model = llama().requires_grad_(False)
    model.lm_head.requires_grad_(True)
    learner = learner_of(model, SGD)
    frozen = {name: p.clone() for name, p in model.named_parameters() if not p.requires_grad}
    learner.backward(learner.forward(ROWS, ranks=False), ADVANTAGES, weights_of("grpo"))
    learner.step(1.0)
    learner.save(tmp_path)
    assert load_file(tmp_path / "model.safetensors").keys() == {"lm_head.weight"}
    for name, value in frozen.items():
        assert torch.equal(model.get_parameter(name), value)
