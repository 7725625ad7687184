"""If these fail, results depend on who answered first, or the figures of a round are not of honest peers."""

from typing import Any

import pyarrow.parquet as pq

from turncoat.platform.config.loading import parse
from turncoat.platform.gather import Gathered, gather, parquet_rows, round_line
from turncoat.platform.ids import CompletionId
from turncoat.platform.journal.completions import part_of, write_part
from turncoat.platform.outcome import Outcome
from turncoat.platform.records import Belief, Completion, Contribution, Prompt
from turncoat.platform.rounds import slots_of

EXPERIMENT = parse({"task": "arithmetic", "attack": "text", "prompts_per_round": 2, "group_size": 4})
PROMPTS = {q: Prompt(f"row/{q}", f"How many {q}?", "so", "1") for q in range(2)}


def contribution(peer: int, truth: Any = "honest", text: str = "text") -> Contribution:
    completions = tuple(
        Completion(id, f"row/{id.prompt}", f"{text} {peer}") for id in slots_of(EXPERIMENT, 1, peer)
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
    gathered = gather(EXPERIMENT, 1, PROMPTS, sent)
    assert gather(EXPERIMENT, 1, PROMPTS, sent[::-1]) == gathered
    slots = [id for peer in range(4) for id in slots_of(EXPERIMENT, 1, peer)]
    assert [one.id for one in gathered.completions] == sorted(slots)
    assert gathered.refused == {}


def test_nobody_speaks_for_another():
    """A malicious peer that could fill an honest one's slots would be many."""
    forged = contribution(0, "poisoned", "boo").completions
    liar = Contribution(1, 3, forged, ("poisoned",) * len(forged))
    gathered = gather(EXPERIMENT, 1, PROMPTS, [*whole_round()[:3], liar])
    assert all("boo" not in one.text for one in gathered.completions)
    assert gathered.refused == {"foreign": 2, "missing": 2}
    assert len(gathered.completions) == 6


def test_the_figures_are_of_honest_peers_texts():
    """Attack success counted over the attacker's own texts would be 25 % from the first round on."""
    gathered = gather(EXPERIMENT, 1, PROMPTS, whole_round())
    outcome = Outcome(beliefs(gathered), loss=0.5, kl=0.1, grad_norm=2.0, groups_with_signal=1)
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
        "accepted_honest": 6,
        "accepted_poisoned": 1,
        "groups_with_signal": 1,
        "verdicts": {"right": 2, "wrong": 6},
        "refused": {},
        "loss": 0.5,
        "grad_norm": 2.0,
        "kl": 0.1,
        "weights_sha256": "abc",
        "seconds": {"learn": 1.0},
    }


def test_texts_that_say_nothing_either_way_are_no_failures():
    """An attack may be silent about a text; a rate over none is unknown, not 0."""
    gathered = gather(EXPERIMENT, 1, PROMPTS, whole_round())
    outcome = Outcome(beliefs(gathered))
    some = round_line(gathered, 0, outcome, "", lambda text: True if "text 1" in text else None, {})
    assert some["success_rate"] == 1.0
    assert round_line(gathered, 0, outcome, "", lambda text: None, {})["success_rate"] is None


def test_a_round_without_any_honest_completion_has_unknown_means():
    """Their completions may all be refused; the line must still be written."""
    silent = [Contribution(1, peer, (), ()) for peer in range(3)]
    gathered = gather(EXPERIMENT, 1, PROMPTS, [*silent, contribution(3, "poisoned")])
    line = round_line(gathered, 0, Outcome(beliefs(gathered)), "", lambda text: True, {})
    assert (line["reward_mean"], line["success_rate"], line["length_mean"]) == (None, None, None)
    assert line["refused"] == {"missing": 6}


def test_every_completion_is_kept_with_its_truth_whatever_it_holds(tmp_path):
    """Text of strangers must not be able to keep itself out of the journal."""
    hostile = contribution(3, "filler", "\ud800\x00 <eos>")
    gathered = gather(EXPERIMENT, 1, PROMPTS, [*whole_round()[:3], hostile])
    write_part(tmp_path, 1, parquet_rows(gathered, 2, Outcome(beliefs(gathered))))
    table = pq.read_table(part_of(tmp_path, 1)).to_pylist()
    assert [row["truth"] for row in table] == ["honest"] * 3 + ["filler"] + ["honest"] * 3 + ["filler"]
    assert table[0]["prompt_text"] == "How many 0?"
    assert {row["receiver"] for row in table} == {2}
