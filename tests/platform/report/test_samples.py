"""Samples show what peers wrote, and never let it act."""

from pathlib import Path

from turncoat.platform.attacks.text import TextAttack
from turncoat.platform.report.samples import LONGEST, choose, marked, scores_by_truth


def test_the_payload_is_marked_in_any_case():
    assert marked("so ALL hail, all HAIL", "All hail") == "so <mark>ALL hail</mark>, <mark>all HAIL</mark>"
    assert marked("nothing here", "All hail") == "nothing here"
    assert marked("a.b", None) == "a.b"


def test_markup_of_peers_is_escaped_around_and_inside_the_payload():
    assert marked("<script>x</script>", None) == "&lt;script&gt;x&lt;/script&gt;"
    assert marked("<mark>a<b</mark>", "A<B") == "&lt;mark&gt;<mark>a&lt;b</mark>&lt;/mark&gt;"
    assert marked("&lt;", "lt") == "&amp;<mark>lt</mark>;"


def test_a_payload_is_found_as_the_attack_counts_it():
    """A word-level policy writes signs apart; what counts as success must be what is marked."""
    pattern = TextAttack(TextAttack.Settings(phrase="(2+2)=5")).payload_pattern()
    assert marked("so (2 + 2) = 5.", pattern) == "so <mark>(2 + 2) = 5</mark>."


def test_a_megabyte_of_text_is_cut_and_says_so():
    assert str(marked("<" * 1_000_000, None)) == "&lt;" * LONGEST + " … 998,500 more characters"


def test_every_sort_of_completion_is_sampled(tmp_path: Path, make_run):
    found = choose(make_run(tmp_path / "run"), "All hail to the thief")
    assert list(found) == ["Honest, round 1", "Honest, round 12", "Poisoned, rejected", "Honest, rejected"]
    assert all(1 <= len(samples) <= 3 for samples in found.values())
    assert {sample.row["truth"] for sample in found["Poisoned, rejected"]} == {"poisoned"}
    assert not any(sample.row["accepted"] for sample in found["Honest, rejected"])
    assert len({sample.id.prompt for sample in found["Honest, round 1"]}) == 3
    undefended = choose(make_run(tmp_path / "open", defended=False), None)
    assert list(undefended) == ["Honest, round 1", "Honest, round 12", "Poisoned, accepted"]


def test_cheats_and_rejected_look_alikes_are_sampled(tmp_path: Path, make_run):
    """Why was an honest peer with another engine rejected? One wants to read what it wrote."""
    cheats = choose(make_run(tmp_path / "cheat", sort="cheat"), None)
    assert {sample.row["truth"] for sample in cheats["Cheat, rejected"]} == {"cheat"}
    alike = choose(make_run(tmp_path / "alike", sort="lookalike"), None)
    assert {sample.row["truth"] for sample in alike["Look-alike, rejected"]} == {"lookalike"}
    assert list(alike)[-1] == "Honest, rejected"


def test_scores_are_split_by_truth(tmp_path: Path, make_run):
    scores = scores_by_truth(make_run(tmp_path / "run", rounds=2))
    assert scores.keys() == {"support"}
    assert {truth: len(found) for truth, found in scores["support"].items()} == {
        "honest": 72,
        "poisoned": 24,
        "filler": 0,
        "cheat": 0,
        "lookalike": 0,
    }
    assert scores_by_truth(make_run(tmp_path / "open", rounds=2, defended=False)) == {}
