"""One malicious peer's round: it may choose its prompts, and from its onset on it attacks."""

from collections.abc import Sequence
from typing import Any

from turncoat.platform.admission import admit_choices
from turncoat.platform.attacks.base import Attack, Stage
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.records import Contribution
from turncoat.platform.rounds import own_groups, requests_of, rows_of


def contribute(experiment: Experiment, attack: Attack, stage: Stage, peer: int) -> Contribution:
    """All that `peer` sends in the stage's round."""
    choices: Any = ()
    begun = stage.round >= attack.settings.onset_round
    if begun and experiment.topology == "vertical":
        rows = rows_of(experiment, stage.round)
        dealt = [rows[group] for group in own_groups(experiment, peer)]
        # Any object, if the attack is a hostile one.
        chosen: Any = attack.choose(dealt, stage)
        if not isinstance(chosen, Sequence):
            choices = chosen
        elif list(chosen) != dealt:
            choices = tuple(chosen)
    # Refused choices change no prompt, and the peer knows that.
    admitted, _ = admit_choices(choices, own_groups(experiment, peer))
    requests = requests_of(experiment, stage.task, stage.round, peer, admitted)
    sent = attack.poison(requests, stage) if begun else stage.honest(requests)
    completions, truths = tuple(one for one, _ in sent), tuple(truth for _, truth in sent)
    return Contribution(stage.round, peer, completions, truths, choices)
