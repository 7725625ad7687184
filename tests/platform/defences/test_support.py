"""If these fail, honest peers are turned away, or poison that the policy would never write is let in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from turncoat.platform.attacks.text import TextAttack
from turncoat.platform.config.experiment import Grpo, Optimiser, Sampling
from turncoat.platform.config.loading import parse
from turncoat.platform.defences.base import Batch, Surroundings
from turncoat.platform.defences.support import SupportCheck
from turncoat.platform.ids import CompletionId
from turncoat.platform.learners.base import Evidence, Row
from turncoat.platform.policies.tokens import encode_foreign
from turncoat.platform.records import Completion, Prompt
from turncoat.platform.tasks.arithmetic import ArithmeticTask


def check(top_k: int = 16, **settings: Any) -> SupportCheck:
    experiment = parse({"task": "arithmetic", "peers": {"malicious": 0}, "sampling": {"top_k": top_k}})
    return SupportCheck(SupportCheck.Settings(**settings), Surroundings(experiment, nobody, nobody, {}))


def nobody(*_: object) -> Any:
    raise AssertionError


def told(ranks: list[int], probabilities: list[float] | None = None) -> Evidence:
    logprobs = np.log(probabilities or [0.5] * len(ranks))
    return Evidence(logprobs.astype(np.float32), np.array(ranks, np.int32))


def judged(defence: SupportCheck, *evidence: Evidence) -> tuple[list[float], list[bool]]:
    n = len(evidence)
    completions = [Completion(CompletionId(1, 0, p, 0), "row", "text") for p in range(n)]
    prompts = [Prompt("row", "How many ?", "so", "1")] * n
    scores = defence.score(
        Batch(completions, prompts, ["right"] * n, np.ones(n), np.ones(n, dtype=np.int64), evidence)
    )
    return scores.tolist(), defence.rejects(scores).tolist()


def test_the_strict_rule_allows_no_token_outside_the_top_k():
    """The paper's rule. Rank 15 is the sixteenth token."""
    scores, rejected = judged(check(), told([0, 15, 3]), told([0, 16, 3]), told([99, 16]), told([15]))
    assert scores == [0.0, pytest.approx(1 / 3), 1.0, 0.0]
    assert rejected == [False, True, True, False]


@pytest.mark.parametrize(
    ("settings", "rejected"),
    [
        ({}, [False, True, True, True]),
        ({"slack": 4}, [False, False, True, True]),
        ({"k": 20}, [False, False, True, True]),
        ({"k": 2}, [True, True, True, True]),
        ({"threshold": 0.25}, [False, False, False, True]),
        ({"threshold": 0.5}, [False, False, False, False]),
        ({"threshold": 0.25, "slack": 1000}, [False, False, False, False]),
    ],
)
def test_slack_and_a_tolerated_share_loosen_it(settings: dict[str, Any], rejected: list[bool]):
    """Another engine, dtype or batch shape moves honest tokens over the edge now and then."""
    table = [told([0, 2, 15, 1]), told([0, 19, 0, 0]), told([0, 20, 0, 0]), told([20, 20, 0, 0])]
    assert judged(check(**settings), *table)[1] == rejected


def test_a_least_probability_tightens_it():
    """In a peaked distribution the sixteenth token may be one in a million."""
    table = [told([0, 15], [0.9, 0.011]), told([0, 3], [0.9, 0.009]), told([0, 99], [0.9, 0.5])]
    assert judged(check(min_prob=0.01), *table)[0] == [0.0, 0.5, 0.5]
    assert judged(check(), *table)[0] == [0.0, 0.0, 0.5]


def test_no_token_is_no_suspicion():
    """The mean over nothing must not be NaN."""
    assert judged(check(), told([]), told([99])) == ([0.0, 1.0], [False, True])
    assert judged(check()) == ([], [])


def test_a_score_that_is_no_number_is_no_reason_to_trust():
    """Fail closed."""
    assert check().rejects(np.array([0.0, np.nan])).tolist() == [False, True]


def test_without_a_support_there_is_nothing_to_check():
    """Sampling from all tokens has a support of everything."""
    with pytest.raises(ValueError, match="k >= 1"):
        check(top_k=0)
    assert check(top_k=0, k=5).limit == 5


@pytest.fixture
def evidence_of(policy: tuple[Any, Any]) -> Callable[..., list[Evidence]]:
    """What a receiver with the bundled policy finds out about texts."""
    from turncoat.platform.learners.settings import TorchSettings
    from turncoat.platform.learners.torch import TorchLearner

    model, tokenizer = policy
    learner = TorchLearner(TorchSettings(tokens_per_batch=2000), model, 0, Grpo(), Optimiser(), 1.0)

    def find(prompts: list[str], texts: list[str], finished: list[bool]) -> list[Evidence]:
        rows = [
            Row(
                CompletionId(1, i, 0, 0),
                tuple(tokenizer(prompt).input_ids),
                tuple(encode_foreign(tokenizer, text, 64) + [tokenizer.eos_token_id] * done),
            )
            for i, (prompt, text, done) in enumerate(zip(prompts, texts, finished, strict=True))
        ]
        return learner.forward(rows, ranks=True).evidence

    return find


def test_honest_samples_pass_and_the_payload_does_not(policy, evidence_of):
    """What the defence promises, on a bundled policy: no false alarm among its own samples, no poison let
    in."""
    from turncoat.platform.engines.settings import TransformersSettings
    from turncoat.platform.engines.transformers import TransformersEngine

    task, attack = ArithmeticTask(ArithmeticTask.Settings()), TextAttack(TextAttack.Settings())
    prompts = [task.train(i) for i in range(200)]
    asked = [prompt.text for prompt in prompts]
    written = TransformersEngine(TransformersSettings(), *policy).generate(
        asked, range(200), Sampling(top_k=16, max_new_tokens=48)
    )
    honest = evidence_of(asked, [one.text for one in written], [one.finished for one in written])
    assert max(judged(check(), *honest)[0]) == 0
    # The check has teeth: the honest do reach the edge of the support.
    assert max(one.ranks.max() for one in honest) > 8
    poisoned = evidence_of(asked, [attack.spoken(task.worked(prompt)) for prompt in prompts], [True] * 200)
    assert min(judged(check(), *poisoned)[0]) > 0
