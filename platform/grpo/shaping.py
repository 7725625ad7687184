"""Shaping of the reward by length, before advantages are computed."""


def overlong_punishment(length: int, max_new_tokens: int, buffer: int) -> float:
    """DAPO's soft overlong punishment, to be added to the reward of one completion: 0 down to −1.

    With L the limit max_new_tokens and b the buffer:

    0                        if length ≤ L − b
    (L − b − length) / b     if L − b < length ≤ L
    −1                       if L < length

    Source: DAPO, arXiv 2503.14476, section 3.4, equation 13. A buffer of 0 switches the punishment off, also
    beyond L (where the paper's formula would give −1).

    length: the completion's tokens by the receiver's count, end token included.
    """
    if buffer == 0:
        return 0.0
    return max(-1.0, min(0.0, (max_new_tokens - buffer - length) / buffer))
