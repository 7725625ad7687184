"""All peers of one experiment, placed and named, as the driver sees them."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray

from turncoat.actors.ensemble import Ensemble
from turncoat.actors.judge import JudgeWorker
from turncoat.actors.light import Adversary, Twin
from turncoat.actors.policy import LearnerShard, PolicyPeer, RolloutWorker
from turncoat.platform.config.experiment import Experiment
from turncoat.platform.ids import peer_name
from turncoat.platform.plan import cast_of, gpu_share, judges_of
from turncoat.platform.records import Completion, Contribution
from turncoat.platform.registry import ATTACKS


class Swarm(Ensemble):
    """Creates the actors of all peers and judges, and talks to all of them with deadlines."""

    def __init__(self, experiment: Experiment, run: str, stop: threading.Event):
        super().__init__(experiment, run, stop)
        self.experiment = experiment
        self.cast = cast_of(experiment)
        self.rollouts: dict[int, list[Any]] = {}
        self.learners: dict[int, Any] = {}
        self.light: dict[int, Any] = {}
        self.judges: dict[str, list[Any]] = {}

    def contribute(self, round: int) -> list[Contribution]:
        """What each peer sends this round, sorted by peer."""
        answers = {}
        served = {
            lead: [lead] + [twin for twin, at in self.cast.twins.items() if at == lead]
            for lead in self.cast.leads
        }
        for lead, peers in served.items():
            workers = self.rollouts[lead]
            for turn, worker in enumerate(workers):
                mine = peers[turn :: len(workers)]
                if mine:
                    owed = [self._slots(peer, round) for peer in mine]
                    answers[f"{peer_name(lead)} (worker {turn})"] = worker.contribute.remote(round, *owed)
        what = f"the rollout of round {round}"
        sent: list[Contribution] = []
        seen: list[Any] = []
        if ATTACKS.resolve(self.experiment.attack.kind).rushing:
            sent += flat(self._wait(answers, what).values())
            answers, seen = {}, [ray.put(tuple(sent))]
        for peer in self.cast.adversaries:
            answers[peer_name(peer)] = self.light[peer].contribute.remote(round, *seen)
        sent += flat(self._wait(answers, what).values())
        return sorted(sent, key=lambda contribution: contribution.peer)

    def receive(
        self, round: int, completions: Sequence[Completion], choices: Mapping[int, int]
    ) -> dict[int, Any]:
        """Hand the gathered round to every learner: peer -> (outcome, weights hash)."""
        gathered = ray.put(tuple(completions))
        answers = {
            peer_name(p): learner.receive.remote(round, gathered, choices)
            for p, learner in self.learners.items()
        }
        outcomes = self._by_peer(self._wait(answers, f"the update of round {round}"))
        self._follow({peer: sha for peer, (_, sha) in outcomes.items()}, round)
        return outcomes

    def evaluate(self, completions: int) -> dict[int, Any]:
        """Held-out figures of every policy: peer -> Evaluation."""
        answers = {
            peer_name(p): workers[0].evaluate.remote(completions) for p, workers in self.rollouts.items()
        }
        return self._by_peer(self._wait(answers, "an evaluation"))

    def save(self, folder: Path) -> dict[str, str]:
        """Have every learner write its state into `folder/<peer>`; peer name -> weights hash."""
        answers = {
            peer_name(p): learner.save.remote(folder / peer_name(p)) for p, learner in self.learners.items()
        }
        return self._wait(answers, "a checkpoint")

    def load(self, folder: Path, round: int) -> dict[str, str]:
        """Have every learner take up what `save` wrote; peer name -> weights hash."""
        answers = {
            peer_name(p): learner.load.remote(folder / peer_name(p)) for p, learner in self.learners.items()
        }
        hashes = self._wait(answers, "loading a checkpoint")
        self._follow(self._by_peer(hashes), round)
        return hashes

    def _start(self) -> None:
        plain = self.experiment.model_dump(mode="json")
        hardware = self.experiment.hardware
        split = hardware.split
        # A peer's processes share its one bundle by fractions, so that they stay on one node and on its GPU.
        gpus = gpu_share(hardware)
        first = 1 + self.experiment.peers.count
        for place, (name, worker) in enumerate(judges_of(self.experiment)):
            self.judges.setdefault(name, []).append(
                self._place(
                    JudgeWorker,
                    f"judge-{name}/{worker}",
                    first + place,
                    hardware.cpus_per_judge,
                    hardware.gpus_per_judge,
                    plain,
                    name,
                )
            )
        for peer in self.cast.leads:
            if split:
                self.learners[peer] = self._actor(
                    LearnerShard, "learner", peer, gpus, plain, peer, self.judges
                )
                self.rollouts[peer] = [
                    self._actor(RolloutWorker, f"rollout-{i}", peer, gpus, plain, peer)
                    for i in range(hardware.rollout_workers)
                ]
            else:
                self.learners[peer] = self._actor(PolicyPeer, "peer", peer, gpus, plain, peer, self.judges)
                self.rollouts[peer] = [self.learners[peer]]
        for peer in self.cast.twins:
            self.light[peer] = self._actor(Twin, "twin", peer, 0, plain, peer)
        known = self.experiment.as_known_to_attackers().model_dump(mode="json")
        for peer, lead in self.cast.adversaries.items():
            self.light[peer] = self._actor(
                Adversary,
                "adversary",
                peer,
                0,
                known,
                peer,
                self.rollouts[lead][0],
                self.learners[lead],
            )
        self._wait_for_start(
            {name: actor.start.remote() for name, actor in self.actors.items()}, "the actors' start"
        )

    def _actor(self, cls: type, role: str, peer: int, gpus: float, *arguments: Any) -> Any:
        light = cls in (Twin, Adversary)
        cpus = self.experiment.hardware.cpus_per_twin if light else self.experiment.hardware.cpus_per_peer
        return self._place(cls, f"{peer_name(peer)}/{role}", 1 + peer, cpus, gpus, *arguments)

    def _slots(self, peer: int, round: int) -> Any:
        # A twin says itself what it sets out to answer; the lead answers for both.
        asked = self.light[peer] if peer in self.light else self.rollouts[peer][0]
        return asked.slots.remote(round)

    def _follow(self, hashes: Mapping[int, str], round: int) -> None:
        """Bring rollout workers of their own, and twins, to the learners' new weights."""
        answers = {}
        if self.experiment.hardware.split:
            for peer, learner in self.learners.items():
                weights = learner.weights.remote()
                for i, worker in enumerate(self.rollouts[peer]):
                    answers[f"{peer_name(peer)} (worker {i})"] = worker.take.remote(weights)
        for twin, lead in self.cast.twins.items():
            answers[peer_name(twin)] = self.light[twin].follow.remote(hashes[lead])
        self._wait(answers, f"the peers to follow the update of round {round}")

    def _by_peer(self, answers: Mapping[str, Any]) -> dict[int, Any]:
        return {peer: answers[peer_name(peer)] for peer in self.learners}


def flat(answers: Iterable[Any]) -> Iterator[Contribution]:
    """One contribution from each adversary, a list of them from each policy."""
    for answer in answers:
        yield from answer if isinstance(answer, list) else [answer]
