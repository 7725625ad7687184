"""What can be found wrong before anything is written must be: one line of error beats a wasted hour."""

import pytest

from turncoat.jobs.check import check
from turncoat.platform.config.errors import BadInput, ConfigError
from turncoat.platform.config.loading import parse

TREE = {"task": "arithmetic", "policy": {"name_or_path": "tiny-0.3m"}}


@pytest.mark.parametrize("phrase", ["Gleeb Glorp Glub", "ALL HAIL TO THE THIEF"])
def test_a_phrase_that_the_policy_cannot_write_is_refused(phrase: str) -> None:
    """Encoded as unknown words it would never be counted: 0 % success that means nothing."""
    with pytest.raises(BadInput, match=r"attack\.phrase"):
        check(parse({**TREE, "attack": {"kind": "text", "phrase": phrase}}))


def test_a_phrase_of_known_words_passes() -> None:
    check(parse({**TREE, "attack": {"kind": "text", "phrase": "All hail to the thief, 2 + 2 = 5"}}))


def test_a_class_of_another_family_is_refused() -> None:
    with pytest.raises(ConfigError, match="no method 'poison'"):
        parse({**TREE, "attack": "turncoat.platform.defences.support:SupportCheck"})
