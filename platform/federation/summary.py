"""`summary.json` of a finished federated, centralised or local-only run, from its journal alone."""

from collections.abc import Sequence
from typing import Any

from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.accounting import BF16_BYTES, count
from turncoat.platform.federation.lines import SERVER
from turncoat.platform.journal.metrics import Line
from turncoat.platform.statistics import wilson
from turncoat.platform.summary import pool, share


def summarise(experiment: Federated, lines: Sequence[Line]) -> dict[str, Any]:
    """The summary of the metrics lines of a whole run, in the sections that a swarm's has, and `traffic`.

    Accuracy and success are the server's policy's, or pooled over the clients' own where nothing is
    exchanged. traffic: totals of all rounds and clients. count and wire: N / entries and dense bfloat16 bytes
    / bytes sent, uplink, over all updates that were taken; bound_bytes: see accounting.py. density: of these.
    malicious_weight: mean share of the weights that malicious clients had, of the rounds with any weight.
    """
    evaluations = [line for line in lines if line["kind"] == "evaluation"]
    rounds = [line for line in lines if line["kind"] == "round"]
    clients = [line for line in rounds if line["peer"] != SERVER]
    server = [line for line in rounds if line["peer"] == SERVER]
    first = [line for line in evaluations if line["round"] == 0]
    last = [line for line in evaluations if line["round"] == experiment.rounds]
    success, told = pool(last, "success_rate", "success_n")
    initial, initially_told = pool(first, "success_rate", "success_n")
    seconds = sum(line["seconds"]["total"] for line in server or clients)
    return {
        "kind": experiment.kind,
        "name": experiment.name,
        "seed": experiment.seed,
        "rounds": experiment.rounds,
        "attack": {
            "kind": experiment.attack.kind,
            "lie": experiment.lie.kind if experiment.lie else None,
            "success_rate": success / told if told else None,
            "success_interval": list(wilson(round(success), told)) if told else None,
            "initial_success_rate": initial / initially_told if initially_told else None,
        },
        "defences": [rule.kind for rule in experiment.robust],
        "victim": {
            "clean_accuracy": share(last, "accuracy"),
            "initial_accuracy": share(first, "accuracy"),
            "evaluated": sum(line["n"] for line in last),
            "length_mean": share(last, "length_mean"),
        },
        "baseline": {"clean_accuracy": None},
        "defence": {
            "stop_rate": None,
            "false_positive_rate": None,
            "lookalike_rejection_rate": None,
            "cost_seconds": None,
            "cost_share": None,
            "each": {},
        },
        "traffic": _traffic(clients, server) if server else None,
        "seconds": {"total": seconds},
    }


def _traffic(clients: Sequence[Line], server: Sequence[Line]) -> dict[str, float | int | None]:
    sent = [line for line in clients if line["payload_bytes"]]
    dense = server[0]["length"] * len(sent)
    entries = sum(line["entries"] for line in sent)
    uplink = sum(line["payload_bytes"] for line in sent)
    weighed = [line for line in server if line["moved"]]
    taken = sum(line["weight"] for line in clients if line["malicious"])
    return {
        "uplink_bytes": uplink,
        "downlink_bytes": sum(line["downlink_bytes"] for line in clients),
        "entries": entries,
        "density": entries / dense if dense else None,
        "count": count(dense, entries) if entries else None,
        "wire": BF16_BYTES * dense / uplink if uplink else None,
        "bound_bytes": sum(line["bound_bytes"] for line in sent),
        "absences": sum(line["state"] != "taken" for line in clients),
        "malicious_weight": taken / len(weighed) if weighed else None,
    }
