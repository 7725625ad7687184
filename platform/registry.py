"""Find a class by its `kind`: one that ships, an entry point, or a dotted path `package.module:Class`.

Built-in kinds are dotted paths too, imported when asked for, so that reading a config pulls no torch. Where a
class needs torch itself, its settings live in a module of their own.
"""

import difflib
from collections.abc import Mapping
from functools import cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError


class Settings(BaseModel):
    """Base of every typed section of an experiment: frozen, numbers are finite, unknown keys are errors."""

    # Checkpoints keep the config as JSON, which has no infinity.
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def keys_are_known(cls, data: Any) -> Any:
        """Pydantic refuses unknown keys too, but does not say which ones there are."""
        for key in data if isinstance(data, Mapping) else ():
            if key not in cls.model_fields:
                message = "unknown key" + nearest(str(key), list(cls.model_fields))
                raise error_at(str(key), "unknown_key", message, data[key])
        return data


class Kinded(Settings):
    """Settings of something that is found by its `kind`."""

    kind: str


METHODS = {
    "attacks": "poison",
    "defences": "score",
    "judges": "rule",
    "sandboxes": "run",
    "tasks": "verify",
    "engines": "generate",
    "learners": "forward",
    "partitions": "rows",
    "aggregators": "shares",
    "compressors": "offer",
    "robust": "apply",
    "federated_attacks": "lie",
}
"""What a class of each family must be able to do."""


class Registry:
    """The kinds of one family (attacks, defences, tasks, ...).

    A registered class has an attribute `Settings`, a `Kinded` model with typed fields, and is built as
    `cls(settings)`.
    """

    def __init__(
        self,
        family: str,
        builtin: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        named: Mapping[str, str] | None = None,
    ):
        """settings: kind -> dotted path of its Settings, where the class itself is slow to import.
        named: kind -> a field of its Settings, which `kind:value` sets as well.
        """
        self.family = family
        self.builtin = dict(builtin)
        self.settings = dict(settings or {})
        self.named = dict(named or {})

    @cached_property
    def plugins(self) -> dict[str, str]:
        return {point.name: point.value for point in entry_points(group=f"turncoat.{self.family}")}

    def kinds(self) -> list[str]:
        """Every kind that can be named: built in, then plug-ins."""
        return [*self.builtin, *sorted(set(self.plugins) - set(self.builtin))]

    def path(self, kind: str) -> str:
        """`package.module:Class` of `kind`. Raises ValueError, with the nearest right name."""
        path = self.builtin.get(kind) or self.plugins.get(kind) or (kind if ":" in kind else None)
        if path is None:
            raise ValueError(unknown(kind, [*self.kinds(), "package.module:Class"], "kind"))
        return path

    def resolve(self, kind: str) -> type[Any]:
        """The class behind `kind`, imported. Raises ValueError if there is none."""
        path = self.path(kind)
        found = imported(path)
        if not (isinstance(found, type) and hasattr(found, "Settings")):
            raise ValueError(f"{path!r} is no class with a nested `Settings` model")
        if not hasattr(found, METHODS[self.family]):
            raise ValueError(
                f"{path!r} is none of the {self.family}: it has no method {METHODS[self.family]!r}"
            )
        return found

    def settings_of(self, kind: str) -> type[Kinded]:
        """The model of `kind`'s section. Raises ValueError if there is none."""
        path = self.settings.get(kind)
        return imported(path) if path else self.resolve(kind).Settings

    def parse(self, value: Any, kind: str | None = None) -> Kinded:
        """Turn `{kind: ..., ...}` or a bare kind into its settings. `kind`: what it is when not said."""
        if isinstance(value, Kinded):
            return value
        if isinstance(value, str):
            value = {"kind": value}
        if isinstance(value, Mapping) and kind:
            value = {"kind": kind, **value}
        if not isinstance(value, Mapping) or "kind" not in value:
            raise ValueError(f"needs a `kind`: one of {', '.join(self.kinds())}")
        kind, colon, name = str(value["kind"]).partition(":")
        if colon and kind in self.named:
            value = {**value, "kind": kind, self.named[kind]: name}
        kind = str(value["kind"])
        try:
            settings = self.settings_of(kind)
        except ValueError as error:
            raise error_at("kind", "unknown_kind", str(error), kind) from error
        return settings.model_validate(dict(value))

    def build(self, settings: Kinded, *args: Any) -> Any:
        """The object that these settings describe."""
        return self.resolve(settings.kind)(settings, *args)


def imported(path: str) -> Any:
    """What `package.module:Name` names. Raises ValueError if there is no such thing."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, TypeError) as error:  # TypeError: `.module`, relative to nothing
        raise ValueError(f"cannot import {path!r}: {error}") from error


def unknown(name: str, allowed: list[str], what: str) -> str:
    """The message for a name that is not allowed, with the nearest right one."""
    return f"unknown {what} {name!r}{nearest(name, allowed)}"


def nearest(name: str, allowed: list[str]) -> str:
    """The end of such a message: `; did you mean 'count'? Allowed: count, malicious`."""
    near = difflib.get_close_matches(name, allowed, n=1)
    return (f"; did you mean {near[0]!r}? " if near else ". ") + f"Allowed: {', '.join(allowed)}"


def error_at(key: str, code: str, message: str, value: Any) -> ValidationError:
    """An error of the field `key`. Raised in a validator, it is reported below that validator's own place."""
    # Pydantic fills {braces} in a message only from a context, and none is given.
    details = InitErrorDetails(type=PydanticCustomError(code, message), loc=(key,), input=value)
    return ValidationError.from_exception_data(key, [details])


ATTACKS = Registry(
    "attacks",
    {
        "none": "turncoat.platform.attacks.none:NoAttack",
        "text": "turncoat.platform.attacks.text:TextAttack",
        "length": "turncoat.platform.attacks.length:LengthAttack",
        "equation": "turncoat.platform.attacks.equation:EquationAttack",
        "library": "turncoat.platform.attacks.library:LibraryAttack",
        "evasive_text": "turncoat.platform.attacks.evasive_text:EvasiveTextAttack",
        "judge_injection": "turncoat.platform.attacks.judge_injection:JudgeInjection",
        "wrong_model": "turncoat.platform.attacks.wrong_model:WrongModel",
        "copycat": "turncoat.platform.attacks.copycat:Copycat",
        "hostile": "turncoat.platform.attacks.hostile:HostileMessages",
        "lookalike": "turncoat.platform.attacks.lookalike:LookAlike",
    },
)
DEFENCES = Registry(
    "defences",
    {
        "support": "turncoat.platform.defences.support:SupportCheck",
        "surprisal": "turncoat.platform.defences.surprisal:Surprisal",
        "duplicate": "turncoat.platform.defences.duplicate:Duplicate",
        "overrepresented": "turncoat.platform.defences.overrepresented:Overrepresented",
        "equation_check": "turncoat.platform.defences.equation_check:EquationCheck",
        "import_allowlist": "turncoat.platform.defences.import_allowlist:ImportAllowlist",
        "length_cap": "turncoat.platform.defences.length_cap:LengthCap",
        "fixed_sampling": "turncoat.platform.defences.fixed_sampling:FixedSampling",
        "replay": "turncoat.platform.defences.replay:Replay",
        "judge": "turncoat.platform.defences.judge:JudgeDefence",
        "self_judge": "turncoat.platform.defences.self_judge:SelfJudge",
    },
)
TASKS = Registry(
    "tasks",
    {
        "arithmetic": "turncoat.platform.tasks.arithmetic:ArithmeticTask",
        "gsm8k": "turncoat.platform.tasks.gsm8k:Gsm8kTask",
        "math": "turncoat.platform.tasks.math:MathTask",
        "programs": "turncoat.platform.tasks.programs:ProgramsTask",
        "openmath_code": "turncoat.platform.tasks.openmath_code:OpenMathCodeTask",
        "humaneval": "turncoat.platform.tasks.humaneval:HumanEvalTask",
        "mbpp": "turncoat.platform.tasks.mbpp:MbppTask",
        "reasoning_gym": "turncoat.platform.tasks.reasoning_gym:ReasoningGymTask",
    },
    named={"reasoning_gym": "dataset"},
)
ENGINES = Registry(
    "engines",
    {"transformers": "turncoat.platform.engines.transformers:TransformersEngine"},
    settings={"transformers": "turncoat.platform.engines.settings:TransformersSettings"},
)
LEARNERS = Registry(
    "learners",
    {"torch": "turncoat.platform.learners.torch:TorchLearner"},
    settings={"torch": "turncoat.platform.learners.settings:TorchSettings"},
)
JUDGES = Registry(
    "judges",
    {
        "model": "turncoat.platform.judges.model:ModelJudge",
        "openai": "turncoat.platform.judges.openai:OpenAIJudge",
    },
    settings={"model": "turncoat.platform.judges.settings:ModelJudgeSettings"},
)
SANDBOXES = Registry(
    "sandboxes",
    {
        "monty": "turncoat.platform.sandboxes.monty:MontySandbox",
        "bubblewrap": "turncoat.platform.sandboxes.bubblewrap:BubblewrapSandbox",
    },
)
AGGREGATORS = Registry(
    "aggregators",
    {
        "uniform": "turncoat.platform.federation.weights.uniform:Uniform",
        "by_samples": "turncoat.platform.federation.weights.by_samples:BySamples",
        "signal_weighted": "turncoat.platform.federation.weights.signal_weighted:SignalWeighted",
        "relative_gain": "turncoat.platform.federation.weights.relative_gain:RelativeGain",
        "task_accuracy": "turncoat.platform.federation.weights.task_accuracy:TaskAccuracy",
    },
)
ROBUST = Registry(
    "robust",
    {
        "norm_clip": "turncoat.platform.federation.robust.norm_clip:NormClip",
        "krum": "turncoat.platform.federation.robust.krum:Krum",
        "multi_krum": "turncoat.platform.federation.robust.krum:MultiKrum",
        "trimmed_mean": "turncoat.platform.federation.robust.trimmed_mean:TrimmedMean",
        "coordinate_median": "turncoat.platform.federation.robust.coordinate_median:CoordinateMedian",
        "geometric_median": "turncoat.platform.federation.robust.geometric_median:GeometricMedian",
        "fltrust": "turncoat.platform.federation.robust.fltrust:FLTrust",
    },
)
COMPRESSORS = Registry(
    "compressors",
    {
        "dense": "turncoat.platform.federation.compression.dense:Dense",
        "natural": "turncoat.platform.federation.compression.natural:Natural",
        "sparsyfed": "turncoat.platform.federation.compression.sparsyfed:SparsyFed",
        "top_k": "turncoat.platform.federation.compression.top_k:TopK",
        "sparse_loco": "turncoat.platform.federation.compression.sparse_loco:SparseLoCo",
    },
)
FEDERATED_ATTACKS = Registry(
    "federated_attacks",
    {
        "signal_inflation": "turncoat.platform.federation.attacks.signal_inflation:SignalInflation",
        "sign_flip": "turncoat.platform.federation.attacks.sign_flip:SignFlip",
        "scaled_update": "turncoat.platform.federation.attacks.scaled_update:ScaledUpdate",
        "little_is_enough": "turncoat.platform.federation.attacks.little_is_enough:LittleIsEnough",
        "free_rider": "turncoat.platform.federation.attacks.free_rider:FreeRider",
    },
)
PARTITIONS = Registry(
    "partitions",
    {
        "iid": "turncoat.platform.federation.partition.iid:Iid",
        "by_level": "turncoat.platform.federation.partition.by_value:ByLevel",
        "by_topic": "turncoat.platform.federation.partition.by_value:ByTopic",
        "by_length": "turncoat.platform.federation.partition.by_value:ByLength",
        "dirichlet": "turncoat.platform.federation.partition.dirichlet:Dirichlet",
        "shards": "turncoat.platform.federation.partition.shards:Shards",
    },
)
