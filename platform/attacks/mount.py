"""One malicious peer's round: it may choose its prompts, and from its onset on it attacks."""

from turncoat.platform.attacks.base import Attack, Stage
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.records import Contribution
from turncoat.platform.rounds import own_groups, requests_of, rows_of


def contribute(experiment: Experiment, attack: Attack, stage: Stage, peer: int) -> Contribution:
    """All that `peer` sends in the stage's round."""
    choices: dict[int, int] = {}
    begun = stage.round >= attack.settings.onset_round
    if begun and experiment.topology == "vertical":
        rows, own = rows_of(experiment, stage.round), own_groups(experiment, peer)
        dealt = [rows[group] for group in own]
        chosen = list(attack.choose(dealt, stage))
        if chosen != dealt:
            choices = dict(zip(own, chosen, strict=True))
    requests = requests_of(experiment, stage.task, stage.round, peer, choices)
    sent = attack.poison(requests, stage) if begun else stage.honest(requests)
    completions, truths = tuple(one for one, _ in sent), tuple(truth for _, truth in sent)
    return Contribution(stage.round, peer, completions, truths, tuple(choices.values()))
