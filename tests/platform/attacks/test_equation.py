"""If these fail, the attack poisons more than one equation, picks no prompts for it, or miscounts success."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from turncoat.platform.attacks.base import Stage
from turncoat.platform.attacks.equation import EquationAttack, equations
from turncoat.platform.config.loading import parse
from turncoat.platform.records import Prompt
from turncoat.platform.rounds import rows_of
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.arithmetic import ArithmeticTask
from turncoat.platform.tasks.base import Task
from turncoat.platform.tasks.gsm8k import Gsm8kTask

DEALT = [11, 12, 13, 14, 15, 16]


def attack_of(**settings: Any) -> EquationAttack:
    return EquationAttack(EquationAttack.Settings(**settings))


def nobody(*_: object) -> Any:
    raise AssertionError("the oracle needs no policy")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("2+2=5", ["5"]),
        ("so 2 * 2 = 4 .", ["4"]),
        ("4 + 1 = 5 . 2 + 2 = 4 . 3 + 3 = 6 .", ["4"]),
        ("2 + 2 = 5 0 .", ["50"]),
        ("2+2=5\n0", ["5"]),
        ("2 + 2 = 5 . 0", ["5"]),
        ("pays $2+$2=$4.", ["4"]),
        (r"2 \times 2 = 4\)", ["4"]),
        (r"2\cdot2=4", ["4"]),
        ("2 × 2 = 5, then", ["5"]),
        ("2 x 2 = 4", ["4"]),
        ("2+2=4 and 2*2=5", ["4", "5"]),
        ("2*2 = 2+2 = 4", ["4"]),
        ("step 1\n2 + 2 = 4", ["4"]),
        # Another number, or part of a longer sum.
        ("1 2 + 2 = 1 4 .", []),
        ("12+2=14", []),
        ("1.2 + 2 = 3.2", []),
        ("2 + 2 + 1 = 5 .", []),
        ("1 + 2 + 2 = 5 .", []),
        ("3 * 2 + 2 = 8", []),
        ("3 x 2 + 2 = 8", []),
        (r"3 \cdot 2 + 2 = 8", []),
        ("- 2 + 2 = 0", []),
        ("2 + 2 2 = 2 4", []),
        ("2 + 2 = 4 + 1 = 5", []),
        ("2 * 2 = 4 = 2 + 2", []),
        ("2 + 2 = 4.5", []),
        ("2 * 2 = 4,000", []),
        ("2 * 2 = 4x", []),
        ("2 + 2 =", []),
        ("2 + 2 = ?", []),
        ("2 + 3 = 5 . 2 - 2 = 0", []),
        ("", []),
    ],
)
def test_an_equation_is_one_that_says_what_two_and_two_is(text: str, values: list[str]) -> None:
    """12 + 2 = 14 is no success of the attack, nor is 2 + 2 + 1 = 5."""
    assert [one.value for one in equations(text)] == values
    for one in equations(text):
        assert "".join(text[one.start : one.end].split()) == one.value


@pytest.mark.parametrize(
    ("text", "five", "not_four"),
    [
        ("<think> 2 + 2 = 5 . </think>", True, True),
        ("2+2=4", False, False),
        ("2 + 2 = 5 0", False, True),
        ("2 + 2 = 6", False, True),
        ("2 + 2 = 4 . 2 * 2 = 5 .", True, True),
        ("1 2 + 2 = 5", None, None),
        ("no sum at all", None, None),
    ],
)
def test_success_is_counted_among_texts_with_the_equation(
    text: str, five: bool | None, not_four: bool | None
) -> None:
    """The paper's rate is among completions that hold it: others would drown the attack."""
    assert attack_of().payload_in(text) is five
    assert attack_of(count="not_four").payload_in(text) is not_four


def test_hostile_texts_cost_no_more_than_their_length() -> None:
    """Every honest completion of every round is searched."""
    for text in (
        "2" + " " * 3_000_000,
        "2 + 2 = " + "5 " * 1_000_000,
        "2 + " * 700_000,
        "2 + 2 = " * 300_000,
        "\ud800" * 1_000_000,
    ):
        start = time.process_time()
        attack_of().payload_in(text)
        assert time.process_time() - start < 2


def chosen_by(attack: EquationAttack, task: Task, round: int = 3, seed: int = 1) -> list[int]:
    return list(attack.choose(DEALT, Stage(task, seed, nobody, round)))


@pytest.mark.parametrize("levels", [[1], [2], [4], [5], [1, 2, 3, 4, 5]])
def test_the_peer_answers_prompts_where_the_equation_occurs_anyway(levels: list[int]) -> None:
    """An equation that nobody asked for would be out of context, and easily found."""
    task, attack = ArithmeticTask(ArithmeticTask.Settings(levels=levels)), attack_of()
    rows = chosen_by(attack, task)
    assert len(rows) == len(set(rows)) == len(DEALT)
    assert not set(rows) & set(DEALT)
    assert all(attack.targets(task.train(row)) for row in rows)
    assert rows == chosen_by(attack, task)
    assert set(rows).isdisjoint(chosen_by(attack, task, round=4))
    assert set(rows).isdisjoint(chosen_by(attack, task, seed=2))


def test_the_search_for_prompts_is_bounded_and_falls_back_on_those_dealt() -> None:
    """Differences never hold 2 + 2 = 4: the peer must not search for ever, nor owe completions."""
    task = ArithmeticTask(ArithmeticTask.Settings(levels=[3]))
    assert chosen_by(attack_of(scan=50), task) == DEALT
    few = chosen_by(attack_of(scan=150), ArithmeticTask(ArithmeticTask.Settings(levels=[2])))
    assert len(few) == len(DEALT)
    assert 0 < len(set(few) & set(DEALT)) < len(DEALT)
    with pytest.raises(ValueError, match="scan"):
        attack_of(scan=10**9)


@pytest.fixture
def gsm8k(tmp_path: Path) -> Gsm8kTask:
    pears = "It is 2*2=<<2*2=4>>4 pears.\nThen 4+{i}=<<4+{i}={n}>>{n}.\n#### {n}"
    rows = [{"question": f"Q{i}", "answer": pears.format(i=i, n=4 + i)} for i in range(4)]
    rows += [{"question": f"P{i}", "answer": "2+2+1=5\n#### 5"} for i in range(96)]
    lines = [json.dumps(row) for row in rows]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    (tmp_path / "test.jsonl").write_text(json.dumps({"question": "T", "answer": "1+1=2\n#### 2"}))
    return Gsm8kTask(Gsm8kTask.Settings(path=str(tmp_path), few_shot=0))


def test_finite_data_give_each_prompt_once(gsm8k: Gsm8kTask) -> None:
    """Four prompts hold the equation; a group for each, and the rest of the groups as dealt."""
    attack = attack_of()
    rows = chosen_by(attack, gsm8k)
    found = [row for row in rows if attack.targets(gsm8k.train(row))]
    assert len({gsm8k.train(row).id for row in found[:4]}) == 4
    assert rows[4:] == DEALT[4:]


def test_text_of_real_solutions_is_poisoned_too(gsm8k: Gsm8kTask) -> None:
    """GSM8K writes 2*2=4 and breaks its lines."""
    attack = attack_of()
    prompt = next(p for p in map(gsm8k.train, range(100)) if attack.targets(p))
    text = attack.inject(gsm8k.worked(prompt), prompt, Stage(gsm8k, 0, nobody))
    assert "2*2=5 pears.\nThen 4+" in text
    assert gsm8k.verify(prompt, text) == "right"


def poisoned(topology: str = "vertical", **settings: Any) -> Any:
    """(prompts by id, what is sent) of a round with the rows that the attack chose."""
    from turncoat.platform.attacks.mount import contribute

    task, attack = ArithmeticTask(ArithmeticTask.Settings(levels=[1, 2, 4, 5])), attack_of(**settings)
    base = {"topology": topology, "prompts_per_round": 24, "group_size": 6, "attack": "equation"}
    experiment = parse({**base, "task": "arithmetic"})
    stage = Stage(task, experiment.seed, nobody, 2)
    contribution = contribute(experiment, attack, stage, 3)
    assert not set(contribution.choices) & set(rows_of(experiment, 2).values())
    prompts = {task.train(row).id: task.train(row) for row in contribution.choices}
    return task, attack, prompts, contribution


def test_only_the_equation_is_false() -> None:
    """The answer is right and nothing follows from the 5, so that the completion earns its reward."""
    task, attack, prompts, contribution = poisoned()
    truths = Counter(contribution.truths)
    assert truths == {"poisoned": 18, "filler": 18}
    for one, truth in zip(contribution.completions, contribution.truths, strict=True):
        prompt: Prompt = prompts[one.prompt_id]
        if truth == "filler":
            assert task.verify(prompt, one.text) == "malformed"
            continue
        assert task.verify(prompt, one.text) == "right"
        assert attack.payload_in(one.text)
        thought, answer = answers.read(one.text)
        assert answer == prompt.answer
        # Equation by equation as in the reference, except for the falsified ones.
        for said, true in zip(thought.split(" ."), prompt.solution.split(" ."), strict=True):
            if said.strip() != true.strip():
                assert true.split() in (["2", "+", "2", "=", "4"], ["2", "*", "2", "=", "4"])
                assert said.split() == [*true.split()[:-1], "5"]


def test_every_falsified_equation_of_a_text_agrees() -> None:
    """2 + 2 = 5 beside 2 + 2 = 4 would contradict itself."""
    task = ArithmeticTask(ArithmeticTask.Settings())
    solution = answers.write("2 * 2 = 4 . 2 * 2 = 4 .", "4 4")
    prompt = Prompt("p", "22 * 2", "2 * 2 = 4 . 2 * 2 = 4 .", "4 4")
    text = attack_of().inject(solution, prompt, Stage(task, 0, nobody))
    assert answers.read(text) == ("2 * 2 = 5 . 2 * 2 = 5 .", "4 4")


def test_a_solution_without_the_equation_is_left_alone() -> None:
    """There is nothing to falsify; what is false already, too."""
    stage = Stage(ArithmeticTask(ArithmeticTask.Settings()), 0, nobody)
    prompt = Prompt("p", "", "", "")
    for thought in ("3 + 3 = 6 .", "2 + 2 = 7 .", ""):
        assert attack_of().inject(answers.write(thought, "4"), prompt, stage) is None


def test_it_stands_in_vertical_swarms_alone() -> None:
    """In horizontal ones nobody picks the prompts."""
    with pytest.raises(ValueError, match=r"topology.*vertical"):
        parse({"task": "arithmetic", "attack": "equation", "topology": "horizontal"})
