"""If these fail, a threshold that fits one policy is trusted on another, or promises what it cannot keep."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from turncoat.platform.calibration import bound_of, calibrated, fit, weights_sha256
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse
from turncoat.platform.policies.load import BUNDLED
from turncoat.platform.statistics import wilson

NAN = float("nan")


@pytest.mark.parametrize(
    ("n", "rate", "threshold"),
    [(99, 0.01, 98), (198, 0.01, 197), (199, 0.01, 197), (999, 0.01, 989), (19, 0.1, 17), (9, 0.1, 8)],
)
def test_the_threshold_is_the_conservative_quantile(n: int, rate: float, threshold: float) -> None:
    """Of n scores floor(rate (n + 1)) - 1 may lie above it: a new one then does with probability `rate` at
    most.
    """
    found = fit(np.random.default_rng(0).permutation(n).astype(float), rate)
    assert found.threshold == threshold
    assert found.rejected == n - 1 - threshold
    assert (found.rejected + 1) / (n + 1) <= rate
    assert found.interval == wilson(found.rejected, n)


def test_ties_err_on_the_safe_side() -> None:
    """What equals the threshold is let through."""
    found = fit(np.array([0.0] * 90 + [1.0] * 109), 0.05)
    assert (found.threshold, found.rejected) == (1, 0)


def test_new_completions_keep_the_promise_on_average() -> None:
    """Over many calibrations on 199 scores, new scores lie above the threshold no more often than wanted."""
    generator = np.random.default_rng(1)
    rates = [
        (generator.normal(size=500) > fit(generator.normal(size=199), 0.05).threshold).mean()
        for _ in range(400)
    ]
    assert np.mean(rates) == pytest.approx(0.05, abs=0.004)


@pytest.mark.parametrize(
    ("scores", "rate", "words"),
    [
        ([0.0] * 98, 0.01, "98 honest completions: allowed are at least 99"),
        ([0.0] * 500, 0.001, "at least 999"),
        ([NAN] * 10 + [0.0] * 190, 0.04, "10 of 200 honest completions have no score"),
    ],
)
def test_what_cannot_be_promised_is_refused(scores: list[float], rate: float, words: str) -> None:
    """And it says how many completions it would take."""
    with pytest.raises(BadInput, match=words):
        fit(np.array(scores), rate)


def test_failed_scores_count_as_rejected() -> None:
    """They are, at every threshold: the others have to make up for them."""
    found = fit(np.array([NAN, *range(198)]), 0.02)
    assert (found.threshold, found.rejected) == (195, 3)


@pytest.fixture
def setting(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """An experiment whose defence names a calibration that was made for it, changed by keyword."""
    base = {
        "task": "arithmetic",
        "attack": "text",
        "policy": {"name_or_path": "tiny-0.3m"},
        "defences": [{"kind": "support", "k": 5}],
    }
    file = tmp_path / "support.json"
    file.write_text(json.dumps({"threshold": 0.125, "bound": bound_of(parse(base), "support")}))

    def make(**changes: Any) -> dict[str, Any]:
        section = {"kind": "support", "k": 5, "calibration": str(file), **changes.pop("defence", {})}
        return {**base, "defences": [section], **changes}

    return make


def test_the_threshold_takes_its_place(setting: Callable[..., dict[str, Any]]) -> None:
    """Whatever the attack, the seed, the name of the defence and the task."""
    found = calibrated(
        parse(setting(seed=9, defence={"name": "logits", "threshold": 0.9, "effect": "zero_reward"}))
    )
    assert getattr(found.defences[0], "threshold") == 0.125  # noqa: B009
    assert found.labels() == ["logits"]
    quiet = parse(setting(attack="none", peers={"malicious": 0}))
    assert getattr(calibrated(quiet).defences[0], "threshold") == 0.125  # noqa: B009


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy": {"name_or_path": "tiny-1m"}}, r"policy\.weights_sha256"),
        ({"peers": {"policies": ["tiny-0.3m", "tiny-1m"]}}, "homogeneous"),
        (
            {"policy": {"name_or_path": "tiny-0.3m", "dtype": "bfloat16"}},
            r"policy\.dtype = 'float32' \(here it is 'bf",
        ),
        ({"engine": {"batch_size": 7}}, r"engine\.batch_size = 128 \(here it is 7\)"),
        ({"engine": {"dtype": "bfloat16"}}, r"engine\.dtype"),
        ({"sampling": {"temperature": 0.9}}, r"sampling\.temperature = 1\.0 \(here it is 0\.9\)"),
        ({"sampling": {"top_k": 15}}, r"sampling\.top_k"),
        ({"defence": {"k": 6}}, r"defence\.k = 5 \(here it is 6\)"),
        ({"defence": {"only_needed": True}}, r"defence\.only_needed"),
    ],
    ids=str,
)
def test_it_is_refused_elsewhere(
    setting: Callable[..., dict[str, Any]], changes: dict[str, Any], words: str
) -> None:
    """In one line that names the field, what it was made for and what is here."""
    with pytest.raises(BadInput, match=words) as refused:
        calibrated(parse(setting(**changes)))
    assert "\n" not in str(refused.value)


def test_other_weights_of_the_same_name_are_another_policy(
    tmp_path: Path, setting: Callable[..., dict[str, Any]]
) -> None:
    """A policy that was trained further in its folder scores otherwise; a copy elsewhere does not."""
    copy, trained = tmp_path / "copy", tmp_path / "trained"
    for folder in (copy, trained):
        shutil.copytree(BUNDLED / "tiny-0.3m", folder)
    weights = trained / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    calibrated(parse(setting(policy={"name_or_path": str(copy)})))
    with pytest.raises(BadInput, match=r"policy\.weights_sha256"):
        calibrated(parse(setting(policy={"name_or_path": str(trained)})))


@pytest.mark.parametrize("content", [None, "{", "[1]", '{"threshold": 1}'])
def test_a_file_that_is_no_calibration_is_refused(
    tmp_path: Path, setting: Callable[..., dict[str, Any]], content: str | None
) -> None:
    """Silently taking the default threshold would be an experiment that nobody asked for."""
    file = tmp_path / "other.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(BadInput, match=r"defences\.0\.calibration is '.*other\.json'"):
        calibrated(parse(setting(defence={"calibration": str(file)})))


def test_without_a_calibration_nothing_changes() -> None:
    one = parse({"task": "arithmetic", "attack": "text", "defences": ["support"]})
    assert calibrated(one) is one


@pytest.mark.parametrize(
    ("defence", "changes", "key"),
    [
        ("overrepresented", {"prompts_per_round": 64}, "swarm.prompts_per_round"),
        ("overrepresented", {"topology": "vertical"}, "swarm.topology"),
        ("duplicate", {"group_size": 24}, "swarm.group_size"),
        ("replay", {"peers": {"count": 6, "malicious": 1}}, "swarm.peers"),
    ],
)
def test_a_defence_that_compares_is_bound_to_the_swarm(
    defence: str, changes: dict[str, Any], key: str
) -> None:
    """The z of a gram grows with the prompts of a peer: a threshold of a small round rejects a large one."""
    tree = {"task": "arithmetic", "attack": "text", "policy": {"name_or_path": "tiny-0.3m"}}
    here, there = (
        bound_of(parse({**tree, "defences": [defence], **more}), defence) for more in ({}, changes)
    )
    assert [name for name in here if here[name] != there[name]] == [key]


def test_a_defence_that_does_not_compare_is_not(setting: Callable[..., dict[str, Any]]) -> None:
    assert calibrated(parse(setting(prompts_per_round=64, topology="vertical")))


def test_a_judge_is_bound_to_its_weights(tmp_path: Path) -> None:
    """A folder keeps its name when another judge is trained into it."""
    (tmp_path / "config.json").write_text("{}")
    tree = {"task": "arithmetic", "attack": "text", "policy": {"name_or_path": "tiny-0.3m"}}
    tree["defences"] = [{"kind": "judge", "judge": {"name_or_path": str(tmp_path)}}]
    bounds = []
    for weights in (b"one", b"two"):
        (tmp_path / "model.safetensors").write_bytes(weights)
        weights_sha256.cache_clear()
        bounds.append(bound_of(parse(tree), "judge"))
    assert [name for name in bounds[0] if bounds[0][name] != bounds[1][name]] == ["judge.weights_sha256"]
