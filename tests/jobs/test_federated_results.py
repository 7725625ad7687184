"""What the commands make of a federation: its policy can be measured and taken home, its scores cannot."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from turncoat.jobs.evaluate import evaluate
from turncoat.jobs.export import export
from turncoat.jobs.plan_command import print_plan
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import parse
from turncoat.platform.federation.vectors import Layout
from turncoat.platform.journal.journal import Journal
from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.trained import load_trained

SHORT = ["sampling.max_new_tokens=4", "evaluation.final_completions=4"]


def with_checkpoint(run: Path, weights: dict[str, np.ndarray]) -> Path:
    """weights: by file in the checkpoint."""
    journal = Journal.open(run)
    folder = journal.pending_checkpoint(2)
    for name, vector in weights.items():
        (folder / name).parent.mkdir(exist_ok=True)
        save_file({"weights": vector}, folder / name)
    journal.commit_checkpoint(2, {}, keep=1)
    return run


def weights_of(model: Any) -> np.ndarray:
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    return Layout.of(trainable).read(trainable)


@pytest.fixture(scope="module")
def vector() -> np.ndarray:
    """The weights of tiny-0.3m, moved a little."""
    return weights_of(load_policy("tiny-0.3m")[0]) + np.float32(0.01)


def test_the_server_s_policy_is_what_is_measured_and_exported(
    tmp_path: Path, federated_run: Any, vector: np.ndarray
) -> None:
    """Entry by entry: a vector that is read in another order is another policy, and runs all the same."""
    from transformers import AutoModelForCausalLM

    run = with_checkpoint(federated_run(tmp_path / "run", *SHORT), {"server.safetensors": vector})
    assert np.array_equal(weights_of(load_trained(run)[0]), vector)
    folder = export(run, tmp_path / "out")
    assert np.array_equal(weights_of(AutoModelForCausalLM.from_pretrained(folder)), vector)
    assert evaluate(str(run)).n == 4
    with pytest.raises(BadInput, match=r"peer is 1: .* holds the server's policy, allowed is at most 0"):
        export(run, tmp_path / "more", peer=1)


def test_where_nothing_is_exchanged_a_client_is_chosen(
    tmp_path: Path, federated_run: Any, vector: np.ndarray
) -> None:
    files = {f"client-{k:02d}/weights.safetensors": vector + np.float32(k) for k in range(2)}
    run = with_checkpoint(federated_run(tmp_path / "run", "kind=local_only"), files)
    assert np.array_equal(weights_of(load_trained(run, 1)[0]), vector + np.float32(1))
    with pytest.raises(BadInput, match=r"peer is 3: .* holds those of 3 clients, allowed is at most 2"):
        load_trained(run, 3)
    with pytest.raises(BadInput, match="client 2 has not trained yet"):
        load_trained(run, 2)


def test_frozen_factors_are_no_part_of_the_vector(tmp_path: Path, federated_run: Any) -> None:
    """Of FFA-LoRA the server holds B alone; A follows from the seed."""
    lora = ["policy.lora.rank=2", "adapters=freeze_a"]
    model, _ = load_policy("tiny-0.3m", "float32", parse_lora(lora), 0)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("lora_B" in name)
    vector = weights_of(model) + np.float32(0.5)
    run = with_checkpoint(federated_run(tmp_path / "run", *lora), {"server.safetensors": vector})
    trained, _, _ = load_trained(run)
    stored = torch.cat([p.flatten() for name, p in sorted(trained.named_parameters()) if "lora_B" in name])
    assert np.array_equal(stored.detach().numpy(), vector)


def parse_lora(overrides: list[str]) -> Any:
    return parse({"kind": "federated", "task": "arithmetic"}, overrides).policy.lora


def test_weights_of_another_policy_are_refused(tmp_path: Path, federated_run: Any) -> None:
    run = with_checkpoint(federated_run(tmp_path / "run"), {"server.safetensors": np.ones(5, np.float32)})
    with pytest.raises(BadInput, match="other weights"):
        load_trained(run)


@pytest.mark.parametrize(
    "arguments",
    [["roc"], ["calibrate", "--defence", "support", "--fpr", "0.01", "--out", "no.json"]],
    ids=["roc", "calibrate"],
)
def test_scores_that_nobody_gave_are_not_asked_for(
    tmp_path: Path, federated_run: Any, command: Callable[..., Any], arguments: list[str]
) -> None:
    """A traceback, or an empty table, would leave the user to guess."""
    name, *options = arguments
    code, _, errors = command(name, federated_run(tmp_path / "run"), *options)
    assert code == 2
    assert errors.count("\n") == 1
    assert "of kind 'federated', in which no defence scores completions" in errors


def test_federations_are_compared_by_accuracy_and_bytes(
    tmp_path: Path, federated_run: Any, command: Any, as_json: Any
) -> None:
    """Beside a reference that sends nothing."""
    runs = [
        federated_run(tmp_path / "fed", "clients.malicious=1", "lie=sign_flip", accuracy=0.4),
        federated_run(tmp_path / "local", "kind=local_only", accuracy=0.6),
    ]
    first, second = as_json(command("compare", *runs, "--json"))
    assert first["attack"] == "sign_flip"
    assert first["figures"]["uplink MB"]["value"] == pytest.approx(0.00225)
    assert second["figures"]["wire ×"] is None
    assert second["difference"]["accuracy"]["value"] == pytest.approx(0.2)
    assert "stop rate" not in first["figures"]
    code, printed, _ = command("compare", *runs)
    assert code == 0
    for words in ("uplink MB", "3.56", "sign_flip / no defence", "Newcombe"):
        assert words in printed


def test_a_plan_that_does_not_fit_names_the_field_that_a_federation_has(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Told to change `cpus_per_peer`, one would be told next that there is no such key."""
    tree = {"kind": "federated", "task": "arithmetic"}
    with pytest.raises(BadInput, match=r"hardware\.gpus_per_process: 320 GPU needed"):
        print_plan(parse(tree, ["hardware.gpus_per_process=64"]))
    assert "64 GPU" in capsys.readouterr().out


def test_what_a_federation_can_name_is_listed(command: Callable[..., Any]) -> None:
    for family, kind in {
        "partitions": "by_level",
        "aggregators": "signal_weighted",
        "compressors": "sparse_loco",
        "robust": "multi_krum",
        "lies": "signal_inflation",
    }.items():
        code, printed, _ = command("list", family)
        assert code == 0
        assert kind in printed
