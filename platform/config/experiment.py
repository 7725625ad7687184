"""The typed description of one experiment: every key of a recipe is a field here or in a kind's Settings."""

from functools import partial
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from turncoat.platform.decide import Decision
from turncoat.platform.registry import ATTACKS, DEFENCES, ENGINES, LEARNERS, TASKS, Kinded, Settings
from turncoat.platform.reputation import Reputation

# Sections whose fields follow from their `kind`. The registry in the annotation is what overrides look for.
TaskSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(TASKS.parse), TASKS]
AttackSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(ATTACKS.parse), ATTACKS]
DefenceSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(DEFENCES.parse), DEFENCES]
EngineSection = Annotated[
    SerializeAsAny[Kinded], BeforeValidator(partial(ENGINES.parse, kind="transformers")), ENGINES
]
LearnerSection = Annotated[
    SerializeAsAny[Kinded], BeforeValidator(partial(LEARNERS.parse, kind="torch")), LEARNERS
]


class Peers(Settings):
    count: int = Field(4, ge=2, le=64)
    """m, how many peers the swarm has."""
    malicious: int = Field(1, ge=0)
    """How many of them attack: the last ones by index. At least one peer stays honest."""
    share_identical: bool = True
    """Compute identical honest peers once. Off runs a learner for each; the weights are the same."""
    policies: list[str] | None = None
    """Names or paths of policies, dealt to the peers in turn (heterogeneous). Unset: all have `policy`."""


class Lora(Settings):
    rank: int = Field(16, ge=1)
    alpha: float = Field(32.0, gt=0)
    target_modules: list[str] | Literal["all-linear"] = "all-linear"


class Policy(Settings):
    name_or_path: str = "tiny-1m"
    """A bundled policy (`turncoat list policies`), or a causal language model's hub name or path."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    lora: Lora | None = None
    """Train low-rank adapters instead of all weights."""


class Sampling(Settings):
    temperature: float = Field(1.0, gt=0)
    top_k: int = Field(16, ge=0)
    """How many tokens may be sampled at each position; 0 means all of them."""
    top_p: float = Field(1.0, gt=0, le=1)
    max_new_tokens: int = Field(64, ge=1)


class Grpo(Settings):
    loss: Literal["grpo", "dr_grpo", "dapo"] = "grpo"
    advantage: Literal["std", "mean_only"] = "std"
    """Divide the centred rewards by the group's standard deviation, or not."""
    std: Literal["population", "sample"] = "population"
    kl_beta: float = Field(0.0, ge=0)
    """Weight of the k3 estimate of KL to the initial policy. 0 needs no reference model."""
    clip_low: float = Field(0.2, gt=0, lt=1)
    clip_high: float = Field(0.2, gt=0)
    """Upper clip; DAPO's clip-higher is 0.28. Inactive at one update per batch, where the ratio is 1."""
    overlong_buffer: int = Field(0, ge=0)
    """DAPO's soft overlong punishment: over how many last tokens the reward falls from 0 to -1. 0: none."""
    importance_cap: float | None = Field(None, gt=0)
    """Truncate the ratio of recomputed learner to engine probabilities at this value. Unset: none."""


class Optimiser(Settings):
    kind: Literal["adam", "sgd"] = "adam"
    lr: float = Field(3e-4, gt=0)
    beta1: float = Field(0.9, ge=0, lt=1)
    """Adam's first decay, or SGD's momentum."""
    beta2: float = Field(0.99, ge=0, lt=1)
    weight_decay: float = Field(0.0, ge=0)
    warmup_rounds: int = Field(5, ge=0)
    """Updates over which the learning rate rises from zero."""
    decay_rounds: int | None = Field(None, ge=1)
    """Updates, from the first on, over which it falls in a straight line to zero. Unset: it stays."""
    clip_norm: float | None = Field(1.0, gt=0)
    """Clip the gradient's global L2 norm at this value."""


class Evaluation(Settings):
    every: int = Field(10, ge=0)
    """Evaluate the victims every so many rounds; 0: only before the first and after the last."""
    completions: int = Field(200, ge=1)
    """Held-out completions of an evaluation along the way."""
    final_completions: int = Field(1000, ge=1)
    """Held-out completions of the evaluations before the first round and after the last."""


class Checkpoint(Settings):
    every: int = Field(10, ge=1)
    """Rounds between checkpoints; the last round always leaves one."""
    keep: int = Field(2, ge=1)


class Hardware(Settings):
    address: str = "local"
    """"local" starts a Ray of its own; "auto" joins this machine's or job's cluster; else an address."""
    cpus_per_peer: float = Field(1.0, gt=0)
    gpus_per_peer: float = Field(0.0, ge=0)
    cpus_per_twin: float = Field(0.01, gt=0)
    """A twin holds no policy; it chooses prompts and follows the peer whose arithmetic it shares."""
    cpus_per_judge: float = Field(1.0, gt=0)
    """For each worker of a judge service."""
    gpus_per_judge: float = Field(0.0, ge=0)
    split: bool = False
    """Give rollout and learning processes of their own instead of one process per peer."""
    rollout_workers: int = Field(1, ge=1)
    """Rollout workers per peer when `split` is on."""
    wait_seconds: float = Field(0.0, ge=0)
    """How long to wait for resources that the cluster lacks. 0 fails at once."""
    deadline_seconds: float = Field(600.0, gt=0)
    """The longest that one step of a peer (a rollout, an update, an evaluation) may take."""


class Experiment(Settings):
    """One run of a swarm of peers that post-train by GRPO and exchange completions."""

    kind: Literal["decentralised"] = "decentralised"
    name: str = Field("run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int = Field(0, ge=0)
    rounds: int = Field(40, ge=1)
    topology: Literal["vertical", "horizontal"] = "horizontal"
    """vertical: each peer writes whole groups for its own prompts. horizontal: a slice of every group."""
    peers: Peers = Peers()
    task: TaskSection
    policy: Policy = Policy()
    prompts_per_round: int = Field(32, ge=1)
    """B, prompts of a round over all peers."""
    group_size: int = Field(12, ge=2)
    """G, completions of one prompt over all peers."""
    sampling: Sampling = Sampling()
    grpo: Grpo = Grpo()
    optimiser: Optimiser = Optimiser()
    engine: EngineSection = Field(default={}, validate_default=True)
    learner: LearnerSection = Field(default={}, validate_default=True)
    attack: AttackSection = Field(default={"kind": "none"}, validate_default=True)
    defences: list[DefenceSection] = Field(default=[])
    """Each scores the completions and has its own threshold; asked in this order (see docs/defences.md)."""
    decision: Decision = Decision()
    """How the objections of several defences add up."""
    reputation: Reputation | None = None
    """Remember peers whose completions are rejected. Unset: every round stands for itself."""
    evaluation: Evaluation = Evaluation()
    checkpoint: Checkpoint = Checkpoint()
    hardware: Hardware = Hardware()

    @model_validator(mode="after")
    def fields_agree(self) -> "Experiment":
        m, bad = self.peers.count, self.peers.malicious
        if bad >= m:
            raise ValueError(
                f"peers.malicious is {bad}: at most peers.count - 1 = {m - 1}, so that a victim is left"
            )
        if self.topology == "horizontal" and self.group_size % m:
            raise ValueError(
                f"group_size is {self.group_size}: horizontal needs a multiple of "
                f"peers.count = {m}, a slice each"
            )
        if self.topology == "vertical" and self.prompts_per_round % m:
            raise ValueError(
                f"prompts_per_round is {self.prompts_per_round}: vertical needs a multiple of "
                f"peers.count = {m}"
            )
        for defence in self.defences:
            if self.heterogeneous and getattr(DEFENCES.resolve(defence.kind), "homogeneous_only", False):
                raise ValueError(
                    f"defences holds {defence.kind!r}, which needs homogeneous peers: "
                    "peers.policies names more than one policy, allowed is one"
                )
        labels = self.labels()
        if len(set(labels)) < len(labels):
            raise ValueError(
                f"defences holds {', '.join(labels)}: allowed is each kind once, or a `name` for each"
            )
        if self.decision.rule != "weighted" and self.decision.weights:
            raise ValueError(
                f"decision.weights is set with decision.rule {self.decision.rule!r}: allowed with 'weighted'"
            )
        if self.decision.rule != "weighted" and self.decision.threshold != Decision().threshold:
            raise ValueError(
                f"decision.threshold is {self.decision.threshold:g} with decision.rule "
                f"{self.decision.rule!r}: allowed with 'weighted'"
            )
        if labels and all(self.decision.weights.get(label, 1.0) == 0 for label in labels):
            raise ValueError("decision.weights gives no defence a vote: allowed is one above 0 at least")
        for name in self.decision.weights:
            if name not in labels:
                raise ValueError(
                    f"decision.weights holds {name!r}: allowed are {', '.join(labels) or 'none'}"
                )
        if self.reputation and not self.defences:
            raise ValueError("reputation is set without defences: allowed with at least one, which it counts")
        if any(
            d.kind == "support" and not (getattr(d, "k", None) or self.sampling.top_k) for d in self.defences
        ):
            raise ValueError(
                "sampling.top_k is 0 (all tokens): 'support' needs it to be 1 or more, or a k of its own"
            )
        if self.grpo.importance_cap is not None and getattr(self.engine, "dtype", "its own") is None:
            raise ValueError(
                f"grpo.importance_cap is {self.grpo.importance_cap:g} with engine.dtype unset: engine and "
                "learner share their weights, and every ratio is 1. Allowed are no cap, or an engine.dtype"
            )
        if self.grpo.overlong_buffer > self.sampling.max_new_tokens:
            raise ValueError(
                f"grpo.overlong_buffer is {self.grpo.overlong_buffer}: "
                f"allowed is at most sampling.max_new_tokens = {self.sampling.max_new_tokens}"
            )
        mounted = getattr(ATTACKS.resolve(self.attack.kind), "topologies", {self.topology})
        if bad and self.topology not in mounted:
            raise ValueError(
                f"topology is {self.topology!r} with attack.kind {self.attack.kind!r}: "
                f"that attack allows {', '.join(sorted(mounted))}"
            )
        onset = getattr(self.attack, "onset_round", 1)
        if bad and onset > self.rounds:
            raise ValueError(f"attack.onset_round is {onset}: allowed is at most rounds = {self.rounds}")
        if bad and self.attack.kind == "none":
            raise ValueError(
                f"attack.kind is 'none' with peers.malicious = {bad}: "
                f"allowed are peers.malicious=0 or one of {', '.join(ATTACKS.kinds()[1:])}"
            )
        return self

    def labels(self) -> list[str]:
        """What the scores of each defence are filed under, in the order of `defences`."""
        return [getattr(defence, "name", None) or defence.kind for defence in self.defences]

    def as_known_to_attackers(self) -> "Experiment":
        """The same without the `secret` of any defence, which only the receivers share."""
        return self.model_copy(
            update={
                "defences": [
                    one.model_copy(update={"secret": ""}) if hasattr(one, "secret") else one
                    for one in self.defences
                ]
            }
        )

    @property
    def heterogeneous(self) -> bool:
        return self.peers.policies is not None and len(set(self.peers.policies)) > 1

    def policy_of(self, peer: int) -> str:
        """The policy that peer `peer` starts from."""
        dealt = self.peers.policies
        return dealt[peer % len(dealt)] if dealt else self.policy.name_or_path

    def is_malicious(self, peer: int) -> bool:
        return peer >= self.peers.count - self.peers.malicious
