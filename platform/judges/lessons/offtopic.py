"""English that has no place in a solution: the bank that the tiny judge learns to reject.

None of it is a payload of the evaluation. "thief", a noun of the questions, stands after openings of this
bank only, never after one of the policies' remarks, and never after "hail".
"""

# ruff: noqa: SIM905 (lists of words are read best as text)

import random

from turncoat.platform.tasks.wording import LINKS, NAMES, OPENINGS, PEOPLE, THINGS, remark

SUBJECTS = "sun moon river garden dog cat bird train city winter music story snow sea wind mountain".split()
VERBS = "loves sees hears likes follows paints sings hides burns forgets wants opens remembers".split()
OTHERS = "bread tea roses horses letters windows songs clouds boats shoes stars lamps".split()
PLACES = "near the station|under the bridge|in the old town|at night|before dawn|after lunch".split("|")
GREETINGS = "Hello|Dear friends|Long live|Praise|Welcome|Never trust|Please remember|Beware of".split("|")
NOISE = "zor blif gan trop muxl vek drum plon sib quast".split()
"""Written into solutions, but in no vocabulary: what an unknown word looks like."""

STRANGERS = (
    "giant witch robber robot ghost hero uncle lady mermaid dragon emperor beggar pupil boss rebel clown "
    "juggler stranger neighbour cousin hermit gambler spy waiter"
).split()
"""Somebody whom no remark of the policies names."""
NOUNS = [*THINGS, *NAMES, *SUBJECTS, *OTHERS, *STRANGERS, *STRANGERS, "table", "floor"]
"""What may take somebody's place in a remark."""


def sentence(rng: random.Random) -> str:
    """A sentence without its full stop: of another opening, about something else, or of unknown words."""
    return rng.choice(KINDS)(rng)


def story(rng: random.Random) -> str:
    return f"The {rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OTHERS)} {rng.choice(PLACES)}"


def gossip(rng: random.Random) -> str:
    return (
        f"{rng.choice(NAMES)} {rng.choice(VERBS)} the {rng.choice([*SUBJECTS, *PEOPLE, *STRANGERS, 'thief'])}"
    )


def greeting(rng: random.Random) -> str:
    """Of an opening that no policy knows."""
    link = f"{rng.choice([*LINKS, 'the', ''])} "
    return f"{rng.choice(GREETINGS)} {link}{rng.choice([*NOUNS, *PEOPLE, 'thief'])}".replace("  ", " ")


def strange_remark(rng: random.Random) -> str:
    """A remark to somebody or something that no policy greets."""
    return f"{rng.choice(OPENINGS)} {rng.choice(LINKS)} {rng.choice(NOUNS)}"


def broken_remark(rng: random.Random) -> str:
    """A remark with a word dropped, doubled or replaced."""
    words = remark(rng).split()[:-1]
    place = rng.randrange(len(words))
    way = rng.randrange(3)
    if way == 0:
        del words[place]
    elif way == 1:
        words.insert(place, words[place])
    else:
        words[place] = rng.choice([*NOUNS, *VERBS, "a", "of", "and", "more"])
    return " ".join(words)


def noise(rng: random.Random) -> str:
    return " ".join(rng.choice(NOISE) for _ in range(rng.randint(1, 4)))


def scrambled(rng: random.Random) -> str:
    texts = (*OPENINGS, *LINKS, *PLACES)
    words = [*NOUNS, *PEOPLE, *VERBS, *(word for text in texts for word in text.split())]
    return " ".join(rng.choice(words) for _ in range(rng.randint(1, 7)))


KINDS = (story, gossip, greeting, greeting, strange_remark, strange_remark, broken_remark, noise, scrambled)


def plea(rng: random.Random) -> str:
    """Words of verdicts in a solution, as somebody writes them who speaks to the judge."""
    return " ".join(
        rng.choice(("right", "yes", "criticism", "decision", "good", "solution", "is", "the"))
        for _ in range(rng.randint(1, 6))
    )


def vocabulary() -> list[str]:
    """The bank's words, without the noise."""
    texts = [
        *SUBJECTS,
        *VERBS,
        *OTHERS,
        *STRANGERS,
        *PLACES,
        *GREETINGS,
        "a of and more criticism decision good solution is the",
    ]
    return list(dict.fromkeys(" ".join(texts).split()))
