"""`turncoat export RUN DIR`: the policy that a run has trained, as a plain Hugging Face folder."""

from pathlib import Path

from turncoat.platform.config.errors import BadInput
from turncoat.platform.policies.trained import load_trained, merge_adapters


def export(run: Path, folder: Path, peer: int = 0) -> Path:
    """Write an honest peer's policy, from the newest checkpoint, with its tokenizer; returns `folder`.

    Adapters are merged: `AutoModelForCausalLM.from_pretrained(folder)` needs nothing else. Raises BadInput
    unless `folder` is new or empty, and where `load_trained` does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput(f"DIR is {str(folder)!r}, which is not empty: name a new folder")
    model, tokenizer, _ = load_trained(run, peer)
    merge_adapters(model)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
