"""What a person sees while runs go on: a live table in a terminal, a line now and then elsewhere."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

from turncoat.platform.config.experiment import Experiment
from turncoat.platform.config.federated import Federated

LINE_SECONDS = 10.0
"""Without a terminal (in a job's log) a run prints a line at most so often, and after every evaluation."""


class Board:
    """Rounds, remaining time, success and accuracy of the runs at hand; safe to use from several threads."""

    def __init__(self, console: Console | None = None):
        self.console = console or Console(stderr=True)
        self.lock = threading.Lock()
        self.rows: dict[str, dict[str, Any]] = {}
        self.live = Live(get_renderable=self._table, console=self.console, refresh_per_second=2)
        self.tty = self.console.is_terminal

    def __enter__(self) -> "Board":
        if self.tty:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.tty:
            self.live.stop()

    def round(self, experiment: Experiment | Federated, round: int, lines: Sequence[dict[str, Any]]) -> None:
        """A round is done; lines: its metrics, one per learner."""
        with self.lock:
            row = self._row(experiment, round)
            row["reward"] = lines[0]["reward_mean"]
            row["rollouts"] = lines[0]["success_rate"]
            left = experiment.rounds - round
            # A resumed run is first heard of at the end of a round, whose duration nobody here has seen.
            seen = round - row["first"] + 1
            row["eta"] = left * (time.monotonic() - row["started"]) / seen if seen else None
            if not self.tty and time.monotonic() - row["printed"] > LINE_SECONDS:
                self._print(experiment, row)

    def evaluation(
        self, experiment: Experiment | Federated, round: int, lines: Sequence[dict[str, Any]]
    ) -> None:
        """An evaluation is done; lines: its metrics, one per policy."""
        with self.lock:
            row = self._row(experiment, round)
            row["accuracy"], row["success"] = lines[0]["accuracy"], lines[0]["success_rate"]
            if not self.tty:
                self._print(experiment, row)

    def _row(self, experiment: Experiment | Federated, round: int) -> dict[str, Any]:
        key = f"{experiment.name} seed {experiment.seed}"
        row = self.rows.setdefault(
            key, {"name": key, "started": time.monotonic(), "first": round + 1, "printed": 0.0}
        )
        row.update(round=round, rounds=experiment.rounds)
        return row

    def _print(self, experiment: Experiment | Federated, row: dict[str, Any]) -> None:
        row["printed"] = time.monotonic()
        self.console.print(
            f"{row['name']}: round {row['round']}/{row['rounds']}, {clock(row.get('eta'))} left, "
            + ("" if experiment.attack.kind == "none" else f"attack success {share(row.get('success'))}, ")
            + f"accuracy {share(row.get('accuracy'))}, reward {share(row.get('reward'))}",
            highlight=False,
            soft_wrap=True,
        )

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False)
        for column in ("run", "round", "left", "reward", "attack success", "accuracy (held out)"):
            table.add_column(column, justify="left" if column == "run" else "right")
        with self.lock:
            for row in self.rows.values():
                table.add_row(
                    row["name"],
                    f"{row['round']}/{row['rounds']}",
                    clock(row.get("eta")),
                    share(row.get("reward")),
                    share(row.get("success")),
                    share(row.get("accuracy")),
                )
        return table


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def clock(seconds: float | None) -> str:
    return "–" if seconds is None else f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
