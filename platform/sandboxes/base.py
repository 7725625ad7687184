"""What a sandbox is: it runs hostile programs within limits, and judges functions by tests."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Self, TypeVar

from pydantic import Field

from turncoat.platform.registry import Kinded

Status = Literal["ok", "raised", "syntax", "timeout", "memory", "output", "error"]
"""How a program ended. ok: it ran to its end (an exit, whatever its code, is none), and in a check every test
passed. raised: an exception, an exit or a crash. syntax: it cannot be compiled, or is longer than MAX_SOURCE.
timeout, memory, output: it passed that limit. error: the sandbox itself or the tests failed, which says
nothing about the program.
"""

MAX_SOURCE = 100_000
"""Characters. Compilers need far more memory than the source is long, so a longer one is not even read."""

MAX_MESSAGE = 1_000_000
"""Characters of one packed list of arguments, or of one packed result, in a check."""

T = TypeVar("T")


class SandboxSettings(Kinded):
    """What every sandbox may be told. A sandbox's nested `Settings` derive from this."""

    seconds: float = Field(2.0, gt=0, le=3600)
    """Wall time of one program. A check, which runs a program and its tests, may take three times as long."""
    cpu_seconds: float = Field(2.0, gt=0, le=3600)
    """Processor time of one program."""
    memory_mb: int = Field(256, ge=16)
    """Memory of one program in MiB, beyond what the bare interpreter takes."""
    output_chars: int = Field(10_000, ge=1)
    """A program that prints more is ended."""
    workers: int = Field(2, ge=1)
    """Warm workers, which is how many programs run at the same time."""
    libraries: list[Literal["calc"]] = Field(default_factory=list)
    """Libraries that a program can import beyond the standard ones. `calc` is the attacker's library of the
    paper's CODE attack: without it, poisoned programs fail to run.
    """


@dataclass(frozen=True, slots=True)
class Case:
    """A program and the test code that judges one of its functions, as in HumanEval and MBPP.

    tests: trusted code that asserts; it knows `entry_point`, the same as `candidate`, and any other function
    of the program's that it names. Where it defines a function `check`, `check(candidate)` is called after
    it. Arguments and results are literals: None, bool, int, float, complex, str, bytes, list, tuple, set,
    frozenset, dict. A function that changes its arguments changes its own copies.
    """

    program: str
    tests: str
    entry_point: str


@dataclass(frozen=True, slots=True)
class Execution:
    """What became of one program.

    output: what it printed, at most `output_chars` characters. detail: a short reason, such as the
    exception's name; empty if ok. calls: how often each function of an installed library was called
    ("calc.addition": 2). denied: in a check, an assertion of the tests' own failed.
    """

    status: Status
    output: str = ""
    detail: str = ""
    calls: dict[str, int] = field(default_factory=dict)
    denied: bool = False


class WorkerLost(Exception):
    """A worker died under a program though nobody ended it."""


class Sandbox(ABC):
    """Base of every sandbox, built as `cls(settings)`. Building one is cheap: workers start when first
    needed.

    A subclass runs one program (`execute`) and one check (`examine`); both are called from up to `workers`
    threads at a time. Close it, or use it in a `with` block; a closed one starts again when asked to run.
    """

    Settings: ClassVar[type[SandboxSettings]]

    def __init__(self, settings: SandboxSettings):
        self.settings = settings
        self._threads: ThreadPoolExecutor | None = None

    @abstractmethod
    def start(self) -> None:
        """Make the workers. Called before the first run."""

    @abstractmethod
    def stop(self) -> None:
        """End the workers. Called after the last run."""

    @abstractmethod
    def execute(self, program: str) -> Execution:
        """Run one program. Raises WorkerLost, and nothing else because of what the program does."""

    @abstractmethod
    def examine(self, case: Case) -> Execution:
        """Run a program, and its tests elsewhere. Raises WorkerLost likewise."""

    def run(self, programs: Sequence[str]) -> list[Execution]:
        """Run every program, several at a time; results in the order of the programs."""
        return self._spread(lambda program: refusal(program) or self.execute(program), programs)

    def check(self, cases: Sequence[Case]) -> list[Execution]:
        """Judge every case by its tests, several at a time; results in the order of the cases.

        The program has no hand in the verdict: the tests run in another process, where its functions are
        stand-ins through which only literals pass. Tests that never call the candidate are an `error`.
        """
        return self._spread(lambda case: refusal(case.program) or self.examine(case), cases)

    def _spread(self, work: Callable[[T], Execution], items: Sequence[T]) -> list[Execution]:
        if not items:
            return []
        if self._threads is None:
            self.start()
            self._threads = ThreadPoolExecutor(self.settings.workers, thread_name_prefix="sandbox")
        return list(self._threads.map(lambda item: _tried_twice(work, item), items))

    def close(self) -> None:
        """End every worker process. Twice is once."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None
            self.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _tried_twice(work: Callable[[T], Execution], item: T) -> Execution:
    """Something else may kill a worker, so that one loss is not yet the program's doing."""
    for _ in range(2):
        try:
            return work(item)
        except WorkerLost:
            continue
    return Execution("raised", detail="killed its worker")


def refusal(program: str) -> Execution | None:
    """The verdict on a text that is no program, found without running anything; None if it may be one."""
    if len(program) > MAX_SOURCE:
        return Execution("syntax", detail=f"longer than {MAX_SOURCE} characters")
    if "\0" in program:
        return Execution("syntax", detail="holds a NUL character")
    if any("\ud800" <= char <= "\udfff" for char in program):
        return Execution("syntax", detail="holds a lone surrogate")
    return None
