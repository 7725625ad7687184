"""One client: its shard of the data, its own journal, what it remembers, and its two phases of a round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

import torch
from safetensors.numpy import load_file, save_file

from turncoat.platform.attacks.base import Attack, Sent, Stage
from turncoat.platform.config.federated import Federated
from turncoat.platform.federation.calibration import emphasis_of
from turncoat.platform.federation.codec.wire import encode
from turncoat.platform.federation.compression.feedback import ErrorFeedback
from turncoat.platform.federation.lines import figures_of
from turncoat.platform.federation.partition.base import Partition
from turncoat.platform.federation.partition.iid import Iid
from turncoat.platform.federation.signals import Signal, signal_of
from turncoat.platform.federation.sparse import Sparse
from turncoat.platform.federation.trainer import Trainer
from turncoat.platform.federation.vectors import Vector
from turncoat.platform.ids import CompletionId, client_name, seed_of
from turncoat.platform.journal import completions as journal
from turncoat.platform.outcome import Outcome
from turncoat.platform.records import Prompt, Request
from turncoat.platform.registry import ATTACKS, COMPRESSORS, FEDERATED_ATTACKS, PARTITIONS

RESIDUAL, OPTIMISER, OWN, LIES = (
    "residual.safetensors",
    "optimiser.pt",
    "weights.safetensors",
    "lies.safetensors",
)


@dataclass(frozen=True)
class Report:
    """What a client tells after its local training. signal: for the server. figures: for the observer."""

    signal: Signal
    figures: dict[str, Any]


@dataclass
class Pending:
    """A round's work that the server has not answered for yet.

    trained: [N] the client's own weights after it, where nothing is exchanged. before, told: what error
    feedback owed and what a liar remembered before the round, to which a client goes back that was not heard.
    """

    round: int
    version: str
    base: Vector
    offered: Sparse | None
    trained: Vector | None
    optimiser: dict[str, Any] | None
    before: Vector | None
    told: dict[str, Vector] | None


class Client:
    """A member of the federation. It trains on a `Trainer` that it may share with others of its process.

    Prompts, completions and the rewards of single prompts stay in its own folder. What it remembers changes
    when the server has taken its update, and not before: who was cut off in the middle of a round is as if it
    had stayed away.
    """

    def __init__(self, experiment: Federated, index: int, trainer: Trainer, folder: Path):
        """folder: of its own journal. Raises BadInput where the partition leaves it nothing to learn from."""
        self.experiment, self.index, self.trainer, self.folder = experiment, index, trainer, folder
        count = experiment.clients.count
        self.partition: Partition
        if index < count:
            self.partition = PARTITIONS.build(experiment.partition, trainer.task, count, experiment.seed)
        else:  # the server's own
            self.partition = Iid(Iid.Settings(), trainer.task, 1, seed_of(experiment.seed, "root"))
        self.compressor = COMPRESSORS.build(experiment.compression)
        decay = experiment.error_feedback
        decay = self.compressor.decay if decay is None else decay
        self.feedback = None if decay is None else ErrorFeedback(trainer.layout.size, decay)
        self.optimiser: dict[str, Any] | None = None
        self.own: Vector | None = None
        """[N] where the client stands by itself, where nothing is exchanged."""
        self.attack, self.liar = self._malice()
        self.seen: Vector | None = None
        """[N] where a liar last began a round: from it and the next start it learns how the policy moved."""
        self.pending: Pending | None = None

    def work(
        self,
        round: int,
        base: Vector,
        version: str,
        mu_global: float | None,
        others: Sequence[Vector] = (),
    ) -> Report:
        """Phase 1: S local steps from the server's weights `base` [N], whose hash is `version`.

        others: what the honest clients' training did to their weights, for a liar who is an oracle.
        """
        self.drop()
        one, started = self.experiment, perf_counter()
        base = self.own_or(base)
        self.trainer.begin(base, self.optimiser, (round - 1) * one.local_steps)
        emphasis = emphasis_of(mu_global, one.signals.calibration) if one.signals.calibration else None
        rows, outcomes = [], []
        for step in range(one.local_steps):
            prompts = self._prompts(round, step)
            sent, outcome = self.trainer.step(self._writer(prompts, round), prompts, round, emphasis)
            outcomes.append(outcome)
            rows += [
                journal.row(completion, prompts[completion.id.prompt].text, truth, self.index, belief)
                for (completion, truth), belief in zip(sent, outcome.beliefs, strict=True)
            ]
        journal.write_part(self.folder, round, rows)
        exchanged = one.kind == "federated"
        before = self.feedback.state() if self.feedback else None
        trained = self.trainer.weights()
        signal = self._signal(round, outcomes)
        told = self.liar.state() if self.liar else None
        if self.liar is not None:
            signal, trained = self._lies(signal, trained, base, others)
        start = self.trainer.start_of(base)
        offered = self.compressor.offer(trained, start, self.feedback) if exchanged else None
        kept = self.trainer.optimiser_state() if one.keeps_optimiser else None
        alone = None if exchanged else trained
        self.pending = Pending(round, version, base, offered, alone, kept, before, told)
        payload_in = ATTACKS.build(one.attack).payload_in
        figures = figures_of(outcomes, payload_in, [row["text"] for row in rows])
        figures["seconds"] = perf_counter() - started
        return Report(replace(signal, nnz=offered.nnz if offered else 0), figures)

    def send(self, round: int, budget: int | None) -> bytes:
        """Phase 2: the update as it travels. budget: how many entries it may name; None: all."""
        pending = self._of(round)
        assert pending.offered is not None, "where nothing is exchanged, nobody asks"
        update = self.compressor.send(pending.offered, budget, self.feedback)
        return encode(update, bytes.fromhex(pending.version), self.experiment.entropy)

    def settle(self, round: int, taken: bool) -> None:
        """The round is closed; taken: the server has counted this client's update in."""
        if taken:
            pending = self._of(round)
            self.optimiser, self.own = pending.optimiser, pending.trained
            self.seen = pending.base if self.liar else None
            self.pending = None
        else:
            self.drop()

    def drop(self) -> None:
        """Forget a round that was not closed with this client in it."""
        if self.pending is not None and self.feedback is not None and self.pending.before is not None:
            self.feedback.load(self.pending.before)
        if self.pending is not None and self.liar is not None and self.pending.told is not None:
            self.liar.load(self.pending.told)
        self.pending = None

    def own_or(self, weights: Vector) -> Vector:
        """[N] where the client stands: at the server's `weights`, unless nothing is exchanged."""
        return weights if self.own is None else self.own

    @property
    def remembers(self) -> bool:
        """Whether it carries anything from round to round."""
        return self.feedback is not None or self.experiment.keeps_optimiser or self.liar is not None

    def rewind(self, round: int) -> None:
        """Forget what its journal holds of later rounds."""
        journal.drop_after(self.folder, round)

    def close_journal(self) -> None:
        """Join the rounds of its journal into one file."""
        journal.merge(self.folder)

    def save(self, folder: Path, counted: bool = False) -> None:
        """Write what the client remembers into an existing folder.

        counted: what it will remember once the round at hand, whose update it has sent, is counted in.
        """
        optimiser, own, seen = self.optimiser, self.own, self.seen
        if counted and self.pending is not None:
            optimiser, own, seen = self.pending.optimiser, self.pending.trained, self.pending.base
        if self.feedback is not None:
            save_file({"residual": self.feedback.residual}, folder / RESIDUAL)
        if optimiser is not None:
            torch.save(optimiser, folder / OPTIMISER)
        if own is not None:
            save_file({"weights": own}, folder / OWN)
        if self.liar is not None:
            told = {f"memory.{name}": one for name, one in self.liar.state().items()}
            save_file(told if seen is None else told | {"seen": seen}, folder / LIES)

    def load(self, folder: Path) -> None:
        """Take up what `save` wrote."""
        self.drop()
        if self.feedback is not None:
            self.feedback.load(load_file(folder / RESIDUAL)["residual"])
        path = folder / OPTIMISER
        self.optimiser = torch.load(path, weights_only=True) if path.is_file() else None
        path = folder / OWN
        self.own = load_file(path)["weights"] if path.is_file() else None
        if self.liar is not None:
            told = load_file(folder / LIES)
            self.seen = told.pop("seen", None)
            self.liar.load({name.removeprefix("memory."): one for name, one in told.items()})

    def _of(self, round: int) -> Pending:
        if self.pending is None or self.pending.round != round:
            raise ValueError(f"{client_name(self.index)} has done no work in round {round}")
        return self.pending

    def _prompts(self, round: int, step: int) -> dict[int, Prompt]:
        """The prompts of one local step, by group. Groups are counted through the round.

        Central training sees what all clients would see in that step.
        """
        one = self.experiment
        owners = range(one.clients.count) if one.kind == "centralised" else [self.index % one.clients.count]
        number = (round - 1) * one.local_steps + step
        rows = [
            row for owner in owners for row in self.partition.rows(owner, number, self._prompts_of(owner))
        ]
        if self.attack is not None and round >= self.attack.settings.onset_round:
            rows = list(self.attack.choose(rows, self._stage(round)))
        first = step * len(rows)
        return {first + i: self.trainer.task.train(row) for i, row in enumerate(rows)}

    def _prompts_of(self, owner: int) -> int:
        """How many prompts a client's local step has. The server's own is like an average client."""
        one = self.experiment
        if one.clients.prompts == "equal" or self.index >= one.clients.count:
            return one.prompts_per_step
        share = self.partition.share(owner)
        return max(1, round(share * one.clients.count * one.prompts_per_step))

    def _writer(self, prompts: Mapping[int, Prompt], round: int) -> Any:
        """What fills the slots of one local step: an honest client, or its attack."""
        requests = [
            Request(CompletionId(round, group, self.index, sample), prompt)
            for group, prompt in sorted(prompts.items())
            for sample in range(self.experiment.group_size)
        ]
        begun = self.attack is not None and round >= self.attack.settings.onset_round

        def write(stage: Stage) -> Sent:
            return self.attack.poison(requests, stage) if begun and self.attack else stage.honest(requests)

        return write

    def _signal(self, round: int, outcomes: list[Outcome]) -> Signal:
        groups: dict[int, list[float]] = {}
        for outcome in outcomes:
            for belief in outcome.beliefs:
                groups.setdefault(belief.id.prompt, []).append(belief.reward)
        accuracy = None
        if self.experiment.aggregation.kind == "task_accuracy":
            accuracy = fmean(belief.verdict == "right" for outcome in outcomes for belief in outcome.beliefs)
        std = self.experiment.signals.std
        return signal_of(self.index, round, list(groups.values()), 0, std, accuracy)

    def _lies(
        self, signal: Signal, trained: Vector, base: Vector, others: Sequence[Vector]
    ) -> tuple[Signal, Vector]:
        """(the signal, the weights) that a malicious client says it has."""
        if self.seen is not None:
            self.liar.observe(base - self.seen)
        delta = trained - base
        seed = seed_of(self.experiment.seed, "lie", signal.round, self.index)
        signal, forged = self.liar.corrupt(signal, delta, signal.round, seed, others)
        # The sum of base and difference is not the trained weight in float32: honest rounds stay exact.
        return signal, trained if forged is delta else base + forged

    def _stage(self, round: int) -> Stage:
        return Stage(self.trainer.task, self.experiment.seed, self.trainer.generate, round)

    def _malice(self) -> tuple[Attack | None, Any]:
        """(what poisons its data, what falsifies its signal and its update)."""
        one = self.experiment
        if not one.is_malicious(self.index):
            return None, None
        attack = ATTACKS.build(one.attack) if one.attack.kind != "none" else None
        if attack is not None:
            attack.prepare(one, self.index)
        return attack, FEDERATED_ATTACKS.build(one.lie) if one.lie else None
