"""Dotted overrides: `peers.count=8`, `defences.0.k=5`, `defences='[{kind: support}]'`."""

import re
import types
from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel

from turncoat.platform.config.errors import ConfigError
from turncoat.platform.config.sources import first_line, plain
from turncoat.platform.registry import Registry

KEY = re.compile(r"[\w-]+(\.[\w-]+)*")


class Override(NamedTuple):
    text: str
    path: tuple[str, ...]
    value: Any


def parse_override(text: str) -> Override:
    """Split `key.sub=value`; the value is read as YAML. Raises ConfigError."""
    key, equals, value = text.partition("=")
    if not equals or not KEY.fullmatch(key):
        raise ConfigError(
            f"{text!r} is no override: allowed is key=value with a dotted key, such as peers.count=8"
        )
    try:
        parsed = plain(OmegaConf.from_dotlist([f"value={value}"]))["value"]
    except yaml.MarkedYAMLError as error:
        raise ConfigError(
            f"{key}: {value!r} is no YAML value: {error.problem}; put text in quotes"
        ) from error
    except (yaml.YAMLError, OmegaConfBaseException) as error:
        raise ConfigError(f"{key}: {value!r} is not allowed: {first_line(error)}") from error
    return Override(text, tuple(key.split(".")), parsed)


def apply_overrides(tree: dict[str, Any], overrides: Sequence[Override], model: type[BaseModel]) -> None:
    """Change `tree` in place, in order.

    Where an override changes the `kind` of a section whose fields follow from its kind, the recipe's other
    keys there belonged to the old kind and go, whichever order the overrides stand in. Raises ConfigError.
    """
    for override in overrides:
        *above, last = override.path
        section = lookup(tree, above)
        if (
            last == "kind"
            and isinstance(section, dict)
            and section.get("kind") != override.value
            and registry_at(model, above, tree)
        ):
            section.clear()
    for override in overrides:
        put(tree, override)


def lookup(tree: Any, path: Sequence[str]) -> Any:
    """What stands at `path`, or None."""
    for part in path:
        if isinstance(tree, dict):
            tree = tree.get(part)
        elif isinstance(tree, list) and part.isdecimal() and int(part) < len(tree):
            tree = tree[int(part)]
        else:
            return None
    return tree


def put(tree: dict[str, Any], override: Override) -> None:
    """Set one value, making the sections above it. Item n of a list of n appends to it."""
    here: Any = tree
    for depth, part in enumerate(override.path):
        below = override.path[depth + 1 : depth + 2]
        key: Any = part
        if isinstance(here, list):
            if not part.isdecimal() or int(part) > len(here):
                raise ConfigError(
                    f"{'.'.join(override.path[:depth])}: there is no item {part!r}; allowed are 0 to "
                    f"{len(here)}, the last of which appends (given as {override.text})"
                )
            key = int(part)
            if key == len(here):
                here.append(None)
        present = here[key] if isinstance(here, list) else here.get(key)
        if not below:
            here[key] = override.value
            return
        if isinstance(present, str):
            # The short form `attack: text` stands for {kind: text}.
            here[key] = {"kind": present}
        elif not isinstance(present, dict | list):
            here[key] = [] if below[0].isdecimal() else {}
        here = here[key]


def registry_at(model: type[BaseModel], path: Sequence[str], tree: Any = None) -> Registry | None:
    """The registry that gives the section at `path` its type by its kind; None where the type is fixed.

    tree: the config, whose kinds say what sections within such sections are (`task.sandbox`).
    """
    hint: Any = model
    metadata: Sequence[Any] = ()
    here = tree
    for part in path:
        outer = next((item for item in metadata if isinstance(item, Registry)), None)
        kind = here if isinstance(here, str) else lookup(here, ["kind"])
        if outer is not None and kind in outer.kinds():
            hint = outer.settings_of(kind)
        here = lookup(here, [part])
        if get_origin(hint) in (Union, types.UnionType):
            hint = next(choice for choice in get_args(hint) if choice is not type(None))
        if isinstance(hint, type) and issubclass(hint, BaseModel) and part in hint.model_fields:
            field = hint.model_fields[part]
            hint, metadata = field.annotation, field.metadata
        elif get_origin(hint) is list:
            hint, metadata = get_args(hint)[0], ()
            if get_origin(hint) is Annotated:
                hint, *metadata = get_args(hint)
        else:
            return None
    return next((item for item in metadata if isinstance(item, Registry)), None)
