"""Both sandboxes, shared by the tests of a file: what one attack leaves behind, the next would notice."""

from collections.abc import Iterator

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import SANDBOXES
from turncoat.platform.sandboxes.base import Sandbox

KINDS = ["monty", "bubblewrap"]


def build(kind: str, **settings) -> Sandbox:
    """The sandbox, or a skip with the reason where this machine cannot have it."""
    try:
        return SANDBOXES.build(SANDBOXES.parse({"kind": kind, **settings}))
    except BadInput as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def make():
    """`make(kind, **settings)`."""
    return build


@pytest.fixture(scope="module")
def sandbox(kind: str) -> Iterator[Sandbox]:
    with build(kind, libraries=["calc"], memory_mb=128, seconds=4.0) as made:
        yield made


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Sandbox]:
    with build("bubblewrap", libraries=["calc"], memory_mb=128, seconds=4.0) as made:
        yield made


@pytest.fixture(scope="module")
def monty() -> Iterator[Sandbox]:
    with build("monty", libraries=["calc"], memory_mb=128, seconds=4.0) as made:
        yield made
