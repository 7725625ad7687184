"""One line for a person out of pydantic's list of errors."""

import re
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from turncoat.platform.config.overrides import registry_at
from turncoat.platform.config.sources import origin
from turncoat.platform.registry import nearest

LONGEST_VALUE = 60


def explain(
    error: ValidationError, model: type[BaseModel], tree: dict[str, Any], positions: dict[str, str]
) -> str:
    """The first wrong field of `tree`: its dotted name and value, what is allowed, where it was given."""
    errors = error.errors(include_url=False)
    path = field_path(errors[0], tree)
    # A union reports each of its branches.
    alike = [details for details in errors if field_path(details, tree) == path]
    texts = list(dict.fromkeys(describe(details, model, path) for details in alike))
    name = ".".join(path)
    head = f"{name}: " if name else ""
    others = len({tuple(field_path(details, tree)) for details in errors}) - 1
    more = f" (and {others} more)" if others else ""
    return " ".join(f"{head}{', or '.join(texts)}{origin(name, positions)}{more}".split())


def field_path(details: ErrorDetails, tree: Any) -> list[str]:
    """The error's location without the names of union branches, which are no keys of the config."""
    path = []
    *above, last = details["loc"] or ("",)
    for part in above:
        if (isinstance(tree, dict) and part in tree) or isinstance(tree, list):
            path.append(str(part))
            tree = tree[cast(Any, part)]
    absent = details["type"] == "missing"
    if last != "" and (absent or (isinstance(tree, dict) and last in tree) or isinstance(last, int)):
        path.append(str(last))
    return path


def describe(details: ErrorDetails, model: type[BaseModel], path: Sequence[str]) -> str:
    value, message = shown(details["input"]), details["msg"]
    context = details.get("ctx", {})
    if details["type"] == "missing":
        registry = registry_at(model, path)
        kinds = f" Allowed kinds: {', '.join(registry.kinds())}" if registry else ""
        return f"missing, and it has no default.{kinds}"
    if details["type"] == "literal_error":
        choices = re.findall(r"'([^']*)'", context["expected"])
        return f"{value} is not allowed{nearest(str(details['input']), choices)}"
    if details["type"] in ("unknown_key", "unknown_kind"):
        return message
    if details["type"] == "value_error":
        message = str(context["error"])
        whole = isinstance(details["input"], dict | BaseModel)
        return message if whole or str(details["input"]) in message else f"{message}, got {value}"
    if details["type"] == "model_type":
        return f"{value} is not allowed; it should be a section of keys and values"
    rule = re.sub(r"^[A-Z]\w+ should", "it should", message.split(", unable to")[0])
    return f"{value} is not allowed; {rule}"


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}…"
