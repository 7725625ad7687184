"""From a recipe and overrides to a typed experiment, and back to YAML. Every mistake is one line."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from pydantic import ValidationError

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated
from turncoat.platform.config.messages import explain
from turncoat.platform.config.overrides import apply_overrides, parse_override
from turncoat.platform.config.sources import find_recipe, origin, read_yaml, resolve_references
from turncoat.platform.config.study import Study
from turncoat.platform.registry import Settings, unknown

MODELS: dict[str, type[Settings]] = {
    "decentralised": Experiment,
    "federated": Federated,
    "centralised": Federated,
    "local_only": Federated,
    "study": Study,
}


def load(recipe: str, overrides: Sequence[str] = (), folder: Path | None = None) -> Any:
    """What a recipe and `key.sub=value` overrides describe: an Experiment, or another of MODELS.

    recipe: a path that ends in .yaml, or the name of one in `folder`. Raises ConfigError.
    """
    path = find_recipe(recipe, folder)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"recipe: cannot read {str(path)!r}: {error}") from error
    tree, positions = read_yaml(text, path.name)
    return parse(tree, overrides, positions)


def parse(
    tree: Mapping[str, Any], overrides: Sequence[str] = (), positions: Mapping[str, str] | None = None
) -> Any:
    """The same from plain dicts and lists. positions: where each dotted path was given, for messages."""
    filled, where = copy.deepcopy(dict(tree)), dict(positions or {})
    changes = [parse_override(text) for text in overrides]
    kind = next(
        (c.value for c in reversed(changes) if c.path == ("kind",)), tree.get("kind", "decentralised")
    )
    if str(kind) not in MODELS:
        raise ConfigError(f"kind: {unknown(str(kind), list(MODELS), 'kind')}{origin('kind', where)}")
    model = MODELS[str(kind)]
    apply_overrides(filled, changes, model)
    for change in changes:
        where[".".join(change.path)] = f"given as {change.text}"
    filled = resolve_references(filled, where)
    try:
        return model.model_validate(filled)
    except ValidationError as error:
        raise ConfigError(explain(error, model, filled, where)) from error


def to_yaml(experiment: Settings) -> str:
    """The resolved config, defaults included. It loads back to an equal object."""
    return OmegaConf.to_yaml(OmegaConf.create(experiment.model_dump(mode="json")))
