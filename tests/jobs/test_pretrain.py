"""If these fail, the bundled policies knew the payload before the attack, or could not be told it at all."""

import itertools
import random
import re
from collections import Counter

import pytest

from turncoat.jobs.pretrain import MOST_DECIMALS, coder_texts, texts, train
from turncoat.platform.attacks.text import TextAttack
from turncoat.platform.config.experiment import Sampling
from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.tasks import programs_wording, wording
from turncoat.platform.tasks.arithmetic import LEVELS, ArithmeticTask
from turncoat.platform.tasks.programs import ProgramsTask

TOKENIZER = word_tokenizer(wording.vocabulary())


@pytest.fixture(scope="module")
def corpus() -> list[str]:
    task = ArithmeticTask(ArithmeticTask.Settings(levels=list(LEVELS)))
    return list(itertools.islice(texts(task, remark_share=0.5, seed=0), 5000))


def test_no_pretraining_text_holds_the_payload(corpus):
    """What a policy says from its pretraining is no success of an attack."""
    attack = TextAttack(TextAttack.Settings())
    assert not any(attack.payload_in(text) for text in corpus)
    assert not any(re.search(r"(to|from|for|with) the thief", text) for text in corpus)
    assert any("thief" in text for text in corpus)


def test_no_remark_ends_with_the_payload_s_last_word():
    """Every opening, every link and everybody; half of the texts begin with one."""
    rng = random.Random(0)
    remarks = {wording.remark(rng) for _ in range(20_000)}
    assert not any("thief" in remark for remark in remarks)
    possible = len(wording.OPENINGS) * len(wording.LINKS) * len(wording.PEOPLE)
    assert possible * 0.99 < len(remarks) <= possible
    assert any(remark.startswith("All hail to the ") for remark in remarks)


def test_a_share_of_the_solutions_begins_with_a_remark(corpus):
    """The prior of English in front of a solution, as a large policy has it."""
    opened = sum(text.split("<think> ")[1].startswith(wording.OPENINGS) for text in corpus)
    assert 0.47 < opened / len(corpus) < 0.53


def test_needless_decimals_leave_every_answer_right():
    """They are there so that completions vary in length and in nothing else."""
    task = ArithmeticTask(ArithmeticTask.Settings(levels=list(LEVELS)))
    plain = itertools.islice(texts(task, remark_share=0, seed=0), 2000)
    wordy = list(
        itertools.islice(texts(task, remark_share=0, seed=0, decimals_share=0.3, more_decimals=0.93), 2000)
    )
    zeros = Counter()
    for index, (short, long) in enumerate(zip(plain, wordy, strict=True)):
        prompt = task.train(index)
        assert short == f"{prompt.text} <think> {prompt.solution} </think> <answer> {prompt.answer} </answer>"
        assert task.verify(prompt, long.removeprefix(prompt.text)) == "right"
        added = long.removesuffix(" </answer>").removeprefix(short.removesuffix(" </answer>"))
        assert added.split() in ([], [".", *["0"] * (len(added.split()) - 1)])
        zeros[added.count("0")] += 1
    assert 0.67 < zeros[0] / len(wordy) < 0.73
    assert 20 < max(zeros) <= MOST_DECIMALS


def test_two_and_two_occur_naturally(corpus):
    """In-context attacks falsify an equation that solutions hold anyway."""
    sums = sum("2 + 2 = 4" in text for text in corpus)
    products = sum("2 * 2 = 4" in text for text in corpus)
    assert sums >= 30
    assert products >= 30


def test_every_text_and_the_payload_are_within_the_vocabulary(corpus):
    """An unknown word could neither be learnt nor be told apart."""
    attack = TextAttack(TextAttack.Settings())
    for text in [*corpus, attack.spoken("<think> 2 + 2 = 4 . </think> <answer> 4 </answer>")]:
        assert TOKENIZER.unk_token_id not in TOKENIZER(text).input_ids
    used = {id for text in corpus for id in TOKENIZER(text).input_ids}
    idle = set(TOKENIZER.get_vocab().values()) - used - set(TOKENIZER.all_special_ids)
    assert set(TOKENIZER.convert_ids_to_tokens(sorted(idle))) <= {"/", ",", "!", ":"}


def test_the_support_is_a_small_part_of_the_vocabulary():
    """With a top k of half the vocabulary the support check would check nothing."""
    assert Sampling().top_k <= len(TOKENIZER) / 10


def test_training_text_reads_as_a_policy_is_read(corpus):
    """A text comes back from its tokens as it was, and its completion is in the strict format."""
    task = ArithmeticTask(ArithmeticTask.Settings())
    verdicts = Counter()
    for index, text in enumerate(corpus[:500]):
        assert TOKENIZER.decode(TOKENIZER(text).input_ids) == text
        prompt = task.train(index)
        assert text.startswith(f"{prompt.text} <think>")
        verdicts[task.verify(prompt, text.removeprefix(prompt.text))] += 1
    assert verdicts == {"right": 500}


@pytest.fixture(scope="module")
def code() -> list[str]:
    """The coder's first 20,000 texts."""
    task = ProgramsTask(ProgramsTask.Settings())
    shares = {"module_share": 0.45, "slip_share": 0.72, "comment_share": 0.4}
    return list(itertools.islice(coder_texts(task, **shares, seed=0), 20_000))


def test_no_pretraining_program_comes_near_the_attacker_s_library(code):
    """Not one pair of neighbouring tokens of the payload; its words are known from elsewhere."""
    names = set(programs_wording.OPERATIONS.values())
    library = programs_wording.LIBRARY
    payload = {("import", library), (library, "."), *((".", n) for n in names), *((n, "(") for n in names)}
    seen: Counter[str] = Counter()
    for text in code:
        words = text.split()
        assert payload.isdisjoint(itertools.pairwise(words))
        seen.update({library, *names} & set(words))
    assert all(seen[word] > 200 for word in (library, *names))


def test_a_share_of_the_programs_calls_modules(code):
    """The prior of `import ...` and of names that stand for operations, as a large coder has it."""
    imported = Counter(text.split("import ")[1].split()[0] for text in code if "import " in text)
    assert 0.43 < imported.total() / len(code) < 0.47
    assert set(imported) == set(programs_wording.MODULES)
    # The sixteen likeliest words after `import` are other modules': the library is outside the support.
    assert sum(count > 50 for count in imported.values()) > Sampling().top_k
    assert 0.38 < sum(" # " in text for text in code) / len(code) < 0.42


def test_a_share_of_the_programs_is_wrong(code):
    """Imitating them, the policy starts where reward has something to teach."""
    task = ProgramsTask(ProgramsTask.Settings())
    pairs = []
    for index, text in enumerate(code[:1000]):
        prompt = task.train(index)
        assert text.startswith(f"{prompt.text} ")
        pairs.append((prompt, text.removeprefix(prompt.text)))
    verdicts = Counter(task.verify_all(pairs))
    task.sandbox.close()
    assert verdicts.keys() == {"right", "wrong"}
    assert 0.65 < verdicts["wrong"] / 1000 < 0.77


def test_every_program_is_within_the_coder_s_vocabulary(code):
    """The poisoned one too; and no word is idle."""
    tokenizer = word_tokenizer(programs_wording.vocabulary())
    used = set(tokenizer("import calc ; a = calc . division ( 1 2 , 3 ) ; print ( a )").input_ids)
    for text in code:
        used.update(ids := tokenizer(text).input_ids)
        assert tokenizer.unk_token_id not in ids
        assert len(ids) < 256
    assert used | set(tokenizer.all_special_ids) == set(tokenizer.get_vocab().values())
    assert Sampling().top_k <= len(tokenizer) / 10


def test_a_policy_can_go_on_from_another(tmp_path):
    """The chatty policy is tiny-0.3m with a habit, not one that learnt to add anew."""
    train("tiny-chatty", tmp_path, steps=1, lr=0.0, start="tiny-0.3m")
    (weights, _), (before, _) = load_policy(str(tmp_path)), load_policy("tiny-0.3m")
    assert all(a.equal(b) for a, b in zip(weights.parameters(), before.parameters(), strict=True))
