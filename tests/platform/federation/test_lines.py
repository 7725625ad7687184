"""What a run says of itself, round by round and at its end."""

from collections.abc import Callable
from typing import Any

import pytest

from turncoat.platform.federation.lines import SERVER, client_lines, server_line
from turncoat.platform.federation.summary import summarise
from turncoat.platform.journal.metrics import encode

OVERRIDES = (
    "clients.count=4",
    "partition=iid",
    "clients.malicious=1",
    "lie=sign_flip",
    "clients.per_round=3",
)


@pytest.fixture(scope="module")
def told(federation: Callable[..., Any]) -> tuple[Any, list[dict[str, Any]], list[dict[str, Any]]]:
    """(a federation after a round in which one client is not asked, one is late, one refused; its lines)."""
    one = federation(*OVERRIDES)
    asked = one.experiment.participants(1)
    late, refused = asked[0], asked[1]
    closing = one.round(1, late=[late], claims={refused: lambda _: None})
    lines = client_lines(
        one.experiment, [0, 1, 2, 3], one.reports, {late: "no answer within 1 s"}, one.grants.refused,
        one.grants.entries, dict.fromkeys(asked, 40), closing,
    )  # fmt: skip
    held = len(one.server.weights)
    server = server_line(lines, closing, held, held, 1.0)
    return one, lines, [server, *lines]


def test_every_client_has_a_line_that_says_what_became_of_it(told: Any) -> None:
    """Who was out, and why, is the first question about a run that went badly."""
    one, lines, _ = told
    late, refused, counted = one.experiment.participants(1)
    (idle,) = {0, 1, 2, 3} - {late, refused, counted}
    states = {k: (line["state"], line.get("reason")) for k, line in enumerate(lines)}
    assert states == {
        late: ("absent", "no answer within 1 s"),
        refused: ("refused", "type"),
        counted: ("taken", None),
        idle: ("not asked", None),
    }
    assert [line["malicious"] for line in lines] == [False, False, False, True]
    assert [line["weight"] for line in lines] == [float(k == counted) for k in range(4)]
    assert [line["downlink_bytes"] for line in lines] == [0 if k == idle else 40 for k in range(4)]
    signal = one.reports[counted].signal
    assert (lines[counted]["sigma"], lines[counted]["nnz"]) == (signal.sigma, signal.nnz)
    assert lines[counted]["payload_bytes"] == len(one.payloads[counted])
    assert lines[late]["payload_bytes"] == 0, "what came too late is nobody's traffic but the network's"


def test_lines_are_json_with_finite_numbers(told: Any) -> None:
    """One NaN in one line would end the run when it is written."""
    for line in told[2]:
        encode({**line, "kind": "round", "round": 1})


def test_the_server_s_line_adds_up(told: Any) -> None:
    """The traffic of a round is that of its clients; the hash is that of the policy that comes out."""
    one, lines, (server, *_) = told
    assert (server["peer"], server["clients"], server["moved"]) == (SERVER, 1, True)
    assert server["payload_bytes"] == sum(line["payload_bytes"] for line in lines) > 0
    assert server["downlink_bytes"] == 120
    assert server["weights_sha256"] == one.server.version
    assert server["length"] == len(one.server.weights)


def line(round: int, client: int, weight: float, sent: int = 0) -> dict[str, Any]:
    return {
        "kind": "round", "round": round, "peer": f"client-0{client}", "malicious": client == 3,
        "state": "taken" if sent else "absent", "weight": weight, "entries": sent, "payload_bytes": 4 * sent,
        "bound_bytes": 2.0 * sent, "downlink_bytes": 7, "coefficient": weight / 2,
        "sigma": 0.1 * round, "nnz": 100 - sent,
    }  # fmt: skip


def test_traffic_of_a_run_is_counted_three_ways(federated: Callable[..., Any]) -> None:
    """Entries, bytes sent and the bound are three figures; the liar's share is that of rounds that moved."""
    lines = [
        line(1, 0, 0.75, 10), line(1, 3, 0.25, 30), line(2, 0, 0.0), line(2, 3, 0.0, 10), line(3, 3, 1.0, 50),
    ]  # fmt: skip
    lines += [
        {
            "kind": "round",
            "round": r,
            "peer": SERVER,
            "moved": r == 1,
            "length": 1000,
            "weights": 3000,  # Stacked adapters go up, what lies beneath comes down.
            "seconds": {"total": 2},
        }
        for r in (1, 2, 3)
    ]
    traffic = summarise(federated(*OVERRIDES), lines)["traffic"]
    assert traffic == {
        "uplink_bytes": 400,
        "downlink_bytes": 35,
        "entries": 100,
        "density": 100 / 4000,
        "count": 40.0,
        "wire": 2 * 4000 / 400,
        "downlink_wire": 2 * 5 * 3000 / 35,
        "bound_bytes": 200.0,
        "absences": 1,
        "malicious_weight": 0.25,  # In round 3 no rule trusted anyone.
        "malicious_factor": (0.25 + 1.0) / 2,
        "sigma_nnz": None,  # One honest update tells nothing.
    }


def test_a_run_in_which_nothing_was_sent_has_no_ratios(federated: Callable[..., Any]) -> None:
    """Division by nothing, and figures of traffic where nothing is exchanged."""
    server = {"kind": "round", "round": 1, "peer": SERVER, "moved": False, "seconds": {"total": 1}}
    lines = [line(1, 0, 0.0), server | {"length": 1000, "weights": 1000}]
    traffic = summarise(federated(*OVERRIDES), lines)["traffic"]
    assert [traffic[key] for key in ("density", "count", "wire", "malicious_weight")] == [None] * 4
    alone = [{"kind": "round", "round": 1, "peer": "client-00", "seconds": {"total": 1}}]
    assert summarise(federated("kind=local_only"), alone)["traffic"] is None


def test_sigma_goes_with_density_or_against_it(federated: Callable[..., Any]) -> None:
    """F5, honest clients alone: a liar's σ would decide what is said of all."""
    server = {
        "kind": "round", "round": 1, "peer": SERVER, "moved": True, "length": 1000, "weights": 1000,
        "seconds": {"total": 1},
    }  # fmt: skip
    sent = [line(1, k, 0.25, 10) | {"sigma": 0.1 * k, "nnz": 10 - k} for k in range(3)]
    liar = line(1, 3, 0.25, 10) | {"sigma": 0.5, "nnz": 1000}
    traffic = summarise(federated(*OVERRIDES), [*sent, liar, server])["traffic"]
    assert traffic["sigma_nnz"] == pytest.approx(-1)
