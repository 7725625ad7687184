"""What one GRPO step costs: turncoat, TRL's GRPOTrainer and a bare loop on the same work, in CPU seconds.

    pip install 'turncoat[bench,smollm2]'
    python tests/benchmarks/step_cost.py --out step-cost.json

Prints the tables and writes them, with every repetition, every setting and the versions, to the JSON file.
`trl` runs one pass over the whole batch; `trl (cut)` passes over few rows at a time as turncoat does, for the
CPU's cache. The ratio is taken in each repetition, and its interval is the bootstrap's, 95 %, of the median.
"""

import argparse
import gc
import json
import os
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from bare import BareLoop
from natural import THREE, variants
from ours import ENGINE, OursForced
from rich.console import Console
from rich.table import Table
from timing import alternate, ratio, spread
from trl_step import TrlStep
from work import LEARNING_RATE, TEMPERATURE, TOP_K, Policies, Work

from turncoat.platform.learners.settings import TorchSettings

FORCED = [
    Work("tiny-0.3m", prompts=48, group=12, length=48),
    Work("tiny-1m", prompts=48, group=12, length=48),
    Work("smollm2-135m", prompts=2, group=4, length=48, shots=2),
    Work("smollm2-135m", prompts=2, group=4, length=48),
]
NATURAL = [Work("tiny-0.3m", 48, 12, 48), Work("tiny-1m", 48, 12, 48)]
SMOKE = [Work("tiny-0.3m", prompts=2, group=4, length=6)]
CUT = 48
"""Completions of one pass of `trl (cut)`: about the padded tokens of one of turncoat's parts."""

WANTED, REQUIRED, SUPPORT_LIMIT, THREE_LIMIT = 0.8, 1.0, 1.05, 1.08


def forced(work: Work, repetitions: int) -> dict[str, Any]:
    """Every completion has exactly L tokens, every group has signal."""
    policies, steps = Policies(work.policy), repetitions + 1
    ours = OursForced(work, policies)
    contestants: dict[str, Any] = {
        "turncoat": ours,
        "trl": TrlStep(work, policies, steps),
        "bare loop": BareLoop(work, policies),
        "turncoat + support": ours.guarded("support"),
        "turncoat + three": ours.guarded({"kind": "support", "threshold": 1}, "surprisal", "duplicate"),
    }
    if work.prompts * work.group > CUT:
        contestants["trl (cut)"] = TrlStep(work, policies, steps, CUT)
    total = work.prompts * work.group * work.length

    def checked(contestant: Any) -> Any:
        def run() -> None:
            if (tokens := contestant.step()) != total:
                raise RuntimeError(f"{type(contestant).__name__} worked on {tokens} tokens, not on {total}")

        return run

    seconds = alternate({name: checked(one) for name, one in contestants.items()}, repetitions)
    for contestant in contestants.values():
        contestant.close()
    without = seconds["turncoat"]
    asked = policies.tokenizer([one.text for one in work.questions()], add_special_tokens=False).input_ids
    return {
        "work": work.__dict__,
        "prompt_tokens": [len(ids) for ids in asked],
        "trl_settings": {n: c.settings for n, c in contestants.items() if isinstance(c, TrlStep)},
        "cpu_seconds": {name: spread(taken) for name, taken in seconds.items()},
        "turncoat_over": {name: ratio(without, seconds[name]) for name in seconds if name in OTHERS},
        "support_over_without": ratio(seconds["turncoat + support"], without),
        "three_over_without": ratio(seconds["turncoat + three"], without),
    }


OTHERS = ("trl", "trl (cut)", "bare loop")


def natural(work: Work, repetitions: int) -> dict[str, Any]:
    """Lengths and rewards as they come; each saving switched off in turn."""
    runs = variants(work, Policies(work.policy))
    seconds = alternate(runs, repetitions)
    ours = seconds["turncoat"]
    peer = runs["turncoat"].peer
    return {
        "work": work.__dict__,
        "last_round": {
            "groups_with_signal": peer.outcome.groups_with_signal,
            "mean_length": sum(b.tokens for b in peer.outcome.beliefs) / len(peer.outcome.beliefs),
        },
        "cpu_seconds": {name: spread(taken) for name, taken in seconds.items()},
        "over_turncoat": {name: ratio(taken, ours) for name, taken in seconds.items() if name != "turncoat"},
    }


def shape(work: dict[str, Any]) -> str:
    shots = f", {work['shots']} worked examples before each" if work["shots"] else ""
    return f"{work['policy']}: {work['prompts']} prompts × {work['group']} × {work['length']} tokens{shots}"


def show(console: Console, title: str, measured: dict[str, Any], ratios: dict[str, Any], over: str) -> None:
    columns = ("", "CPU s", "min – max", over, "95 % interval", "min – max")
    table = Table(*columns, title=title, title_justify="left")
    for name, taken in measured["cpu_seconds"].items():
        row = [name, f"{taken['median']:.2f}", f"{taken['min']:.2f} – {taken['max']:.2f}"]
        if name in ratios:
            r = ratios[name]
            low, high = r["interval"]
            row += [f"{r['median']:.3f}", f"{low:.3f} – {high:.3f}", f"{r['min']:.3f} – {r['max']:.3f}"]
        table.add_row(*row)
    console.print(table)


def environment() -> dict[str, Any]:
    packages = ("torch", "transformers", "trl", "accelerate", "numpy")
    return {
        "versions": {"python": platform.python_version()} | {name: version(name) for name in packages},
        "processor": platform.processor() or platform.machine(),
        "cpu": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "dtype": "float32",
        "sampling": {"temperature": TEMPERATURE, "top_k": TOP_K},
        "learning_rate": LEARNING_RATE,
        "turncoat": {"engine": ENGINE.model_dump(), "learner": TorchSettings().model_dump()},
    }


def verdicts(report: dict[str, Any]) -> list[tuple[str, float, str]]:
    """(what, median ratio, met or not) against the targets."""
    found = []
    for case in report["forced"]:
        for name, r in case["turncoat_over"].items():
            if name.startswith("trl"):
                grade = "as wanted" if r["median"] <= WANTED else met(r["median"], REQUIRED)
                found.append((f"{shape(case['work'])}: turncoat / {name}", r["median"], grade))
        r = case["support_over_without"]["median"]
        found.append((f"{shape(case['work'])}: support check", r, met(r, SUPPORT_LIMIT)))
        r = case["three_over_without"]["median"]
        found.append((f"{shape(case['work'])}: support, surprisal, duplicate", r, met(r, THREE_LIMIT)))
    for case in report["natural"]:
        r = case["over_turncoat"]["with support check"]["median"]
        found.append((f"{shape(case['work'])}, natural: support check", r, met(r, SUPPORT_LIMIT)))
        r = case["over_turncoat"][THREE]["median"]
        found.append((f"{shape(case['work'])}, natural: {THREE}", r, met(r, THREE_LIMIT)))
    return found


def met(value: float, limit: float) -> str:
    return "met" if value <= limit else "MISSED"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("step-cost.json"))
    parser.add_argument("--repetitions", type=int, default=7, help="at least 5 for a result")
    parser.add_argument("--policies", nargs="+", help="only these; default: all")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run?")
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    console = Console(width=120)
    report: dict[str, Any] = {"environment": environment(), "repetitions": chosen.repetitions}
    report |= {"forced": [], "natural": []}

    def wanted(cases: list[Work]) -> list[Work]:
        return [work for work in cases if not chosen.policies or work.policy in chosen.policies]

    def keep(kind: str, case: dict[str, Any], ratios: str, over: str) -> None:
        report[kind].append(case)
        report["verdicts"] = verdicts(report)
        chosen.out.write_text(json.dumps(report, indent=1) + "\n")
        show(console, f"{kind} work. {shape(case['work'])}".capitalize(), case, case[ratios], over)
        gc.collect()  # a trainer and its callback hold each other, and a whole policy

    for work in SMOKE if chosen.smoke else wanted(FORCED):
        keep("forced", forced(work, chosen.repetitions), "turncoat_over", "turncoat / it")
    for work in SMOKE if chosen.smoke else wanted(NATURAL):
        keep("natural", natural(work, chosen.repetitions), "over_turncoat", "it / turncoat")
    for what, value, grade in report["verdicts"]:
        console.print(f"{value:.3f}  {grade:9}  {what}", highlight=False)
    console.print(f"wrote {chosen.out}")


if __name__ == "__main__":
    main()
