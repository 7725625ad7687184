"""The page about one federation, or about one of its references: centralised, local only.

It shows what the observer logged: of a client no more than it told the server, and figures of its training.
What clients wrote lies in journals of their own, which the server never saw; the page says so.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, get_args

from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.lines import SERVER
from turncoat.platform.federation.summary import traffic_of
from turncoat.platform.journal.journal import EXPERIMENT, REPORT, Journal
from turncoat.platform.journal.metrics import Line
from turncoat.platform.report import samples
from turncoat.platform.report.curves import Curve, curve, derived, of_kind
from turncoat.platform.report.figures import Dots, Picture, Trace, by_round, in_plane
from turncoat.platform.report.page import write_page

KINDS = get_args(Federated.model_fields["kind"].annotation)
CLIENTS = "clients"
"""The folder of the clients' journals, in the run's."""
TRAINING, HELD_OUT = "this round's completions", "held out, 95 % interval"
MEGABYTE = 1e6
NAMED = 10
"""With more clients than that, a figure's legend tells honest from malicious ones, and no more."""


def render_federated(journal: Journal) -> Path:
    """Write `report.html` about the run, finished or not; returns its path."""
    experiment = journal.experiment()
    lines, truncated = journal.metrics()
    rounds, evaluations = of_kind(lines, "round"), of_kind(lines, "evaluation")
    clients = [line for line in rounds if line["peer"] != SERVER]
    server = [line for line in rounds if line["peer"] == SERVER]
    return write_page(
        journal.folder / REPORT,
        "federated.html",
        experiment=experiment,
        experiment_text=(journal.folder / EXPERIMENT).read_text(),
        environment=journal.environment(),
        summary=journal.summary(),
        rounds_done=max((line["round"] for line in rounds), default=0),
        truncated=truncated is not None,
        attacked=any(line["success_rate"] is not None for line in evaluations),
        policies={name: (own[0], own[-1]) for name, own in by_name(evaluations).items()},
        length=server[0]["length"] if server else None,
        total=traffic_of(rounds),
        traffic={line["round"]: traffic_of(of_round(rounds, line["round"])) for line in server},
        server={line["round"]: line for line in server},
        clients=clients,
        notes=[(line["round"], note) for line in server for note in line["notes"]],
        unmoved=[line["round"] for line in server if not line["moved"]],
        figures=figures(clients, server, evaluations),
        samples=from_clients(journal.folder, experiment, clients),
    )


def by_name(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Lines by who they are of, in order of names."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        found.setdefault(line["peer"], []).append(line)
    return dict(sorted(found.items()))


def of_round(lines: Iterable[Line], round: int) -> list[Line]:
    return [line for line in lines if line["round"] == round]


def figures(clients: list[Line], server: list[Line], evaluations: list[Line]) -> list[Picture]:
    """The figures, as data URIs; those without a single point are left out."""
    length = server[0]["length"] if server else 0
    drawn = [
        by_round(
            "Accuracy",
            "right answers (%)",
            [*of_clients(clients, curve_of("accuracy_honest")), *held_out(evaluations, "accuracy")],
        ),
        accuracy_by_uplink(server, evaluations),
        by_round(
            "Attack success",
            "completions with the payload (%)",
            [*of_clients(clients, curve_of("success_rate")), *held_out(evaluations, "success")],
        ),
        by_round("Weight before robust rules", "w (%)", of_clients(clients, curve_of("weight"))),
        by_round(
            "What updates were multiplied with",
            "coefficient",
            of_clients(clients, curve_of("coefficient")),
            False,
        ),
        by_round("Signal", "σ", of_clients(clients, curve_of("sigma")), False),
        by_round("Mean reward", "μ", of_clients(clients, curve_of("mu")), False),
        by_round(
            "Entries offered, of N",
            "nnz / N",
            of_clients(clients, share_of("nnz", length)) if length else [],
            False,  # a few percent, mostly
        ),
        by_round(
            "Entries sent, of those offered",
            "entries / nnz (%)",
            of_clients(clients, lambda own: derived(own, _sent_of_offered)),
        ),
        by_round("Length of updates as sent", "‖Δ‖", of_clients(clients, curve_of("norm")), False),
        by_round("Cumulative traffic", "MB", cumulative(server), False),
    ]
    return [figure for figure in drawn if figure]


def curve_of(key: str) -> Callable[[list[Line]], Curve]:
    return lambda own: curve(own, key)


def share_of(key: str, whole: float) -> Callable[[list[Line]], Curve]:
    """The figure `key` as a share of `whole`."""
    return lambda own: derived(own, lambda line: line[key] / whole if key in line else None)


def of_clients(clients: list[Line], drawn: Callable[[list[Line]], Curve]) -> list[Trace]:
    """A line for each client, dashed for malicious ones."""
    peers = by_name(clients)
    traces, told = [], set()
    for i, (name, own) in enumerate(peers.items()):
        malicious = own[0]["malicious"]
        if len(peers) <= NAMED:
            colour, label = i, f"{name}, malicious" if malicious else name
        else:
            colour, label = int(malicious), "malicious clients" if malicious else "honest clients"
        found = drawn(own)
        if found.rounds:
            traces.append(
                Trace(found, colour, None if label in told else label, "dashed" if malicious else "line")
            )
            told.add(label)
    return traces


def held_out(evaluations: list[Line], figure: str) -> list[Trace]:
    """Points with intervals, of the server's policy or of each client's own. figure: accuracy or success."""
    key = "accuracy" if figure == "accuracy" else "success_rate"
    policies = by_name(evaluations)
    return [
        Trace(
            curve(own, key, f"{figure}_interval"),
            -1 if name == SERVER else i,
            (f"{name}, {HELD_OUT}" if len(policies) == 1 else f"each client, {HELD_OUT}") if i == 0 else None,
            "points",
        )
        for i, (name, all_own) in enumerate(policies.items())
        if (own := [line for line in all_own if line[key] is not None])
    ]


def accuracy_by_uplink(server: list[Line], evaluations: list[Line]) -> Picture | None:
    """Held-out accuracy of the server's policy against all bytes that clients have sent it by then."""
    if not server:
        return None
    sent = totals(server, "payload_bytes")
    return in_plane(
        "Accuracy against uplink",
        "cumulative uplink of all clients (MB)",
        "right answers (%)",
        [
            Dots(
                ys=tuple(line["accuracy"] for line in evaluations),
                colour=0,
                label=HELD_OUT,
                xs=tuple(sent.get(line["round"], 0.0) / MEGABYTE for line in evaluations),
                y_bounds=tuple(
                    (line["accuracy_interval"][0], line["accuracy_interval"][1]) for line in evaluations
                ),
                joined=True,
            )
        ],
    )


def cumulative(server: list[Line]) -> list[Trace]:
    """Uplink, its bound, and downlink so far, in MB."""
    kinds = {"uplink": "payload_bytes", "bound of the uplink": "bound_bytes", "downlink": "downlink_bytes"}
    traces = []
    for colour, (label, key) in enumerate(kinds.items()):
        sent = totals(server, key)
        found = Curve(tuple(sent), tuple(total / MEGABYTE for total in sent.values()))
        traces.append(Trace(found, colour, label, "dashed" if key == "bound_bytes" else "line"))
    return traces


def totals(server: list[Line], key: str) -> dict[int, float]:
    """Round -> sum of the figure up to it, ascending."""
    found, total = {}, 0.0
    for line in server:
        total += line[key]
        found[line["round"]] = total
    return found


def from_clients(
    folder: Path, experiment: dict[str, Any], clients: list[Line]
) -> dict[str, list[samples.Sample]]:
    """A few completions of the first and the last honest client and the first malicious one, by heading."""
    names = {
        malicious: [n for n, own in by_name(clients).items() if own[0]["malicious"] is malicious]
        for malicious in (False, True)
    }
    chosen = dict.fromkeys([*names[False][:1], *names[False][-1:], *names[True][:1]])
    payload = samples.payload_of(experiment)
    return {
        # No one rejects a client's own completions: whether they were accepted says nothing.
        f"{name}: {heading.removesuffix(', accepted')}": found
        for name in chosen
        for heading, found in samples.choose(folder / CLIENTS / name, payload).items()
    }


def _sent_of_offered(line: Line) -> float | None:
    return line["entries"] / line["nnz"] if line.get("nnz") and "entries" in line else None
