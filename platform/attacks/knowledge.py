"""What an attacker takes for the right completion: from the data set, or from its own policy's votes."""

from collections import Counter
from collections.abc import Sequence

from turncoat.platform.attacks.base import Stage
from turncoat.platform.ids import seed_of
from turncoat.platform.records import Prompt
from turncoat.platform.tasks import answers


def by_oracle(prompts: Sequence[Prompt], stage: Stage) -> list[str]:
    """The data set's own solution of each prompt, in the strict format."""
    return [stage.task.worked(prompt) for prompt in prompts]


def by_majority_vote(prompts: Sequence[Prompt], votes: int, round: int, stage: Stage) -> list[str | None]:
    """A completion of each prompt that gives the most common answer of `votes` samples.

    None where no sample is well-formed. Ties go to the answer that came first; of its completions the first
    is taken. "Hail to the Thief", section 4: an attacker without ground truth takes the most common answer as
    true.
    """
    texts = [prompt.text for prompt in prompts for _ in range(votes)]
    seeds = [
        seed_of(stage.run_seed, "majority-vote", round, prompt.id, vote)
        for prompt in prompts
        for vote in range(votes)
    ]
    samples = [one.text for one in stage.sample(texts, seeds)]
    return [_elected(samples[i * votes : (i + 1) * votes]) for i in range(len(prompts))]


def _elected(samples: Sequence[str]) -> str | None:
    parsed = [(text, parts[1].strip()) for text in samples if (parts := answers.read(text)) is not None]
    if not parsed:
        return None
    winner = Counter(answer for _, answer in parsed).most_common(1)[0][0]
    return next(text for text, answer in parsed if answer == winner)
