"""If these fail, results depend on who answered first, or the figures of a round are not of honest peers."""

from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest

from turncoat.platform.config.loading import parse
from turncoat.platform.gather import Gathered, gather, parquet_rows, round_line
from turncoat.platform.ids import CompletionId
from turncoat.platform.journal.completions import part_of, write_part
from turncoat.platform.outcome import Outcome
from turncoat.platform.records import Belief, Completion, Contribution, Prompt
from turncoat.platform.rounds import own_groups, prompts_of, requests_of, rows_of, slots_of
from turncoat.platform.tasks.base import Task, TaskSettings

EXPERIMENT = parse({"task": "arithmetic", "attack": "text", "prompts_per_round": 2, "group_size": 4})
VERTICAL = parse({"task": "arithmetic", "attack": "text", "topology": "vertical", "prompts_per_round": 8})


class Numbered(Task):
    def train(self, index: int) -> Prompt:
        return Prompt(f"row/{index}", f"How many {index}?", "so", "1")

    held_out = train


TASK = Numbered(TaskSettings(kind="numbered"))
PROMPTS = prompts_of(EXPERIMENT, TASK, 1)


def contribution(peer: int, truth: Any = "honest", text: str = "text") -> Contribution:
    completions = tuple(
        Completion(id, PROMPTS[id.prompt].id, f"{text} {peer}") for id in slots_of(EXPERIMENT, 1, peer)
    )
    return Contribution(1, peer, completions, (truth,) * len(completions))


def whole_round() -> list[Contribution]:
    return [contribution(p) for p in range(3)] + [contribution(3, "poisoned", "boo")]


def beliefs(gathered: Gathered) -> list[Belief]:
    return [
        Belief(
            one.id,
            reward=float(one.id.peer == 0),
            verdict="right" if one.id.peer == 0 else "wrong",
            tokens=one.id.peer + 1,
            advantage=0.0,
            accepted=one.id != CompletionId(1, 1, 3, 0),
        )
        for one in gathered.completions
    ]


def test_the_order_of_arrival_does_not_matter():
    """Every reduction follows the ids' order."""
    sent = whole_round()
    gathered = gather(EXPERIMENT, TASK, 1, sent)
    assert gather(EXPERIMENT, TASK, 1, sent[::-1]) == gathered
    slots = [id for peer in range(4) for id in slots_of(EXPERIMENT, 1, peer)]
    assert [one.id for one in gathered.completions] == sorted(slots)
    assert gathered.refused == {}


def test_nobody_speaks_for_another():
    """A malicious peer that could fill an honest one's slots would be many."""
    forged = contribution(0, "poisoned", "boo").completions
    liar = Contribution(1, 3, forged, ("poisoned",) * len(forged))
    gathered = gather(EXPERIMENT, TASK, 1, [*whole_round()[:3], liar])
    assert all("boo" not in one.text for one in gathered.completions)
    assert gathered.refused == {"foreign": 2, "missing": 2}
    assert len(gathered.completions) == 6


def test_the_figures_are_of_honest_peers_texts():
    """Attack success counted over the attacker's own texts would be 25 % from the first round on."""
    gathered = gather(EXPERIMENT, TASK, 1, whole_round())
    outcome = Outcome(beliefs(gathered), loss=0.5, kl=0.1, grad_norm=2.0, groups_with_signal=1)
    outcome.counts = {"judge": {"malformed": 1}}
    line = round_line(
        gathered, 0, outcome, "abc", lambda text: "boo" in text or "text 1" in text, {"learn": 1.0}
    )
    assert line == {
        "peer": "peer-00",
        "reward_mean": 1 / 3,
        "accuracy_honest": 1 / 3,
        "success_rate": 1 / 3,
        "length_mean": 2.0,
        "n_honest": 6,
        "n_poisoned": 2,
        "n_lookalike": 0,
        "n_beside": 0,
        "accepted_honest": 6,
        "accepted_poisoned": 1,
        "accepted_lookalike": 0,
        "accepted_beside": 0,
        "objections": {},
        "defence_counts": {"judge": {"malformed": 1}},
        "groups_with_signal": 1,
        "verdicts": {"right": 2, "wrong": 6},
        "refused": {},
        "loss": 0.5,
        "grad_norm": 2.0,
        "kl": 0.1,
        "weights_sha256": "abc",
        "seconds": {"learn": 1.0},
    }


def test_look_alikes_are_counted_apart_and_cheats_with_the_poison():
    """An honest peer with another engine is no attacker that was stopped, and no honest text of the figures;
    a cheat is one that should be.
    """
    kinds = [contribution(0), contribution(1), contribution(2, "lookalike"), contribution(3, "cheat", "boo")]
    gathered = gather(EXPERIMENT, TASK, 1, kinds)
    found = [
        replace(belief, accepted=belief.id.peer == 1 or (belief.id.peer > 1 and belief.id.prompt == 0))
        for belief in beliefs(gathered)
    ]
    line = round_line(gathered, 0, Outcome(found), "", lambda text: "text 2" in text, {})
    counts = [
        line[f"{what}_{side}"] for side in ("honest", "lookalike", "poisoned") for what in ("n", "accepted")
    ]
    assert counts == [4, 2, 2, 1, 2, 1]
    assert (line["success_rate"], line["length_mean"]) == (0.0, 1.5)


def test_what_a_malicious_peer_writes_honestly_is_no_false_positive():
    """An attacker that behaves in part would raise the false-positive rate of a defence that throws all of it
    out, and its honest texts would thin out the attack's success.
    """
    kinds = [contribution(0), contribution(1), contribution(2), contribution(3, "honest", "boo")]
    gathered = gather(EXPERIMENT, TASK, 1, kinds)
    found = [replace(belief, accepted=belief.id.peer != 3) for belief in beliefs(gathered)]
    line = round_line(gathered, 0, Outcome(found), "", lambda text: "boo" in text, {})
    assert (line["n_honest"], line["accepted_honest"]) == (6, 6)
    assert (line["n_beside"], line["accepted_beside"]) == (2, 0)
    assert (line["n_poisoned"], line["success_rate"]) == (0, 0.0)


def test_each_defence_s_objections_are_counted_by_side():
    """Of several defences, which one rejects honest peers? Objections that did not prevail count too."""
    kinds = [contribution(0), contribution(1), contribution(2, "lookalike"), contribution(3, "filler")]
    gathered = gather(EXPERIMENT, TASK, 1, kinds)
    objectors = {0: (), 1: ("a",), 2: ("a", "b"), 3: ("b", "quarantine")}
    found = [replace(belief, rejected_by=objectors[belief.id.peer]) for belief in beliefs(gathered)]
    outcome = Outcome(found, costs={"a": 0.1, "b": 0.2, "never": 0.0})
    assert round_line(gathered, 0, outcome, "", lambda text: None, {})["objections"] == {
        "a": {"honest": 2, "lookalike": 2, "poisoned": 0, "beside": 0},
        "b": {"honest": 0, "lookalike": 2, "poisoned": 2, "beside": 0},
        "never": {"honest": 0, "lookalike": 0, "poisoned": 0, "beside": 0},
        "quarantine": {"honest": 0, "lookalike": 0, "poisoned": 2, "beside": 0},
    }


def test_texts_that_say_nothing_either_way_are_no_failures():
    """An attack may be silent about a text; a rate over none is unknown, not 0."""
    gathered = gather(EXPERIMENT, TASK, 1, whole_round())
    outcome = Outcome(beliefs(gathered))
    some = round_line(gathered, 0, outcome, "", lambda text: True if "text 1" in text else None, {})
    assert some["success_rate"] == 1.0
    assert round_line(gathered, 0, outcome, "", lambda text: None, {})["success_rate"] is None


def test_a_round_without_any_honest_completion_has_unknown_means():
    """Their completions may all be refused; the line must still be written."""
    silent = [Contribution(1, peer, (), ()) for peer in range(3)]
    gathered = gather(EXPERIMENT, TASK, 1, [*silent, contribution(3, "poisoned")])
    line = round_line(gathered, 0, Outcome(beliefs(gathered)), "", lambda text: True, {})
    assert (line["reward_mean"], line["success_rate"], line["length_mean"]) == (None, None, None)
    assert line["refused"] == {"missing": 6}


def test_every_completion_is_kept_with_its_truth_whatever_it_holds(tmp_path):
    """Text of strangers must not be able to keep itself out of the journal."""
    hostile = contribution(3, "filler", "\ud800\x00 <eos>")
    gathered = gather(EXPERIMENT, TASK, 1, [*whole_round()[:3], hostile])
    write_part(tmp_path, 1, parquet_rows(gathered, 2, Outcome(beliefs(gathered))))
    table = pq.read_table(part_of(tmp_path, 1)).to_pylist()
    assert [row["truth"] for row in table] == ["honest"] * 3 + ["filler"] + ["honest"] * 3 + ["filler"]
    assert table[0]["prompt_text"] == PROMPTS[0].text
    assert {row["receiver"] for row in table} == {2}


def vertical(peer: int, rows: tuple[int, ...] = (), choices: Any = ()) -> Contribution:
    """The peer answers `rows`, and says that it chose `choices`."""
    chosen = dict(zip(own_groups(VERTICAL, peer), rows, strict=False))
    completions = tuple(
        Completion(request.id, request.prompt.id, "text")
        for request in requests_of(VERTICAL, TASK, 1, peer, chosen)
    )
    return Contribution(1, peer, completions, ("poisoned",) * len(completions), choices)


def test_a_peer_s_choices_are_of_its_own_groups_alone():
    """Whoever picks questions for others owns them all."""
    sent = [*map(vertical, range(3)), vertical(3, (70, 80), (70, 80))]
    gathered = gather(VERTICAL, TASK, 1, sent)
    dealt = rows_of(VERTICAL, 1)
    assert gathered.choices == {6: 70, 7: 80}
    rows = [*[dealt[group] for group in range(6)], 70, 80]
    assert [prompt.id for prompt in gathered.prompts.values()] == [f"row/{row}" for row in rows]
    assert gathered.refused == {}
    assert len(gathered.completions) == 8 * 12
    assert gather(VERTICAL, TASK, 1, sent[::-1]) == gathered


@pytest.mark.parametrize("choices", [(70,), (70, -1), [70, 80], None])
def test_refused_choices_leave_the_dealt_prompts(choices: Any):
    """What the peer wrote to others is refused with them, not judged by another question's answer."""
    gathered = gather(VERTICAL, TASK, 1, [*map(vertical, range(3)), vertical(3, (70, 80), choices)])
    assert gathered.choices == {}
    assert gathered.prompts == prompts_of(VERTICAL, TASK, 1)
    assert gathered.refused == {"choices": 1, "missing": 24, "prompt": 24}
    assert len(gathered.completions) == 6 * 12


def test_choices_in_a_horizontal_swarm_mean_nothing():
    """All peers answer the same prompts there."""
    sent = replace(contribution(3), choices=(5, 5))
    assert gather(EXPERIMENT, TASK, 1, [*whole_round()[:3], sent]).prompts == PROMPTS
