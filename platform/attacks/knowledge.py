"""What an attacker takes for right: what the ground truth verifies, or what its own policy's votes elect."""

from collections import Counter
from collections.abc import Sequence

from turncoat.platform.attacks.base import Stage
from turncoat.platform.engines.base import Generated
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import answers
from turncoat.platform.tasks.base import Task
from turncoat.platform.tasks.code import CodeTask

Samples = list[list[Generated]]
"""Completions of the attacker's own policy, by prompt."""


def draws(prompts: Sequence[Prompt], n: int, stage: Stage, *purpose: int | str) -> Samples:
    """n samples of each prompt, in one batch. purpose: what their seeds are drawn for."""
    texts = [prompt.text for prompt in prompts for _ in range(n)]
    seeds = [seed_of(stage.run_seed, *purpose, prompt.id, i) for prompt in prompts for i in range(n)]
    written = stage.sample(texts, seeds)
    return [written[i * n : (i + 1) * n] for i in range(len(prompts))]


def verified(prompts: Sequence[Prompt], samples: Samples, task: Task) -> Samples:
    """The samples that the ground truth says are right."""
    pairs = [(prompt, one.text) for prompt, written in zip(prompts, samples, strict=True) for one in written]
    verdicts = iter(task.verify_all(pairs))
    return [[one for one in written if next(verdicts) == "right"] for written in samples]


def ballots(samples: Samples, task: Task) -> list[list[str | None]]:
    """The answer that each sample gives, as it is written or printed; None where it gives none."""
    texts = [one.text for written in samples for one in written]
    given = iter(task.printed(texts) if isinstance(task, CodeTask) else [_answer(text) for text in texts])
    return [[next(given) or None for _ in written] for written in samples]


def elect(given: Sequence[str | None]) -> str | None:
    """The most common answer; None if there is no answer. Ties go to the one that came first.

    "Hail to the Thief", section 4: an attacker without ground truth takes the most common answer as true.
    """
    counted = Counter(answer for answer in given if answer is not None)
    return counted.most_common(1)[0][0] if counted else None


def agreeing(
    samples: Samples, given: Sequence[Sequence[str | None]], winners: Sequence[str | None]
) -> Samples:
    """The samples that give their prompt's elected answer. given: what each sample answers."""
    return [
        [one for one, answer in zip(written, answers, strict=True) if answer is not None and answer == winner]
        for written, answers, winner in zip(samples, given, winners, strict=True)
    ]


def _answer(text: str) -> str | None:
    parts = answers.read(text)
    return parts and parts[1].strip()
