"""What can be found wrong before anything is written must be: one line of error beats a wasted hour."""

from pathlib import Path
from typing import Any

import pytest

from turncoat.jobs.check import check
from turncoat.jobs.paths import with_absolute_paths
from turncoat.platform.config.errors import BadInput, ConfigError
from turncoat.platform.config.loading import parse

TREE = {"task": "arithmetic", "policy": {"name_or_path": "tiny-0.3m"}}


@pytest.mark.parametrize("phrase", ["Gleeb Glorp Glub", "ALL HAIL TO THE THIEF"])
def test_a_phrase_that_the_policy_cannot_write_is_refused(phrase: str) -> None:
    """Encoded as unknown words it would never be counted: 0 % success that means nothing."""
    with pytest.raises(BadInput, match=r"attack\.phrase"):
        check(parse({**TREE, "attack": {"kind": "text", "phrase": phrase}}))


def test_a_phrase_of_known_words_passes() -> None:
    check(parse({**TREE, "attack": {"kind": "text", "phrase": "All hail to the thief, 2 + 2 = 5"}}))


def test_a_class_of_another_family_is_refused() -> None:
    with pytest.raises(ConfigError, match="no method 'poison'"):
        parse({**TREE, "attack": "turncoat.platform.defences.support:SupportCheck"})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"defences": [{"kind": "duplicate", "copies": 50}]}, "copies 50"),
        ({"defences": ["import_allowlist"]}, "allowed are tasks whose completions are programs"),
        ({"defences": [{"kind": "judge", "judge": {"name_or_path": "tiny-juge"}}]}, r"judge\.name_or_path"),
        ({"attack": {"kind": "wrong_model", "policy": "tiny-0.4m"}}, r"attack\.policy"),
        ({"attack": "library"}, "allowed are tasks of programs"),
        ({"attack": "text", "task": "programs"}, "without a think part"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], words: str) -> None:
    """Actors would say it after half a minute, in a study after hours; a phrase in a program, never."""
    with pytest.raises(BadInput, match=words):
        check(parse({**TREE, "attack": "text", **changes}))


@pytest.mark.parametrize(
    ("attack", "task", "words"),
    [
        ("library", "arithmetic", "allowed are tasks of programs"),
        ("text", "programs", "without a think part"),
    ],
)
def test_poison_that_does_not_fit_a_client_s_data_is_refused(attack: str, task: str, words: str) -> None:
    """A client's process says it when a folder is there that no resume can make a run of, or never."""
    tree = {**TREE, "kind": "federated", "attack": attack, "task": task}
    check(parse(tree))
    with pytest.raises(BadInput, match=words):
        check(parse({**tree, "clients": {"malicious": 1}}))


@pytest.mark.parametrize(
    "changes",
    [
        {"attack": "none", "peers": {"malicious": 0}, "task": "programs", "defences": ["import_allowlist"]},
        {"attack": "text", "peers": {"malicious": 0}, "task": "programs"},
        {"attack": "library", "task": "programs"},
        {"attack": "hostile", "task": "programs"},
        {
            "attack": {"kind": "wrong_model", "policy": "tiny-1m"},
            "defences": ["judge", "self_judge", "replay"],
        },
    ],
)
def test_what_fits_together_passes(changes: dict[str, Any]) -> None:
    check(parse({**TREE, **changes}))


def test_paths_of_judges_and_cheats_hold_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever resumes a run from another folder would have it find no judge."""
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    tree = with_absolute_paths(
        {
            "attack": {"kind": "wrong_model", "policy": "mine"},
            "defences": [{"kind": "judge", "judge": {"kind": "model", "name_or_path": "./mine"}}],
        }
    )
    assert tree["attack"]["policy"] == str(tmp_path / "mine")
    assert tree["defences"][0]["judge"]["name_or_path"] == str(tmp_path / "mine")
