"""From a run's metrics lines to the curves and counts that a report shows."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from turncoat.platform.journal.metrics import Line


@dataclass(frozen=True)
class Curve:
    """One figure over the rounds. bounds: an interval at each point, for the curves that have them."""

    rounds: tuple[int, ...]
    values: tuple[float, ...]
    bounds: tuple[tuple[float, float], ...] | None = None


def of_kind(lines: Sequence[Line], kind: str) -> list[Line]:
    """The lines of one kind ("round" or "evaluation"), in order of rounds."""
    return sorted((line for line in lines if line["kind"] == kind), key=lambda line: line["round"])


def by_peer(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Lines by peer. Peers whose lines say the same (twins) stand together under one label, "peer-00 …
    peer-02".

    Where all peers are twins the label is "honest peers": only they keep metrics.
    """
    of_peer: dict[str, list[Line]] = {}
    for line in lines:
        of_peer.setdefault(line["peer"], []).append(line)
    twins: dict[str, list[str]] = {}
    for peer, own in of_peer.items():
        twins.setdefault(json.dumps([_impersonal(line) for line in own]), []).append(peer)
    if len(twins) == 1:
        return {"honest peers": next(iter(of_peer.values()))}
    return {
        peers[0] if len(peers) == 1 else f"{peers[0]} … {peers[-1]} ({len(peers)})": of_peer[peers[0]]
        for peers in twins.values()
    }


def curve(lines: Sequence[Line], key: str, bounds: str | None = None) -> Curve:
    """The figure `key` over the rounds, with the interval under the key `bounds`.

    Rounds without it are left out.
    """
    return derived(lines, lambda line: line.get(key), bounds)


def derived(
    lines: Sequence[Line], figure: Callable[[Line], float | None], bounds: str | None = None
) -> Curve:
    """As `curve`, for a figure that is computed from a line."""
    found = [(line, value) for line in lines if (value := figure(line)) is not None]
    return Curve(
        rounds=tuple(line["round"] for line, _ in found),
        values=tuple(value for _, value in found),
        bounds=tuple((line[bounds][0], line[bounds][1]) for line, _ in found) if bounds else None,
    )


def accepted(truth: str) -> Callable[[Line], float | None]:
    """The share of a round's "honest" or "poisoned" completions that the defences let through."""

    def share(line: Line) -> float | None:
        return line[f"accepted_{truth}"] / line[f"n_{truth}"] if line.get(f"n_{truth}") else None

    return share


def rejected(lines: Sequence[Line], truth: str) -> tuple[int, int]:
    """How many "honest" or "poisoned" completions were rejected in all rounds, and of how many."""
    total = sum(line.get(f"n_{truth}") or 0 for line in lines)
    return total - sum(line.get(f"accepted_{truth}") or 0 for line in lines), total


def out_of(figure: str, lines: Sequence[Line]) -> int:
    """Out of how many completions a proportion of one run is; 0 for a figure that is none."""
    if truth := {"stop rate": "poisoned", "false positives": "honest"}.get(figure):
        return rejected([line for own in by_peer(of_kind(lines, "round")).values() for line in own], truth)[1]
    at = 0 if figure == "accuracy before" else -1
    if not figure.startswith(("attack success", "accuracy")):
        return 0
    evaluations = [own[at] for own in by_peer(of_kind(lines, "evaluation")).values()]
    # Some completions do not tell whether the attack succeeded.
    counted = "success_n" if figure == "attack success" else "n"
    return sum(line[counted] if counted in line else line["n"] for line in evaluations)


def length_interval(lines: Sequence[Line]) -> tuple[float, float] | None:
    """Of the last evaluation, where a single policy was evaluated."""
    victims = list(by_peer(of_kind(lines, "evaluation")).values())
    if len(victims) != 1 or not (bounds := victims[0][-1].get("length_interval")):
        return None
    return bounds[0], bounds[1]


def mean_curve(curves: Sequence[Curve]) -> Curve:
    """The mean of several curves, at the rounds that all of them have."""
    points = [dict(zip(curve.rounds, curve.values, strict=True)) for curve in curves]
    common = sorted(set(points[0]).intersection(*points[1:])) if points else []
    return Curve(
        tuple(common), tuple(sum(point[round] for point in points) / len(points) for round in common)
    )


def _impersonal(line: Line) -> Line:
    return {key: value for key, value in line.items() if key not in ("peer", "seconds")}
