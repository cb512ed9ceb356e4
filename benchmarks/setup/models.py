"""Llama checkpoints with random weights, made once into `.cache/`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from potluck_gateway.answers.completion import silence_transformers
from transformers import (
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

from benchmarks import ROOT

_CACHE = ROOT / ".cache" / "benchmarks"
_HEAD_SIZE = 64
_VOCABULARY = 1536  # the demo model's tokenizer fits; small, because embeddings and head are not what is measured
_POSITIONS = 4096
LONG_POSITIONS = 1 << 15  # Figures of long texts need these.
_SEED = 0


def checkpoint(hidden_size: int, num_blocks: int = 8, *, num_experts: int = 0, positions: int = _POSITIONS) -> Path:
    """The folder of a float32 checkpoint, shards of at most 400 MB; with experts, each token goes to two of them."""
    family = f"qwen3_moe-e{num_experts}" if num_experts else "llama"
    length = "" if positions == _POSITIONS else f"-p{positions}"
    path = _CACHE / f"{family}-h{hidden_size}-b{num_blocks}-v{_VOCABULARY}{length}"
    if not path.exists():
        print(f"making {path.name} (once) ...", flush=True)
        silence_transformers()
        _CACHE.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=_CACHE))
        try:
            made = _random_model(hidden_size, num_blocks, num_experts, positions)
            made.save_pretrained(scratch, max_shard_size="400MB")
            scratch.rename(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return path


def local_model(folder: Path) -> Any:
    """The same checkpoint by Transformers alone."""
    silence_transformers()
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def weight_bytes(folder: Path) -> int:
    """Return the bytes of all blocks, from the headers of the shards."""
    total = 0
    for shard in folder.glob("*.safetensors"):
        with shard.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        spans = [entry["data_offsets"] for name, entry in header.items() if ".layers." in name]
        total += sum(end - start for start, end in spans)
    return total


def _random_model(hidden_size: int, num_blocks: int, num_experts: int, positions: int) -> PreTrainedModel:
    common: dict[str, Any] = {
        "hidden_size": hidden_size,
        "intermediate_size": hidden_size * 11 // 4,
        "num_hidden_layers": num_blocks,
        "num_attention_heads": hidden_size // _HEAD_SIZE,
        "num_key_value_heads": hidden_size // _HEAD_SIZE,
        "vocab_size": _VOCABULARY,
        "max_position_embeddings": positions,
        "initializer_range": 0.06,  # wide enough that greedy tokens vary
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": 0,
        "dtype": "float32",
    }
    torch.manual_seed(_SEED)
    if not num_experts:
        return LlamaForCausalLM(LlamaConfig(**common)).eval()
    experts = {"num_experts": num_experts, "num_experts_per_tok": 2, "moe_intermediate_size": hidden_size * 11 // 8}
    return Qwen3MoeForCausalLM(Qwen3MoeConfig(**common, head_dim=_HEAD_SIZE, **experts)).eval()
