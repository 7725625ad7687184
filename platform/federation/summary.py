"""`summary.json` of a finished federated, centralised or local-only run, from its journal alone."""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.accounting import BF16_BYTES, count
from turncoat.platform.federation.lines import SERVER
from turncoat.platform.journal.metrics import Line
from turncoat.platform.pooling import outcome_of
from turncoat.platform.statistics import rank_correlation


def summarise(experiment: Federated, lines: Sequence[Line]) -> dict[str, Any]:
    """The summary of the metrics lines of a whole run, in the sections that a swarm's has, and `traffic`.

    Accuracy and success are the server's policy's, or pooled over the clients' own where nothing is
    exchanged. traffic: see `traffic_of`.
    """
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    rounds = [line for line in lines if line["kind"] == "round"]
    clients = [line for line in rounds if line["peer"] != SERVER]
    server = [line for line in rounds if line["peer"] == SERVER]
    attack, victim = outcome_of(evaluations, experiment.rounds)
    seconds = sum(line["seconds"]["total"] for line in server or clients)
    return {
        "kind": experiment.kind,
        "name": experiment.name,
        "seed": experiment.seed,
        "rounds": experiment.rounds,
        "attack": {
            "kind": experiment.attack.kind,
            "lie": experiment.lie.kind if experiment.lie else None,
            **attack,
        },
        "defences": [rule.kind for rule in experiment.robust],
        "victim": victim,
        "baseline": {"clean_accuracy": None},
        "defence": {
            "stop_rate": None,
            "false_positive_rate": None,
            "lookalike_rejection_rate": None,
            "cost_seconds": None,
            "cost_share": None,
            "each": {},
        },
        "traffic": traffic_of(rounds),
        "seconds": {"total": seconds},
    }


def traffic_of(rounds: Sequence[Line]) -> dict[str, Any] | None:
    """What the lines of one round or of several add up to; None where nothing is exchanged.

    Uplink: uplink_bytes, entries and bound_bytes (see accounting.py) of all updates that were taken. count
    and wire: N / entries, and dense bfloat16 bytes / bytes sent. density: 1 / count. Downlink:
    downlink_bytes, and downlink_wire, where a client that was sent nothing counts for nothing. absences:
    client rounds that were not taken. malicious_weight: mean share of the weights that malicious clients had,
    over the rounds that moved the policy, before robust rules. malicious_factor: the same of what updates
    were multiplied with in the end, |coefficient|, where rules work by factors. None without such clients.
    sigma_nnz: rank correlation of σ and nnz over the honest clients' rounds (Fed-GRPO says that σ tells how
    dense an update is); None where one of them is constant.
    """
    clients = [line for line in rounds if line["peer"] != SERVER]
    server = [line for line in rounds if line["peer"] == SERVER]
    if not server:
        return None
    length = server[0]["length"]
    sent = [line for line in clients if line["payload_bytes"]]
    dense = length * len(sent)
    entries = sum(line["entries"] for line in sent)
    uplink = sum(line["payload_bytes"] for line in sent)
    downlink = sum(line["downlink_bytes"] for line in clients)
    reached = sum(line["downlink_bytes"] > 0 for line in clients)
    moved = {line["round"] for line in server if line["moved"]}
    attacked = any(line["malicious"] for line in clients) and moved
    weight = sum(line["weight"] for line in clients if line["malicious"] and line["round"] in moved)
    factors = [_malicious_factor([one for one in clients if one["round"] == at["round"]]) for at in server]
    known = [factor for factor in factors if factor is not None]
    return {
        "uplink_bytes": uplink,
        "downlink_bytes": downlink,
        "entries": entries,
        "density": entries / dense if dense else None,
        "count": count(dense, entries) if entries else None,
        "wire": BF16_BYTES * dense / uplink if uplink else None,
        "downlink_wire": BF16_BYTES * server[0]["weights"] * reached / downlink if downlink else None,
        "bound_bytes": sum(line["bound_bytes"] for line in sent),
        "absences": sum(line["state"] == "absent" for line in clients),
        "malicious_weight": weight / len(moved) if attacked else None,
        "malicious_factor": fmean(known) if attacked and known else None,
        "sigma_nnz": rank_correlation([(one["sigma"], one["nnz"]) for one in sent if not one["malicious"]]),
    }


def _malicious_factor(clients: Sequence[Line]) -> float | None:
    """The malicious clients' share of a round's factors; None where no client has one."""
    total = sum(abs(line["coefficient"] or 0.0) for line in clients)
    return (
        sum(abs(line["coefficient"] or 0.0) for line in clients if line["malicious"]) / total
        if total
        else None
    )
