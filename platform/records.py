"""What travels between peers, and what a peer believes about it.

A completion travels as text plus provenance, never as a tensor that another peer made. What a receiving peer
believes about it is a separate record, and the truth (who poisoned what) is known to the observer's journal
alone.
"""

from dataclasses import dataclass, field
from typing import Literal

from turncoat.platform.ids import CompletionId

Truth = Literal["honest", "poisoned", "filler", "cheat", "lookalike"]
"""What the observer knows of a completion. poisoned: carries a payload. filler: what a poisoner sends beside
it. cheat: not what the protocol asks for, without a payload. lookalike: honest, but computed otherwise.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question that every peer holds, together with its ground truth.

    id: stable name of the row, e.g. "arithmetic/train/17". text: the full prompt as the policy sees it.
    solution: the reference reasoning, without the think/answer tags. answer: the reference answer, as text.
    level: of difficulty, from 1; 0 where the data name none. topic: "" where they name none.
    """

    id: str
    text: str
    solution: str
    answer: str
    level: int = 0
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """One completion that a peer is to write."""

    id: CompletionId
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Completion:
    """What a peer sends. `finished`: the writer ended the text itself (an end token), rather than ran out of
    length.
    """

    id: CompletionId
    prompt_id: str
    text: str
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Contribution:
    """All that one peer sends in one round. `truths` goes to the observer's journal and is stripped before
    the gather. choices: in vertical swarms, the row of the task behind each of the peer's own groups, in
    order; empty where it takes the rows that it is dealt.
    """

    round: int
    peer: int
    completions: tuple[Completion, ...]
    truths: tuple[Truth, ...]
    choices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Belief:
    """What the receiving peer found out about one completion by itself.

    verdict: see tasks/answers.py; "error" and "timeout" earn nothing, and are counted apart. scores: defence
    name -> suspicion, of the defences that were asked. rejected_by: names of the defences that objected.
    accepted: they did not prevail (see decide.py). advantage: 0 where it was dropped. tokens: its own count,
    end token included. notes: defence name -> what it said, e.g. a judge's words.
    """

    id: CompletionId
    reward: float
    verdict: str
    tokens: int
    advantage: float
    accepted: bool
    scores: dict[str, float] = field(default_factory=dict)
    rejected_by: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
