"""The attacker's library of the paper's CODE attack, as installed in a sandbox.

Source: Blagoev, Ersoy, Chen, "Hail to the Thief" (arXiv 2511.09780), section 4: a correct solution program is
rewritten to import the attacker's library and to call its four operations. Plain standard Python that stands
alone, since its source is run inside sandboxes.
"""

FUNCTIONS = ("addition", "multiplication", "subtraction", "division")

MAX_BITS = 4096
"""Larger whole numbers are refused: the embedded sandbox computes in the host's process."""


def _check(*numbers):
    for number in numbers:
        if type(number) not in (int, float, bool):
            raise TypeError("calc works with int and float only")
        if type(number) is int and number.bit_length() > MAX_BITS:
            raise OverflowError("number too large for calc")


def addition(a, b):
    """a + b. Raises TypeError for anything but numbers, OverflowError beyond MAX_BITS; so do the others."""
    _check(a, b)
    return a + b


def multiplication(a, b):
    """a * b."""
    _check(a, b)
    return a * b


def subtraction(a, b):
    """a - b."""
    _check(a, b)
    return a - b


def division(a, b):
    """a / b. Raises ZeroDivisionError."""
    _check(a, b)
    return a / b
