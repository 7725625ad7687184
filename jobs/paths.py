"""Paths in a config, made absolute: actors, and whoever resumes a run, stand in another folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from turncoat.platform.policies.load import known_policies


def with_absolute_paths(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The same experiment with `task.path`, `policy.name_or_path`, `peers.policies`, `attack.policy`, and
    each defence's `calibration` and `judge.name_or_path` absolute, where they are paths.

    In a study this is done to what all arms share.
    """
    found = dict(tree)
    if found.get("kind") == "study":
        return {**found, "experiment": with_absolute_paths(found["experiment"])}
    for section, key in (
        ("task", "path"),
        ("policy", "name_or_path"),
        ("peers", "policies"),
        ("attack", "policy"),
    ):
        inner = found.get(section)
        if isinstance(inner, Mapping) and inner.get(key):
            found[section] = {**inner, key: _absolute(inner[key])}
    if isinstance(found.get("defences"), list):
        found["defences"] = [_of_defence(one) for one in found["defences"]]
    return found


def _of_defence(one: Any) -> Any:
    if isinstance(one, Mapping) and one.get("calibration"):
        one = {**one, "calibration": _absolute(one["calibration"])}
    if (
        isinstance(one, Mapping)
        and isinstance(one.get("judge"), Mapping)
        and one["judge"].get("name_or_path")
    ):
        judge = {**one["judge"], "name_or_path": _absolute(one["judge"]["name_or_path"])}
        one = {**one, "judge": judge}
    return one


def _absolute(value: Any) -> Any:
    if isinstance(value, list):
        return [_absolute(one) for one in value]
    path = Path(value).expanduser()
    return str(path.resolve()) if path.exists() and value not in known_policies() else value
