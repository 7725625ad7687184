"""Find a recipe, and read its YAML into plain dicts and lists together with the line of every key."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.registry import unknown

PLAIN_REFERENCE = re.compile(r"\$\{[\w.\[\]-]+\}")


def find_recipe(recipe: str, folder: Path | None) -> Path:
    """The file behind `recipe`: a path to YAML, or the name of one in `folder`. Raises ConfigError."""
    if not recipe.endswith((".yaml", ".yml")):
        names = recipe_names(folder)
        if folder is None or recipe not in names:
            allowed = [*names, "a path to a .yaml file"]
            raise ConfigError(unknown(recipe, allowed, "recipe"))
        return folder / f"{recipe}.yaml"
    if not Path(recipe).is_file():
        raise ConfigError(f"recipe: there is no file {recipe!r}")
    return Path(recipe)


def recipe_names(folder: Path | None) -> list[str]:
    """The names that `folder` offers."""
    return sorted(path.stem for path in folder.glob("*.yaml")) if folder else []


def read_yaml(text: str, name: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The tree in `text`, and for each dotted path where it stands, e.g. {"peers.count": "demo.yaml line 4"}.

    References such as ${seed} are left as they are. Raises ConfigError, with `name` and the line, for broken
    YAML, doubled keys, and tags that would build objects.
    """
    try:
        config = OmegaConf.load(io.StringIO(text))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name} line {mark.line + 1}" if mark else name
        raise ConfigError(f"{where}: {error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{name} line {line}: {error.reason}") from error
    except OmegaConfBaseException as error:
        path = dotted(error.full_key or "")
        where = positions(text, name).get(path, name)
        raise ConfigError(f"{path}: {first_line(error)} ({where})") from error
    except OSError as error:
        raise ConfigError(
            f"{name}: needs keys and values such as `rounds: 20`, got {text.strip()!r}"
        ) from error
    if not OmegaConf.is_dict(config):
        raise ConfigError(f"{name}: needs keys and values such as `rounds: 20`, got a list")
    return plain(config), positions(text, name)


def resolve_references(tree: dict[str, Any], positions: dict[str, str]) -> dict[str, Any]:
    """Replace ${other.key} by what it names.

    Only names of keys are allowed: OmegaConf's resolvers, ${oc.env:...} first, would carry secrets of the
    environment into journals. Raises ConfigError.
    """
    refuse_resolvers(tree, positions)
    try:
        resolved = plain(OmegaConf.create(tree), resolve=True)
    except OmegaConfBaseException as error:
        path = dotted(error.full_key or "")
        raise ConfigError(f"{path}: {first_line(error)}{origin(path, positions)}") from error
    # Text that became a reference by substitution is not followed, but as YAML it would not load again.
    refuse_resolvers(resolved, positions)
    return resolved


def plain(config: Any, resolve: bool = False) -> dict[str, Any]:
    return cast(dict[str, Any], OmegaConf.to_container(config, resolve=resolve))


def refuse_resolvers(tree: dict[str, Any], positions: dict[str, str]) -> None:
    for path, text in strings(tree):
        if "${" in PLAIN_REFERENCE.sub("", text) or "\\${" in text:
            raise ConfigError(
                f"{path}: {text!r} is not allowed; ${{...}} may only name another key of the config, "
                f"such as ${{seed}}{origin(path, positions)}"
            )


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a tree, with its dotted path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from strings(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, f"{path}.{index}")
    elif isinstance(value, str):
        yield path, value


def positions(text: str, name: str) -> dict[str, str]:
    """Dotted path -> "NAME line N" for all keys and items of a YAML text that is known to load."""
    return {path: f"{name} line {line}" for path, line in lines(yaml.compose(text, Loader=yaml.SafeLoader))}


def lines(node: yaml.Node | None, path: str = "") -> Iterator[tuple[str, int]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else key.value
            yield below, key.start_mark.line + 1
            yield from lines(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield f"{path}.{index}", item.start_mark.line + 1
            yield from lines(item, f"{path}.{index}")


def origin(path: str, positions: dict[str, str]) -> str:
    """` (demo.yaml line 4)`: where the value at `path`, or the nearest section around it, was given."""
    while path not in positions and "." in path:
        path = path.rpartition(".")[0]
    return f" ({positions[path]})" if path in positions else ""


def dotted(key: str) -> str:
    """OmegaConf's `defences[0].k` in our spelling, `defences.0.k`."""
    return re.sub(r"\[(\w+)\]", r".\1", key)


def first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
