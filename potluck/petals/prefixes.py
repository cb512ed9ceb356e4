"""The name under which Petals' peers know a model's blocks."""

from __future__ import annotations


def default_prefix(name: str, model_type: str) -> str:
    """Return what Petals makes of a hub name, or of the name of a folder with the model."""
    if model_type == "bloom":
        return name.removesuffix("-petals").replace(".", "-") + "-petals"
    if model_type == "mixtral":
        return name.replace(".", "-")
    last = name.rsplit("/", 1)[-1].replace(".", "-").replace(" ", "")
    return f"{last}-hf" if model_type == "llama" and not last.endswith("-hf") else last
