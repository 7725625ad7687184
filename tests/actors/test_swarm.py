"""Peers in processes of their own: placed, named, and all of one mind about the weights."""

import time
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

import pytest
import ray

from turncoat.actors.cluster import wait_for_name
from turncoat.actors.placement import release, reserve
from turncoat.actors.swarm import Swarm
from turncoat.actors.waiting import CalledOff
from turncoat.platform.attacks.hostile import CHOICES, REFUSED
from turncoat.platform.config.errors import BadInput
from turncoat.platform.gather import gather
from turncoat.platform.plan import Bundle, plan_of
from turncoat.platform.registry import TASKS
from turncoat.platform.rounds import rows_of

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]

WORK = ("prompts_per_round=8", "group_size=8", "sampling.max_new_tokens=48")


def cpu_seconds(swarm: Swarm) -> float:
    """What all peers' processes have used so far."""
    return sum(ray.get([a.__ray_call__.remote(lambda _: time.process_time()) for a in swarm.actors.values()]))


Trained = tuple[dict[int, list[str]], float, list[str]]


def train(experiment: Any, rounds: int = 3) -> Trained:
    """(weights hash by learner and round, CPU seconds of the rounds, names of all actors)."""
    task = TASKS.build(experiment.task)
    hashes: dict[int, list[str]] = {}
    with Swarm(experiment, "run", Event()) as swarm:
        before = cpu_seconds(swarm)
        for round in range(1, rounds + 1):
            gathered = gather(experiment, task, round, swarm.contribute(round))
            for peer, (_, sha) in swarm.receive(round, gathered.completions, gathered.choices).items():
                hashes.setdefault(peer, []).append(sha)
        seconds = cpu_seconds(swarm) - before
        names = sorted(ray.util.list_named_actors())
    return hashes, seconds, names


@pytest.fixture(scope="module")
def colocated(tiny: Callable[..., Any]) -> Trained:
    return train(tiny(*WORK))


def test_actors_say_run_peer_and_role(colocated: Trained) -> None:
    """In the dashboard one finds the peer that hangs."""
    assert colocated[2] == [
        "run/peer-00/peer",
        "run/peer-01/twin",
        "run/peer-02/twin",
        "run/peer-03/adversary",
    ]


def test_twins_computed_apart_hold_the_same_weights(tiny: Callable[..., Any], colocated: Trained) -> None:
    """Sharing saves time and changes nothing: all that is claimed of one twin holds for each."""
    shared, cost, _ = colocated
    apart, cost_apart, names = train(tiny(*WORK, "peers.share_identical=false"))
    assert names == [f"run/peer-0{i}/peer" for i in range(3)] + ["run/peer-03/adversary"]
    assert apart == {0: shared[0], 1: shared[0], 2: shared[0]}
    print(f"CPU: a learner each {cost_apart:.2f} s, shared {cost:.2f} s, ratio {cost_apart / cost:.2f}")
    assert cost < 0.9 * cost_apart


def test_split_peers_hold_the_same_weights(tiny: Callable[..., Any], colocated: Trained) -> None:
    """A recipe that was tried on a laptop gives the same run where rollout and learning are apart."""
    split, _, names = train(tiny(*WORK, "hardware.split=true", "hardware.rollout_workers=2"))
    assert split == colocated[0]
    assert names[:3] == ["run/peer-00/learner", "run/peer-00/rollout-0", "run/peer-00/rollout-1"]


def test_bad_policy_files_are_bad_input(tiny: Callable[..., Any], tmp_path: Any) -> None:
    """What only a peer can find out is still one line that names the field. And nothing is left behind: on a
    shared cluster, what a run does not give back is lost to everybody.
    """
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(BadInput, match=r"policy\.name_or_path: cannot load"):
        train(tiny(f"policy.name_or_path={tmp_path}"))
    wait_for_name("run/peer-00/peer", 10)
    assert ray.util.list_named_actors() == []
    assert {group["state"] for group in ray.util.placement_group_table().values()} == {"REMOVED"}


def test_a_plan_that_cannot_fit_is_refused_at_once(tiny: Callable[..., Any]) -> None:
    """Ray itself would wait for ever, without a word."""
    start = time.monotonic()
    with pytest.raises(BadInput, match=r"hardware\.cpus_per_peer: 99\.\d+ CPU needed"):
        Swarm(tiny("hardware.cpus_per_peer=99"), "run", Event())
    assert time.monotonic() - start < 2


def test_a_wait_for_resources_ends(tiny: Callable[..., Any]) -> None:
    """On a growing cluster one waits, for so long; on any, Ctrl-C is heard meanwhile."""
    bundles = plan_of(tiny("hardware.cpus_per_peer=99"))
    stop = Event()
    stop.set()
    with pytest.raises(CalledOff):
        reserve(bundles, "run", 600, stop)


def test_resources_of_a_run_that_just_ended_are_waited_for() -> None:
    """Arms of a study follow one another in the same place: Ray needs a moment to clear it."""
    bundles: Sequence[Bundle] = [Bundle("run/peer-00", "policy", {"CPU": 8.0})]
    for _ in range(3):
        release(reserve(bundles, "run", 0, Event()))


def test_hostile_messages_end_no_run_and_count_for_nothing(tiny: Callable[..., Any]) -> None:
    """Sent between processes: the honest peers end with the weights of a run in which it was silent."""
    vertical = (*WORK, "topology=vertical", "attack.kind=hostile")
    silent = train(tiny(*vertical, "attack.messages=[missing]"))
    refused = train(
        tiny(*vertical, f"attack.messages=[{','.join(REFUSED)}]", "attack.choices=[huge,text,array]")
    )
    assert refused[0] == silent[0]
    assert len(set(silent[0][0])) == 3
    everything = train(tiny(*vertical, f"attack.choices=[{','.join(CHOICES)}]"))
    assert everything[0] != silent[0]


def test_a_rushing_attack_sees_the_round_and_chooses_by_it(tiny: Callable[..., Any]) -> None:
    """The copycat waits for the honest peers, twins too, and its copies are admitted like originals."""
    experiment = tiny(*WORK, "topology=vertical", "attack.kind=copycat")
    task = TASKS.build(experiment.task)
    with Swarm(experiment, "run", Event()) as swarm:
        gathered = gather(experiment, task, 1, swarm.contribute(1))
        swarm.receive(1, gathered.completions, gathered.choices)
    assert gathered.refused == {}
    rows = rows_of(experiment, 1)
    assert gathered.choices == {6: rows[0], 7: rows[1]}
    texts = {peer: [one.text for one in gathered.completions if one.id.peer == peer] for peer in range(4)}
    assert texts[3] == texts[0]
    assert set(gathered.truths.values()) == {"honest", "cheat"}


def test_a_look_alike_follows_the_swarm(tiny: Callable[..., Any]) -> None:
    """With no difference set, the swarm learns what it would have learnt without it: its weights are those of
    the learner in every round.
    """
    alike = train(tiny(*WORK, "attack.kind=lookalike"))
    honest = train(tiny(*WORK, "attack.kind=none", "peers.malicious=0"))
    assert alike[0] == honest[0]
