"""Makes blocks with random weights on the device: no checkpoint, no download."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaModel, Qwen3MoeConfig, Qwen3MoeModel

from potluck.blocks.formats.layers import block_size, quantize_block
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.placement import Room
from potluck.blocks.streaming.weights import SpanWeights
from potluck.checkpoint.building import Passthrough
from potluck.checkpoint.shards import ReadTensors
from potluck.protocol.blocks import Span


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of Llama-like blocks, or, with experts, of Qwen3-MoE's.

    Attributes:
        intermediate_size: of each expert, if there are any.
        chosen: experts of a token.
    """

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    num_blocks: int
    num_experts: int = 0
    chosen: int = 0

    @property
    def head_dim(self) -> int:
        return 128 if self.num_experts else self.hidden_size // self.num_heads

    @property
    def attention_numbers(self) -> int:
        """Weights of a block's attention."""
        return 2 * self.hidden_size * (self.num_heads + self.num_kv_heads) * self.head_dim

    @property
    def expert_numbers(self) -> int:
        """Weights of one expert, or of the whole feed-forward part."""
        return 3 * self.hidden_size * self.intermediate_size


LLAMA_8B = Shape(hidden_size=4096, intermediate_size=14336, num_heads=32, num_kv_heads=8, num_blocks=32)
QWEN3_30B = Shape(
    hidden_size=2048, intermediate_size=768, num_heads=32, num_kv_heads=4, num_blocks=48, num_experts=128, chosen=8
)


_SHARE = 0.6  # share of the device's memory, beside sessions, activations and the copy that figures compare with


def as_fits(shape: Shape, memory_bytes: int) -> Shape:
    """Return the shape with as many of its blocks, in 16 bits, as fit a device: 12 GB hold 16 of Llama 8B's."""
    block_bytes = 2 * (shape.attention_numbers + max(shape.num_experts, 1) * shape.expert_numbers)
    return replace(shape, num_blocks=max(min(shape.num_blocks, int(memory_bytes * _SHARE) // block_bytes), 1))


def device_bytes(device: torch.device) -> int:
    """Return the memory of a GPU."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def random_blocks(
    shape: Shape, device: torch.device, *, dtype: torch.dtype, room: Room | None = None, quantization: str = "none"
) -> BlockSpan:
    """Args: room: what weights may take; with RAM in it, copies are kept there, pinned."""
    decoder = _decoder(shape, device, dtype)
    decoder.embed_tokens = decoder.norm = Passthrough(shape.hidden_size, dtype)
    decoder.requires_grad_(False).eval()
    digests = tuple(f"{index:016x}" for index in range(shape.num_blocks))
    sizes = [block_size(layer, quantization) for layer in decoder.layers]
    for layer in decoder.layers:
        quantize_block(layer, quantization)
    weights = SpanWeights(decoder.layers, sizes, first_block=0, device=device, room=room)
    for index, digest in enumerate(digests):
        weights.place_block(index, digest, ReadTensors())
    weights.finish()
    blocks = BlockSpan(
        decoder, decoder.layers, Span(0, shape.num_blocks), digests, weights, model_config=decoder.config
    )
    blocks.try_out()
    return blocks


def _decoder(shape: Shape, device: torch.device, dtype: torch.dtype) -> Any:
    common: dict[str, Any] = {
        "hidden_size": shape.hidden_size,
        "num_attention_heads": shape.num_heads,
        "num_key_value_heads": shape.num_kv_heads,
        "num_hidden_layers": shape.num_blocks,
        "vocab_size": 8,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    kind: Any = LlamaModel
    config: Any = LlamaConfig(intermediate_size=shape.intermediate_size, **common)
    if shape.num_experts:
        kind = Qwen3MoeModel
        config = Qwen3MoeConfig(
            head_dim=shape.head_dim,
            moe_intermediate_size=shape.intermediate_size,
            num_experts=shape.num_experts,
            num_experts_per_tok=shape.chosen,
            **common,
        )
    with torch.device(device):
        decoder = kind._from_config(config, dtype=dtype, attn_implementation="sdpa")
    if shape.num_experts:  # experts are not initialised
        for parameter in decoder.parameters():
            if parameter.dim() == 3:
                nn.init.normal_(parameter, std=0.02)
    return decoder


def ample_room(folder: Path) -> Room:
    """Keep everything on the device, with a copy in RAM."""
    much = 1 << 50
    return Room(device_bytes=much, ram_bytes=much, disk_bytes=0, folder=folder)
