"""If these fail, one peer's data end a round for all, or count in another's name."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from turncoat.platform.admission import MAX_ROW, admit, admit_choices
from turncoat.platform.config.loading import parse
from turncoat.platform.ids import CompletionId
from turncoat.platform.records import Completion, Contribution, Prompt
from turncoat.platform.rounds import slots_of

EXPERIMENT = parse({"task": "arithmetic", "attack": "text", "prompts_per_round": 2, "group_size": 8})
OWED = slots_of(EXPERIMENT, 5, 3)
PROMPTS = {q: Prompt(f"row/{q}", "How many?", "so", "1") for q in range(2)}
GOOD = tuple(Completion(id, f"row/{id.prompt}", "text") for id in OWED)
LIMIT = 10


def admitted(*completions: Any) -> tuple[dict, dict[str, int]]:
    truths = ("poisoned",) * len(completions)
    found, refused = admit(Contribution(5, 3, completions, truths), OWED, PROMPTS, LIMIT)
    return found, dict(refused)


def test_all_that_is_owed_comes_in():
    """With its truth, for the observer."""
    found, refused = admitted(*GOOD)
    assert refused == {}
    assert found == {one.id: (one, "poisoned") for one in GOOD}
    assert admitted(*GOOD[::-1])[0] == found


def first(**changes: Any) -> Completion:
    return replace(GOOD[0], **changes)


class Fake:
    id, prompt_id, text, finished = OWED[0], "row/0", "text", True


@pytest.mark.parametrize(
    ("hostile", "reason"),
    [
        (None, "type"),
        ("text", "type"),
        (Fake(), "type"),
        (tuple(OWED[0]), "type"),
        (first(text=b"text"), "type"),
        (first(text=None), "type"),
        (first(text=["a"]), "type"),
        (first(finished=1), "type"),
        (first(finished=None), "type"),
        (first(id=None), "foreign"),
        (first(id=tuple(OWED[0])), "foreign"),
        (first(id=OWED[0]._replace(peer=0)), "foreign"),
        (first(id=OWED[0]._replace(round=4)), "foreign"),
        (first(id=OWED[0]._replace(round=6)), "foreign"),
        (first(id=OWED[0]._replace(prompt=2)), "foreign"),
        (first(id=OWED[0]._replace(prompt=-1)), "foreign"),
        (first(id=OWED[0]._replace(sample=2)), "foreign"),
        (first(id=OWED[0]._replace(round=5.0)), "foreign"),
        (first(id=OWED[0]._replace(prompt=False)), "foreign"),
        (first(id=OWED[0]._replace(sample=[0])), "foreign"),
        (first(id=OWED[0]._replace(sample=float("nan"))), "foreign"),
        (first(id=OWED[0]._replace(peer="3")), "foreign"),
        (first(prompt_id="row/1"), "prompt"),
        (first(prompt_id=None), "prompt"),
        (first(prompt_id=0), "prompt"),
        (first(prompt_id=b"row/0"), "prompt"),
        (first(prompt_id=np.zeros(2)), "prompt"),
        (first(text="a" * 10_000_000), "oversized"),
        (first(text="a" * 353), "oversized"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_not_as_owed_is_refused_by_reason(hostile: Any, reason: str):
    """Equal is not enough: 5.0 equals 5, and would travel on into seeds, names and files."""
    start = time.perf_counter()
    found, refused = admitted(hostile, *GOOD[1:])
    assert time.perf_counter() - start < 0.1
    assert refused == {reason: 1, "missing": 1}
    assert sorted(found) == OWED[1:]


@pytest.mark.parametrize("text", ["", "\ud800", "\x00\x07", "<eos>", "a" * 352])
def test_any_text_within_the_length_comes_in(text: str):
    """Whether a text is any good is for every receiver to judge by itself."""
    assert admitted(first(text=text), *GOOD[1:])[1] == {}


def test_the_first_of_several_for_one_slot_counts():
    """A peer owes one completion per slot, and cannot send a better one after it."""
    found, refused = admitted(*GOOD, first(text="another"), *GOOD)
    assert refused == {"duplicate": len(GOOD) + 1}
    assert found[OWED[0]][0].text == "text"


def test_nothing_sent_is_all_missing():
    """A silent peer ends no round."""
    assert admitted() == ({}, {"missing": len(OWED)})


def test_ids_come_in_as_plain_integers():
    """Journals and seeds are made of them."""
    found, _ = admitted(*GOOD)
    assert all(type(part) is int for id in found for part in id)
    assert all(type(id) is CompletionId for id in found)


def test_choices_are_admitted_group_by_group():
    """In the order of the peer's own groups; none is allowed too, and so is one row for all."""
    assert admit_choices((7, 0, MAX_ROW - 1), range(3, 6)) == ({3: 7, 4: 0, 5: MAX_ROW - 1}, {})
    assert admit_choices((7, 7), range(2)) == ({0: 7, 1: 7}, {})
    assert admit_choices((), range(2)) == ({}, {})


@pytest.mark.parametrize(
    "hostile",
    [
        None,
        5,
        "01",
        b"01",
        [1, 2],
        {},
        {1, 2},
        np.array([1, 2]),
        np.array([]),
        (1,),
        (1, 2, 3),
        (1, -1),
        (1, MAX_ROW),
        (1, 10**400),
        (1, 2.0),
        (1, float("nan")),
        (1, True),
        (1, None),
        (1, "2"),
        (1, np.int64(2)),
        (1, [2]),
        (0,) * 1_000_000,
    ],
    ids=lambda value: repr(value)[:20],
)
def test_any_other_choice_is_refused_and_nothing_chosen(hostile: Any):
    """A row that the task cannot compute, or only in an hour, would end or hold up the round for all."""
    assert admit_choices(hostile, range(2)) == ({}, {"choices": 1})
