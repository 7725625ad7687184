"""The observer's figures of a round: a metrics line for each client, and one for the server."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from turncoat.platform.config.federated import Federated
from turncoat.platform.ids import client_name
from turncoat.platform.outcome import Outcome

if TYPE_CHECKING:  # torch comes with them, which a reader of the lines can do without
    from turncoat.platform.federation.client import Report
    from turncoat.platform.federation.server import Closing

SERVER = "server"


def figures_of(outcomes: Sequence[Outcome], payload_in: Any, texts: Sequence[str]) -> dict[str, Any]:
    """What the observer's journal says of a client's local training."""
    beliefs = [belief for outcome in outcomes for belief in outcome.beliefs]
    told = [found for text in texts if (found := payload_in(text)) is not None]
    return {
        "reward_mean": fmean(belief.reward for belief in beliefs),
        "accuracy": fmean(belief.verdict == "right" for belief in beliefs),
        "success_rate": fmean(told) if told else None,
        "length_mean": fmean(belief.tokens for belief in beliefs),
        "verdicts": dict(sorted(Counter(belief.verdict for belief in beliefs).items())),
        "groups_with_signal": sum(outcome.groups_with_signal for outcome in outcomes),
        "loss": fmean(outcome.loss for outcome in outcomes),
        "grad_norm": fmean(outcome.grad_norm for outcome in outcomes),
    }


def client_lines(
    experiment: Federated,
    clients: list[int],
    reports: "Mapping[int, Report]",
    absent: Mapping[int, str],
    refused: Mapping[int, str],
    granted: Mapping[int, int],
    downlink: Mapping[int, int],
    closing: "Closing | None",
) -> list[dict[str, Any]]:
    """A line for each client of the experiment, whether it took part or not.

    state: taken | absent | refused, with a reason, or not asked. mu, sigma, silent, nnz, n: what it says of
    its round. granted: entries that it may send. entries, payload_bytes, bound_bytes: what it sent, see
    accounting.py. downlink_bytes: what it was sent. weight, coefficient, norm: see `Aggregated`.
    """
    lines = []
    for client in clients:
        line: dict[str, Any] = {"peer": client_name(client), "malicious": experiment.is_malicious(client)}
        if client in reports:
            figures, signal = reports[client].figures, reports[client].signal
            line |= {
                "reward_mean": figures["reward_mean"],
                "accuracy_honest": figures["accuracy"],
                **{key: figures[key] for key in ("success_rate", "length_mean", "groups_with_signal")},
                **{key: figures[key] for key in ("verdicts", "loss", "grad_norm")},
                **{key: getattr(signal, key) for key in ("n", "mu", "sigma", "silent", "nnz")},
                "seconds": {"total": figures["seconds"]},
            }
        else:
            line |= {"reward_mean": None, "success_rate": None, "seconds": {"total": 0.0}}
        if client in refused:
            line |= {"state": "refused", "reason": refused[client]}
        elif client in reports and client not in absent:
            line |= {"state": "taken"}
        elif client in absent:
            line |= {"state": "absent", "reason": absent[client]}
        else:
            line |= {"state": "not asked"}
        if closing is not None:
            cost = closing.costs.get(client)
            line |= {
                "granted": granted.get(client, 0),
                "entries": cost.entries if cost else 0,
                "payload_bytes": cost.payload_bytes if cost else 0,
                "bound_bytes": cost.bound_bytes if cost else 0.0,
                "downlink_bytes": downlink.get(client, 0),
                "weight": closing.result.weights.get(client, 0.0),
                "coefficient": closing.result.coefficients.get(client),
                "norm": closing.result.norms.get(client),
            }
        lines.append(line)
    return lines


def server_line(
    lines: list[dict[str, Any]], closing: "Closing", length: int, weights: int, seconds: float
) -> dict[str, Any]:
    """What the round did to the server's policy, and what all clients' traffic adds up to.

    lines: the clients'. length: N, of an update. weights: how many the server holds, which are more than N
    where adapters are stacked.
    """
    rewards = [line["reward_mean"] for line in lines if line["reward_mean"] is not None]
    return {
        "peer": SERVER,
        "reward_mean": fmean(rewards) if rewards else None,
        "success_rate": None,
        "weights_sha256": closing.version,
        "length": length,
        "weights": weights,
        "clients": len(closing.taken),
        "mu_global": closing.mu_global,
        "moved": closing.result.moved,
        "step": closing.result.step,
        "frozen": closing.result.frozen,
        "notes": list(closing.result.notes),
        **{
            key: sum(line[key] for line in lines)
            for key in ("entries", "payload_bytes", "bound_bytes", "downlink_bytes")
        },
        "seconds": {"total": seconds},
    }
