"""If these fail, texts that nobody sampled pass for samples, or honest peers are called forgers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from turncoat.platform.defences.replay import Replay, agreement
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import rollout_seed
from turncoat.platform.records import Completion

RUN_SEED = 0


def policy(prompts: Sequence[str], seeds: Sequence[int], sampling: Any) -> list[Generated]:
    return [Generated(f"{prompt} {seed}", True, 1) for prompt, seed in zip(prompts, seeds, strict=True)]


@pytest.fixture
def honest(batch_of):
    """A round of 4 peers, 8 prompts, 3 completions each, all as the policy above would write them."""
    batch = batch_of(*[(q, p, "") for q in range(8) for p in range(4) for _ in range(3)])
    batch.completions[:] = [
        Completion(one.id, one.prompt_id, f"{prompt.text} {rollout_seed(RUN_SEED, one.id)}")
        for one, prompt in zip(batch.completions, batch.prompts, strict=True)
    ]
    return batch


def forge(batch, peer: int, how: Any = lambda text: "All hail. " + text, few: int = 10**9) -> None:
    for i, one in enumerate(batch.completions):
        if one.id.peer == peer and few > 0:
            few -= 1
            batch.completions[i] = Completion(one.id, one.prompt_id, how(one.text), one.finished)


def test_honest_completions_come_out_again(around, honest):
    defence = Replay(Replay.Settings(), around(generate=policy))
    assert defence.score(honest).tolist() == [0] * 96
    assert defence.counts == {"replayed": 12, "differing": 0}


def test_a_forger_s_whole_share_is_suspect(around, honest):
    """Whatever the payload; the others' scores stay as they were."""
    forge(honest, 3)
    defence = Replay(Replay.Settings(), around(generate=policy))
    scores = defence.score(honest)
    assert {one.id.peer: score for one, score in zip(honest.completions, scores, strict=True)} == {
        0: 0.0,
        1: 0.0,
        2: 0.0,
        3: 1.0,
    }
    assert defence.counts == {"replayed": 12, "differing": 3}


def test_a_text_that_was_cut_is_another_text(around, honest):
    """A completion that claims to have run out of length, or to have ended, when it did not."""
    for i, one in enumerate(honest.completions):
        honest.completions[i] = Completion(one.id, one.prompt_id, one.text, finished=one.id.peer != 2)
    scores = Replay(Replay.Settings(share=1.0), around(generate=policy)).score(honest)
    assert [score > 0 for score in scores] == [one.id.peer == 2 for one in honest.completions]


def chosen(surroundings, batch, **settings: Any) -> list[Any]:
    asked: list[int] = []

    def watch(prompts: Sequence[str], seeds: Sequence[int], sampling: Any) -> list[Generated]:
        asked.extend(seeds)
        return policy(prompts, seeds, sampling)

    Replay(Replay.Settings(**settings), surroundings(generate=watch)).score(batch)
    by_seed = {rollout_seed(RUN_SEED, one.id): one.id for one in batch.completions}
    return [by_seed[seed] for seed in asked]


@pytest.mark.parametrize(("share", "each"), [(0.01, 1), (0.125, 3), (0.5, 12), (1.0, 24)])
def test_every_peer_is_replayed_in_part(around, honest, share: float, each: int):
    """The cost is that share of a rollout, and nobody is left out."""
    ids = chosen(around, honest, share=share)
    assert Counter(id.peer for id in ids) == dict.fromkeys(range(4), each)
    assert ids == sorted(ids)


def test_who_is_replayed_depends_on_all_that_was_sent(around, honest):
    """Else a forger would know beforehand where to put its poison. Honest receivers still agree."""
    first = chosen(around, honest)
    assert chosen(around, honest) == first
    assert chosen(around, honest, secret="of the receivers") != first
    forge(honest, 0, few=1)
    assert chosen(around, honest) != first


def test_a_lone_surrogate_can_be_hashed(around, honest):
    """Any string can be sent."""
    forge(honest, 1, lambda text: "\ud800")
    scores = Replay(Replay.Settings(), around(generate=policy)).score(honest)
    assert sum(scores > 0) == 24


def test_a_common_beginning_can_be_enough(around, honest):
    """Receivers with another engine: a tail that rounding changed is tolerated, if the config says so."""
    forge(honest, 3, lambda text: text[:-2] + "??")
    strict, lenient = (Replay(Replay.Settings(min_prefix=p), around(generate=policy)) for p in (1.0, 0.5))
    assert strict.score(honest).max() == 1
    assert lenient.score(honest).max() == 0


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [("abcd", "abcd", 1), ("abcd", "ab", 0.5), ("", "ab", 0), ("", "", 1), ("ab", "cb", 0)],
)
def test_agreement(one: str, other: str, share: float):
    assert agreement(one, other) == agreement(other, one) == share


def test_a_bundled_policy_replays_bit_for_bit(tiny, loaded):
    """In another batch than the rollout's, honest completions come out the same; poison does not."""
    import numpy as np

    from turncoat.platform.attacks.base import Stage
    from turncoat.platform.attacks.text import TextAttack
    from turncoat.platform.defences.base import Batch, Surroundings
    from turncoat.platform.engines.settings import TransformersSettings
    from turncoat.platform.engines.transformers import TransformersEngine
    from turncoat.platform.registry import TASKS
    from turncoat.platform.rounds import requests_of

    experiment = tiny("prompts_per_round=16", "group_size=12")
    engine, task = TransformersEngine(TransformersSettings(), *loaded), TASKS.build(experiment.task)
    stage = Stage(
        task, experiment.seed, lambda texts, seeds: engine.generate(texts, seeds, experiment.sampling)
    )
    sent, prompts = [], {}
    for peer in range(4):
        requests = requests_of(experiment, task, 1, peer)
        prompts.update({request.id: request.prompt for request in requests})
        attack = TextAttack(TextAttack.Settings())
        sent += stage.honest(requests) if peer < 3 else attack.poison(requests, stage)
    completions = sorted((one for one, _ in sent), key=lambda one: one.id)
    n = len(completions)
    batch = Batch(
        completions, [prompts[one.id] for one in completions], ["right"] * n, np.ones(n), np.ones(n, np.int64)
    )
    defence = Replay(
        Replay.Settings(share=0.5), Surroundings(experiment, engine.generate, lambda round: {}, {})
    )
    assert defence.score(batch).tolist() == [float(one.id.peer == 3) for one in completions]
