"""The typed description of a federated run, and of its two references: centralised and local only."""

import random
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from turncoat.platform.config.experiment import (
    AttackSection,
    Checkpoint,
    EngineSection,
    Evaluation,
    Grpo,
    LearnerSection,
    Optimiser,
    Policy,
    Sampling,
    TaskSection,
)
from turncoat.platform.ids import seed_of
from turncoat.platform.registry import (
    AGGREGATORS,
    ATTACKS,
    COMPRESSORS,
    FEDERATED_ATTACKS,
    PARTITIONS,
    ROBUST,
    Kinded,
    Settings,
)

PartitionSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(PARTITIONS.parse), PARTITIONS]
AggregationSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(AGGREGATORS.parse), AGGREGATORS]
RobustSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(ROBUST.parse), ROBUST]
CompressionSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(COMPRESSORS.parse), COMPRESSORS]
LieSection = Annotated[SerializeAsAny[Kinded], BeforeValidator(FEDERATED_ATTACKS.parse), FEDERATED_ATTACKS]


class Clients(Settings):
    count: int = Field(5, ge=1, le=256)
    """K, how many clients the federation has."""
    per_round: int | None = Field(None, ge=1)
    """How many of them take part in a round, drawn anew each time. Unset: all."""
    prompts: Literal["equal", "by_rows"] = "equal"
    """How many prompts a step of each has: prompts_per_step, or of clients.count times that as many as is its
    part of the rows, at least one. `by_rows`, n_k differs; it is the client's own word, up to all of them."""
    malicious: int = Field(0, ge=0)
    """How many of them attack: the last ones by index. At least one stays honest."""
    absent: dict[int, list[int]] = Field(default={})
    """Round -> clients that stay away from it, as if they had dropped out."""
    deadline_seconds: float = Field(600.0, gt=0)
    """How long the server waits for either phase of a client's round. Who is later is absent from it. The
    clients of one process work one after the other: it is for all of them together."""
    keep_optimiser: bool = False
    """Keep a client's optimiser state from round to round; else each round begins with a fresh one."""


class Signals(Settings):
    std: Literal["group", "pooled"] = "group"
    """σ: the mean over groups of the rewards' standard deviation, or that over all rewards (an ablation)."""
    consistency: bool = True
    """Refuse a client whose σ is larger than sqrt(μ(1-μ)), which binary rewards cannot have; with
    grpo.overlong_buffer, where rewards begin at -1, than sqrt((μ+1)(1-μ))."""
    calibration: float = Field(0.0, ge=0)
    """λ of the global reward calibration: how far prompts on which the client falls short of the others' mean
    reward count more. 0: plain GRPO."""


class Budget(Settings):
    share: float = Field(1.0, gt=0, le=1)
    """B: how much of what all clients would send they may send."""
    rule: Literal["signal", "uniform", "fixed"] = "signal"
    """How it is shared out: by σ, equally, or B of its own entries to each."""


class ServerStep(Settings):
    kind: Literal["sgd", "nesterov", "adam"] = "sgd"
    lr: float = Field(1.0, ge=1e-12, le=1e6)
    """η. 1 with sgd is plain averaging."""
    momentum: float = Field(0.9, ge=0, lt=1)
    """Nesterov's (DiLoCo), or Adam's first decay."""
    beta2: float = Field(0.99, ge=0, lt=1)
    """Adam's second decay."""
    epsilon: float = Field(1e-3, ge=1e-12)
    """Adam's. Far below that it is 0 in float32, and an entry that never moved is 0/0."""


class Hardware(Settings):
    address: str = "local"
    """"local" starts a Ray of its own; "auto" joins this machine's or job's cluster; else an address."""
    clients_per_process: int = Field(1, ge=1)
    """How many clients share a process and its copy of the policy, one after the other. The weights are the
    same; but a process that ends takes all of its clients out of the round."""
    cpus_per_process: float = Field(1.0, gt=0)
    gpus_per_process: float = Field(0.0, ge=0)
    cpus_of_server: float = Field(0.1, gt=0)
    wait_seconds: float = Field(0.0, ge=0)
    """How long to wait for resources that the cluster lacks. 0 fails at once."""
    deadline_seconds: float = Field(600.0, gt=0)
    """The longest that a start, an evaluation, a checkpoint or the server's sum may take."""


class Federated(Settings):
    """One federation of clients that post-train by GRPO on data of their own and exchange updates.

    centralised: one learner sees all clients' prompts, step by step. local_only: nothing is exchanged.
    """

    kind: Literal["federated", "centralised", "local_only"] = "federated"
    name: str = Field("run", pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    seed: int = Field(0, ge=0)
    rounds: int = Field(12, ge=1)
    """T."""
    clients: Clients = Clients()
    partition: PartitionSection = Field(default={"kind": "iid"}, validate_default=True)
    """Which client has which part of the training data."""
    task: TaskSection
    policy: Policy = Policy()
    local_steps: int = Field(5, ge=1)
    """S, GRPO updates of a client in a round."""
    prompts_per_step: int = Field(16, ge=1)
    """Of one client; its average with clients.prompts "by_rows"."""
    group_size: int = Field(8, ge=2)
    """G, completions of one prompt."""
    sampling: Sampling = Sampling()
    grpo: Grpo = Grpo()
    optimiser: Optimiser = Optimiser()
    """The clients'. Its warm-up and decay count updates, local_steps of them in a round."""
    proximal: float = Field(0.0, ge=0)
    """μ of FedProx: a pull of the clients' weights towards the server's. 0: none."""
    adapters: Literal["average", "freeze_a", "stack"] = "average"
    """With policy.lora: average both factors (FedIT), train and average B alone (FFA-LoRA, exact), or add the
    clients' products B · A to the weights beneath and begin with fresh adapters each round (FLoRA, exact)."""
    engine: EngineSection = Field(default={}, validate_default=True)
    learner: LearnerSection = Field(default={}, validate_default=True)
    signals: Signals = Signals()
    aggregation: AggregationSection = Field(default={"kind": "signal_weighted"}, validate_default=True)
    """How much each client counts."""
    robust: list[RobustSection] = Field(default=[])
    """Rules against hostile updates, applied in this order: clip, then select, then weigh."""
    compression: CompressionSection = Field(default={"kind": "natural"}, validate_default=True)
    """What of an update is sent, and how."""
    error_feedback: float | None = Field(None, ge=0, le=1)
    """β: how much of what a client did not send it adds to the next update. Unset: what belongs to the
    compression (`sparse_loco` has it), else none."""
    entropy: Literal["rans", "zstd"] = "rans"
    """The last stage of the wire format."""
    budget: Budget = Budget()
    downlink: Literal["patch", "dense"] = "patch"
    """What clients that hold the last version get: the entries that changed since, or all weights."""
    server: ServerStep = ServerStep()
    """What the server does with the weighted sum of the updates."""
    attack: AttackSection = Field(default={"kind": "none"}, validate_default=True)
    """What malicious clients train on. Its success is measured on the server's policy."""
    lie: LieSection | None = None
    """What malicious clients do to their signal and their update."""
    evaluation: Evaluation = Evaluation(every=1)
    checkpoint: Checkpoint = Checkpoint(every=1)
    hardware: Hardware = Hardware()

    @model_validator(mode="after")
    def fields_agree(self) -> "Federated":
        k, bad = self.clients.count, self.clients.malicious
        if bad >= k:
            raise ValueError(f"clients.malicious is {bad}: allowed is at most clients.count - 1 = {k - 1}")
        if self.clients.per_round is not None and self.clients.per_round > k:
            raise ValueError(
                f"clients.per_round is {self.clients.per_round}: allowed is at most clients.count = {k}"
            )
        for round, away in self.clients.absent.items():
            if not 1 <= round <= self.rounds or any(not 0 <= one < k for one in away):
                raise ValueError(
                    f"clients.absent holds {round}: {away}; allowed are rounds 1 to {self.rounds} and "
                    f"clients 0 to {k - 1}"
                )
        if self.policy.dtype != "float32":
            raise ValueError(
                f"policy.dtype is {self.policy.dtype!r}: allowed is 'float32', the master weights; what "
                "travels may be bfloat16 (see compression)"
            )
        if self.adapters != "average" and self.policy.lora is None:
            raise ValueError(f"adapters is {self.adapters!r} without policy.lora: allowed with it")
        if getattr(self.lie, "oracle", False) and self.hardware.clients_per_process < k:
            raise ValueError(
                f"lie.oracle is set with hardware.clients_per_process = {self.hardware.clients_per_process}: "
                f"allowed is clients.count = {k} or more, since it is shown what the others send"
            )
        if self.adapters == "stack":
            self._stacks()
        if self.kind != "federated" and bad:
            raise ValueError(f"clients.malicious is {bad} with kind {self.kind!r}: allowed is 0")
        if bad and self.attack.kind == "none" and self.lie is None:
            raise ValueError(
                f"clients.malicious is {bad}, with attack.kind 'none' and no lie: allowed is one of the two"
            )
        if bad and ATTACKS.resolve(self.attack.kind).needs_swarm:
            raise ValueError(
                f"attack.kind is {self.attack.kind!r}, which acts on other peers' completions: allowed are "
                "attacks on a client's own data, such as 'text'"
            )
        if self.grpo.overlong_buffer > self.sampling.max_new_tokens:
            raise ValueError(
                f"grpo.overlong_buffer is {self.grpo.overlong_buffer}: "
                f"allowed is at most sampling.max_new_tokens = {self.sampling.max_new_tokens}"
            )
        stages = [ROBUST.resolve(rule.kind).stage for rule in self.robust]
        order = ["clip", "select", "weigh"]
        if stages != sorted(stages, key=order.index) or stages.count("weigh") > 1:
            given = ", ".join(f"{r.kind} ({s})" for r, s in zip(self.robust, stages, strict=True))
            raise ValueError(f"robust holds {given}: allowed is clip, then select, then one rule that weighs")
        power = getattr(self.compression, "power", 1.0)
        if self.policy.lora is not None and power != 1:
            raise ValueError(
                f"compression.power is {power:g} with policy.lora: allowed is 1, since adapters begin at 0, "
                "where that re-parameterisation has no gradient"
            )
        dense = self.compression.kind == "dense"
        if dense and self.budget.share < 1:
            raise ValueError(
                f"budget.share is {self.budget.share:g} with compression.kind 'dense': allowed is 1, or "
                "another compression"
            )
        lossless = self.sends_weights or getattr(self.compression, "values", None) == "ulp"
        if lossless and self.error_feedback is not None:
            raise ValueError(
                f"error_feedback is {self.error_feedback:g} with a compression that leaves nothing behind: "
                "allowed is none, or compression {kind: dense, send: delta} of fp32 or bf16, or another kind"
            )
        return self

    def _stacks(self) -> None:
        """Raises ValueError for what makes no sense with stacked adapters: all of them travel as they are."""
        if not self.sends_weights:
            raise ValueError(
                "adapters is 'stack', with updates that are differences: allowed is "
                "compression={kind: dense, send: weights}"
            )
        for field, given in (("robust", self.robust), ("lie", self.lie), ("proximal", self.proximal)):
            if given:
                raise ValueError(f"{field} is set with adapters 'stack': allowed with other adapters")
        if self.kind != "federated":
            raise ValueError(f"adapters is 'stack' with kind {self.kind!r}: allowed with 'federated'")

    @property
    def learners(self) -> int:
        """How many clients there are that learn: one, if all is in one place."""
        return 1 if self.kind == "centralised" else self.clients.count

    @property
    def has_root(self) -> bool:
        """Whether the server trains too, since a robust rule compares with its own update."""
        return self.kind == "federated" and any(ROBUST.resolve(rule.kind).rooted for rule in self.robust)

    @property
    def keeps_optimiser(self) -> bool:
        """Whether clients keep their optimiser's state; who learns alone always does."""
        return self.clients.keep_optimiser or self.kind != "federated"

    @property
    def sends_weights(self) -> bool:
        """Whether updates are new weights instead of differences."""
        return getattr(self.compression, "send", "delta") == "weights"

    def labels(self) -> list[str]:
        """Of defences against completions, which only swarms have."""
        return []

    def is_malicious(self, client: int) -> bool:
        return self.clients.count - self.clients.malicious <= client < self.clients.count

    def participants(self, round: int) -> list[int]:
        """The clients that are asked to take part in `round`, ascending."""
        everyone = list(range(self.learners))
        if self.kind == "federated" and self.clients.per_round is not None:
            rng = random.Random(seed_of(self.seed, "participants", round))
            everyone = sorted(rng.sample(everyone, self.clients.per_round))
        away = self.clients.absent.get(round, []) if self.kind == "federated" else []
        return [client for client in everyone if client not in away]
