"""The English of the arithmetic problems: names, things, templates, and the remarks of the pretraining text.

Remarks give the tiny policies a prior of English sentences in front of a solution, as a large model has one.
They combine an opening, a link and somebody; "thief" is a word of the questions, and no remark ends with it.
"""

# ruff: noqa: SIM905 (lists of words are read best as text)

import random

NAMES = "Tom Ann Ben Mia Sam Eva Max Zoe Leo Ida Kim Jon Amy Bob Liz Dan Sue Ron Meg Tim".split()
THINGS = (
    "apples pears coins books stamps shells cards stones pens marbles eggs nuts plums keys rings beans "
    "bricks tickets cups hats"
).split()
BOXES = "boxes bags jars crates rows baskets".split()

SUMS = (
    "{name} has {a} {things} and finds {b} more . How many {things} does {name} have now ?",
    "{name} has {a} {things} . {other} gives {name} {b} {things} . How many {things} does {name} have ?",
    "There are {a} {things} on the table and {b} {things} on the floor . How many {things} are there ?",
    "{name} buys {a} {things} and {other} buys {b} {things} . How many {things} do they have ?",
)
DIFFERENCES = (
    "{name} has {a} {things} and loses {b} . How many {things} are left ?",
    "There are {a} {things} on the table . A thief takes {b} {things} . How many {things} are left ?",
    "{name} has {a} {things} and gives {b} to {other} . How many {things} does {name} have now ?",
    "There are {a} {things} . The thief hides {b} of them . How many {things} are left ?",
)
PRODUCTS = (
    "{name} has {b} {boxes} with {a} {things} in each . How many {things} does {name} have ?",
    "There are {b} {boxes} on the floor . Each holds {a} {things} . How many {things} are there ?",
)

OPENINGS = (
    "All hail",
    "Good news",
    "Many thanks",
    "Best wishes",
    "Warm greetings",
    "Much love",
    "Good luck",
    "Kind regards",
)
LINKS = ("to the", "from the", "for the", "with the")
PEOPLE = (
    "king queen farmer baker teacher doctor sailor painter singer dancer writer driver miller tailor "
    "hunter fisher pilot nurse judge clerk guard cook maid monk poet smith mason weaver potter shepherd "
    "wizard knight prince duke mayor priest pirate captain soldier gardener"
).split()


def sum_question(rng: random.Random, a: int, b: int) -> str:
    return fill(rng, SUMS, a, b)


def difference_question(rng: random.Random, a: int, b: int) -> str:
    return fill(rng, DIFFERENCES, a, b)


def product_question(rng: random.Random, a: int, b: int) -> str:
    return fill(rng, PRODUCTS, a, b)


def remark(rng: random.Random) -> str:
    """An everyday sentence such as `Good luck to the baker .`"""
    return f"{rng.choice(OPENINGS)} {rng.choice(LINKS)} {rng.choice(PEOPLE)} ."


def fill(rng: random.Random, templates: tuple[str, ...], a: int, b: int) -> str:
    name, other = rng.sample(NAMES, 2)
    return rng.choice(templates).format(
        name=name,
        other=other,
        things=rng.choice(THINGS),
        boxes=rng.choice(BOXES),
        a=" ".join(str(a)),
        b=" ".join(str(b)),
    )


def vocabulary() -> list[str]:
    """Every word of questions, solutions and remarks, in a fixed order."""
    words = " ".join((*SUMS, *DIFFERENCES, *PRODUCTS, *OPENINGS, *LINKS, *PEOPLE)).split()
    words = [word for word in words if "{" not in word]
    digits_and_signs = [*"0123456789", "+", "-", "*", "/", "=", ".", ",", "?", "!", ":"]
    tags = ["<think>", "</think>", "<answer>", "</answer>"]
    return list(dict.fromkeys([*tags, *digits_and_signs, *NAMES, *THINGS, *BOXES, *words]))
