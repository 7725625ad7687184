"""Values cross between program and tests as text, and only as plain values."""

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turncoat.platform.sandboxes.exchange import exchange

pack, serve, result = exchange()

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
)
keys = st.integers() | st.text() | st.booleans() | st.none() | st.tuples(st.integers(), st.text())
values = st.recursive(
    scalars | st.sets(keys) | st.frozensets(keys),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=20,
)


def there_and_back(value):
    return result(serve(lambda x: x, pack(((value,), {}))))


def same(a, b) -> bool:
    """Equal with equal types, all the way down, signed zeros told apart."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(map(repr, a)) == list(map(repr, b)) and all(map(same, a.values(), b.values()))
    return a == b


@given(values)
@example(-0.0)
@settings(max_examples=100, deadline=None)
def test_literals_come_back_as_they_were(value):
    assert same(there_and_back(value), value)


class Liar:
    def __eq__(self, other):
        return True


@pytest.mark.parametrize("value", [Liar(), [Liar()], {"a": Liar()}, len, int, iter([]), range(3)], ids=repr)
def test_objects_do_not_cross(value):
    with pytest.raises(TypeError, match="is no literal"):
        there_and_back(value)


def test_subclasses_come_back_as_plain_values():
    class Lying(int):
        def __eq__(self, other):
            return True

        __hash__ = int.__hash__

    found = there_and_back(Lying(3))

    assert type(found) is int
    assert found != 4


@pytest.mark.parametrize("kind", [ValueError, KeyError, ZeroDivisionError, TypeError, RecursionError])
def test_common_exceptions_cross_by_name(kind):
    """Tests may want a certain exception."""

    def fails():
        raise kind("why")

    with pytest.raises(kind, match="why"):
        result(serve(fails, pack(((), {}))))


@pytest.mark.parametrize("kind", [AssertionError, OSError, type("ValueErrors", (Exception,), {})])
def test_other_exceptions_cross_as_runtime_errors(kind):
    """An AssertionError of the program's own is not one of the tests'."""

    def fails():
        raise kind("why")

    with pytest.raises(RuntimeError, match="why"):
        result(serve(fails, pack(((), {}))))


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "1",
        "null",
        "[]",
        '["value"]',
        '["value", 3]',
        '["value", "str"]',
        '["value", ["object", 1]]',
        '["value", ["dict", [["list", []], 1]]]',
        '["value", ["dict", [1]]]',
        '["value", ["int", 3]]',
        '["value", ["list", 7]]',
        '["raised", [], "x"]',
        '["raised"]',
        "[" * 100_000,
        '["value", ' + '["list", [' * 50_000,
        '{"value": 1}',
    ],
)
def test_forged_replies_raise_in_the_tests(reply: str):
    """Whatever a program writes in place of a reply, the tests get an exception or a plain value."""
    with pytest.raises((ValueError, TypeError, KeyError, IndexError, RecursionError)):
        result(reply)
