"""Random LoRA adapters for the golden checkpoint, in the files that peft writes."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

HIDDEN = 64
NUM_BLOCKS = 4
RANK = 4


def save_adapter(folder: Path, seed: int, *, factor: float = 0.2) -> Path:
    """Changes the queries of each block."""
    folder.mkdir(parents=True)
    some = torch.Generator().manual_seed(seed)
    tensors = {}
    for block in range(NUM_BLOCKS):
        name = f"base_model.model.model.layers.{block}.self_attn.q_proj"
        tensors[f"{name}.lora_A.weight"] = torch.randn((RANK, HIDDEN), generator=some) * factor
        tensors[f"{name}.lora_B.weight"] = torch.randn((HIDDEN, RANK), generator=some) * factor
    save_file(tensors, folder / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": 32, "target_modules": ["q_proj"], "bias": "none"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    return folder
