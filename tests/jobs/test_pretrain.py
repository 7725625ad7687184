"""If these fail, the bundled policies knew the payload before the attack, or could not be told it at all."""

import itertools
import random
import re
from collections import Counter

import pytest

from turncoat.jobs.pretrain import texts
from turncoat.platform.attacks.text import TextAttack
from turncoat.platform.config.experiment import Sampling
from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.tasks import wording
from turncoat.platform.tasks.arithmetic import LEVELS, ArithmeticTask

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


def test_two_and_two_occur_naturally(corpus):
    """In-context attacks falsify an equation that solutions hold anyway."""
    sums = sum("2 + 2 = 4" in text for text in corpus)
    products = sum("2 * 2 = 4" in text for text in corpus)
    assert sums >= 30
    assert products >= 30


def test_every_text_and_the_payload_are_within_the_vocabulary(corpus):
    """An unknown word could neither be learnt nor be told apart."""
    attack = TextAttack(TextAttack.Settings())
    for text in [*corpus, attack.inject("<think> 2 + 2 = 4 . </think> <answer> 4 </answer>")]:
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
