"""If these fail, what a run has trained cannot be measured, or what is exported is another policy."""

import pytest
import torch
from safetensors.torch import save_file

from turncoat.jobs.evaluate import evaluate, table
from turncoat.jobs.export import export
from turncoat.jobs.single import single
from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.loading import to_yaml
from turncoat.platform.ids import seed_of
from turncoat.platform.journal.journal import Journal
from turncoat.platform.policies.load import load_policy
from turncoat.platform.policies.trained import load_trained
from turncoat.platform.policies.words import word_tokenizer
from turncoat.platform.tasks.wording import vocabulary

CHANGES = ["sampling.max_new_tokens=8", "attack.kind=text", "evaluation.final_completions=12", "seed=5"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory):
    """A tiny policy with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("policy")
    tokenizer = word_tokenizer(vocabulary())
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def run_of(folder, policy, *changes):
    """A run's folder after one round that doubled every trainable weight."""
    experiment = single(str(policy), "arithmetic", [*CHANGES, *changes])
    journal = Journal.create(folder, to_yaml(experiment), {})
    one = experiment.policy
    model, _ = load_policy(str(policy), one.dtype, one.lora, seed_of(experiment.seed, "adapters"))
    peer = journal.pending_checkpoint(1) / "peer-00"
    peer.mkdir()
    trained = {name: p.detach() * 2 + 0.1 for name, p in model.named_parameters() if p.requires_grad}
    save_file(trained, peer / "model.safetensors")
    journal.commit_checkpoint(1, {"peer-00": "-"}, keep=1)
    return folder


@pytest.mark.parametrize("changes", [[], ["policy.lora.rank=2"]], ids=["all weights", "adapters"])
def test_an_exported_folder_is_a_plain_model_with_the_trained_behaviour(policy, tmp_path, changes):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    run = run_of(tmp_path / "run", policy, *changes)
    trained, tokenizer, _ = load_trained(run)
    ids = tokenizer("How many apples ?", return_tensors="pt").input_ids
    base, _ = load_policy(str(policy))
    with torch.no_grad():
        expected, before = trained(ids).logits, base(ids).logits
    assert not torch.allclose(expected, before)

    folder = export(run, tmp_path / "out")
    plain = AutoModelForCausalLM.from_pretrained(folder)
    with torch.no_grad():
        torch.testing.assert_close(plain(ids).logits, expected)
    assert {name for name, _ in plain.named_parameters()} == {name for name, _ in base.named_parameters()}
    assert AutoTokenizer.from_pretrained(folder)("How many apples ?").input_ids == ids[0].tolist()


def test_an_export_overwrites_nothing(policy, tmp_path):
    run = run_of(tmp_path / "run", policy)
    with pytest.raises(BadInput, match="not empty"):
        export(run, run)


def test_a_run_and_its_exported_policy_have_the_same_figures(policy, tmp_path):
    run = run_of(tmp_path / "run", policy)
    found = evaluate(str(run))
    assert found.n == 12
    assert found == evaluate(str(export(run, tmp_path / "out")), overrides=CHANGES)
    assert found.success_rate is not None
    assert evaluate(str(run), n=3).n == 3
    assert "attack success" in [*table(found).columns[0].cells]


def test_a_run_can_be_measured_on_another_task(policy, tmp_path):
    run = run_of(tmp_path / "run", policy)
    with pytest.raises(BadInput, match=r"task\.path: .*nowhere"):
        evaluate(str(run), task="gsm8k", overrides=["task.path=nowhere"])
    with pytest.raises(BadInput, match=r"task\.kind.*'gsm8k'"):
        evaluate(str(run), task="gsm8")


def test_what_is_no_run_or_has_nothing_to_show_is_refused(policy, tmp_path):
    with pytest.raises(BadInput, match="no run"):
        export(tmp_path, tmp_path / "out")
    fresh = tmp_path / "fresh"
    Journal.create(fresh, to_yaml(single(str(policy), "arithmetic", CHANGES)), {})
    with pytest.raises(BadInput, match="no checkpoint"):
        evaluate(str(fresh))
    with pytest.raises(BadInput, match=r"peer is 3: .*peer-00"):
        export(run_of(tmp_path / "run", policy), tmp_path / "out", peer=3)


def test_weights_of_another_policy_are_refused(policy, tmp_path):
    run = run_of(tmp_path / "run", policy, "policy.lora.rank=2")
    stored = run / "checkpoints" / "round-00001" / "peer-00" / "model.safetensors"
    journal = Journal.open(run)
    pending = journal.pending_checkpoint(2) / "peer-00"
    pending.mkdir()
    save_file({"model.norm.weight": torch.ones(16)}, pending / "model.safetensors")
    journal.commit_checkpoint(2, {"peer-00": "-"}, keep=2)
    assert stored.is_file()
    with pytest.raises(BadInput, match="other weights"):
        load_trained(run)
