"""A punishment that starts too early would teach the policy to stop thinking; one too late, to run on."""

import pytest

from turncoat.platform.grpo.shaping import overlong_punishment


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (0, 0.0),
        (15, 0.0),
        (16, 0.0),
        (17, -0.25),
        (18, -0.5),
        (19, -0.75),
        (20, -1.0),
        (21, -1.0),
        (500, -1.0),
    ],
)
def test_last_four_of_twenty_tokens_cost_a_quarter_each(length, expected):
    assert overlong_punishment(length, max_new_tokens=20, buffer=4) == expected


def test_buffer_zero_punishes_nothing():
    assert overlong_punishment(999, max_new_tokens=20, buffer=0) == 0.0
