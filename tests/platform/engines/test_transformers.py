"""If these fail, a rollout depends on its neighbours in the batch, or is not a sample of the policy that
sends it."""

from typing import Any

import numpy as np
import torch

from turncoat.platform.config.experiment import Sampling
from turncoat.platform.engines.sampling import draw, uniforms
from turncoat.platform.engines.settings import TransformersSettings
from turncoat.platform.engines.transformers import TransformersEngine
from turncoat.platform.policies.tokens import encode_foreign
from turncoat.platform.tasks.arithmetic import ArithmeticTask

TASK = ArithmeticTask(ArithmeticTask.Settings())
PROMPTS = [TASK.train(i).text for i in (0, 1, 2, 0, 3, 0, 4, 5)]
SEEDS = [100 + i for i in range(len(PROMPTS))]
SAMPLING = Sampling(top_k=16, max_new_tokens=32)


def engine_of(policy: tuple[Any, Any], batch_size: int = 128) -> TransformersEngine:
    return TransformersEngine(TransformersSettings(batch_size=batch_size), *policy)


@torch.no_grad()
def naive(policy: tuple[Any, Any], prompt: str, seed: int, sampling: Sampling) -> list[int]:
    """One completion without batch, padding or cache: tokens, the end token included."""
    model, tokenizer = policy
    ids, tokens = tokenizer(prompt, add_special_tokens=False).input_ids, []
    for chance in uniforms([seed], sampling.max_new_tokens)[0]:
        logits = model(torch.tensor([ids + tokens])).logits[:, -1]
        tokens.append(int(draw(logits, chance.unsqueeze(0), sampling)))
        if tokens[-1] == tokenizer.eos_token_id:
            break
    return tokens


def test_a_padded_batch_with_repeated_prompts_equals_one_prompt_at_a_time(policy):
    """Padding, the cache, shared prompts and rows that end early must not change what is written."""
    written = engine_of(policy).generate(PROMPTS, SEEDS, SAMPLING)
    end = policy[1].eos_token_id
    for prompt, seed, one in zip(PROMPTS, SEEDS, written, strict=True):
        tokens = naive(policy, prompt, seed, SAMPLING)
        assert (one.tokens, one.finished) == (len(tokens), tokens[-1] == end)
        # Re-tokenised by a receiver, the text gives the very tokens that were sampled.
        assert encode_foreign(policy[1], one.text, SAMPLING.max_new_tokens) == [t for t in tokens if t != end]
    assert len({one.tokens for one in written}) > 2
    assert len({one.text for i, one in enumerate(written) if PROMPTS[i] == PROMPTS[0]}) > 1


def test_the_order_of_a_batch_does_not_matter(policy):
    """Peers may be served in any order."""
    written = engine_of(policy).generate(PROMPTS, SEEDS, SAMPLING)
    order = np.random.default_rng(0).permutation(len(PROMPTS))
    again = engine_of(policy).generate([PROMPTS[i] for i in order], [SEEDS[i] for i in order], SAMPLING)
    assert again == [written[i] for i in order]


def test_the_batch_size_changes_at_most_rounding(policy):
    """A smaller machine takes smaller batches; its run must stay comparable."""
    prompts, seeds = PROMPTS * 4, list(range(32))
    whole = engine_of(policy).generate(prompts, seeds, SAMPLING)
    cut = engine_of(policy, batch_size=5).generate(prompts, seeds, SAMPLING)
    assert sum(a == b for a, b in zip(whole, cut, strict=True)) >= 30


def test_another_seed_changes_its_own_row_alone(policy):
    """A completion is replayed by its seed, whoever else was in the batch."""
    written = engine_of(policy).generate(PROMPTS, SEEDS, SAMPLING)
    changed = engine_of(policy).generate(PROMPTS, [*SEEDS[:-1], 9], SAMPLING)
    assert changed[:-1] == written[:-1]
    assert changed[-1] != written[-1]


def test_every_token_lies_in_the_support(policy):
    """The support check rejects whatever leaves it, so honest samples never may."""
    model, tokenizer = policy
    for one, prompt in zip(
        engine_of(policy).generate(PROMPTS, SEEDS, SAMPLING.model_copy(update={"top_k": 3})),
        PROMPTS,
        strict=True,
    ):
        ids = tokenizer(prompt, add_special_tokens=False).input_ids
        tokens = tokenizer(one.text).input_ids + [tokenizer.eos_token_id] * one.finished
        with torch.no_grad():
            logits = model(torch.tensor([ids + tokens])).logits[0, len(ids) - 1 : -1]
        assert ((logits > logits.gather(1, torch.tensor(tokens)[:, None])).sum(1) < 3).all()


def test_first_tokens_follow_the_policy_s_distribution(policy):
    """The engine samples the policy it is given, at the temperature it is given."""
    model, tokenizer = policy
    n, sampling = 2000, Sampling(top_k=8, temperature=2.0, max_new_tokens=1)
    prompt = f"{PROMPTS[0]} <think>"
    written = engine_of(policy, batch_size=n).generate([prompt] * n, range(n), sampling)
    with torch.no_grad():
        logits = model(torch.tensor([tokenizer(prompt).input_ids])).logits[0, -1]
    top = logits.topk(8)
    expected = torch.softmax(top.values.double() / 2.0, 0).numpy() * n
    names = [tokenizer.decode([token]) for token in top.indices.tolist()]
    counts = np.array([sum(one.text == name for one in written) for name in names])
    assert counts.sum() == n
    assert ((counts - expected) ** 2 / expected).sum() < 35  # 7 degrees of freedom: p = 0.00001


def test_what_is_cut_off_is_not_finished(policy):
    """A receiver adds the end token to finished texts only; a false one would teach to stop there."""
    short = engine_of(policy).generate(PROMPTS, SEEDS, Sampling(max_new_tokens=3))
    assert [(one.finished, one.tokens) for one in short] == [(False, 3)] * len(PROMPTS)
    long = engine_of(policy).generate(PROMPTS, SEEDS, Sampling(max_new_tokens=100))
    assert all(one.finished and one.text.endswith("</answer>") for one in long)
    assert [one.tokens for one in long] == [len(policy[1](one.text).input_ids) + 1 for one in long]
    exactly = Sampling(max_new_tokens=long[0].tokens)
    assert engine_of(policy).generate(PROMPTS[:1], SEEDS[:1], exactly)[0].finished


def test_a_policy_in_bfloat16_can_be_sampled(policy):
    """Half the memory, and the precision in which larger policies are kept."""
    model, tokenizer = policy
    written = engine_of((model.bfloat16(), tokenizer)).generate(PROMPTS, SEEDS, SAMPLING)
    assert all(one.text.startswith("<think>") for one in written)


def test_a_copy_in_another_precision_follows_the_learner_s_weights(policy):
    """Rollouts of a policy that is rounds old would be another policy's."""
    model, tokenizer = policy
    engine = TransformersEngine(TransformersSettings(dtype="bfloat16"), model, tokenizer)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    rounded = engine.generate(PROMPTS, SEEDS, SAMPLING)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.1)
    assert engine.generate(PROMPTS, SEEDS, SAMPLING) == rounded
    engine.refresh()
    fresh = TransformersEngine(TransformersSettings(dtype="bfloat16"), model, tokenizer)
    assert engine.generate(PROMPTS, SEEDS, SAMPLING) == fresh.generate(PROMPTS, SEEDS, SAMPLING) != rounded


def test_nothing_asked_is_nothing_written(policy):
    """A malicious peer that poisons every slot samples nothing."""
    assert engine_of(policy).generate([], [], SAMPLING) == []
