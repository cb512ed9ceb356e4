"""Blocks with random weights, made on the device: no checkpoint, no download."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaModel

from potluck.blocks.residency import Room
from potluck.blocks.span import BlockSpan
from potluck.blocks.weights import SpanWeights
from potluck.checkpoint.building import Passthrough
from potluck.checkpoint.shards import ReadTensors
from potluck.protocol.blocks import Span


@dataclass(frozen=True, slots=True)
class Shape:
    """Of Llama-like blocks."""

    hidden_size: int
    intermediate_size: int
    num_heads: int
    num_kv_heads: int
    num_blocks: int


LLAMA_8B = Shape(hidden_size=4096, intermediate_size=14336, num_heads=32, num_kv_heads=8, num_blocks=32)


_SHARE = 0.6  # of the device's memory, beside sessions, activations and the copy that figures compare with


def as_fits(shape: Shape, memory_bytes: int) -> Shape:
    """Return the shape with as many of its blocks, in 16 bits, as fit a device: 12 GB hold 16 of Llama 8B's."""
    head_dim = shape.hidden_size // shape.num_heads
    attention = 2 * shape.hidden_size * (shape.num_heads + shape.num_kv_heads) * head_dim
    block_bytes = 2 * (attention + 3 * shape.hidden_size * shape.intermediate_size)
    return replace(shape, num_blocks=max(min(shape.num_blocks, int(memory_bytes * _SHARE) // block_bytes), 1))


def device_bytes(device: torch.device) -> int:
    """Return the memory of a GPU."""
    return int(torch.cuda.get_device_properties(device).total_memory)


def random_blocks(shape: Shape, device: torch.device, *, dtype: torch.dtype, room: Room | None = None) -> BlockSpan:
    """Args: room: what weights may take; with RAM in it, copies are kept there, pinned."""
    config = LlamaConfig(
        hidden_size=shape.hidden_size,
        intermediate_size=shape.intermediate_size,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_kv_heads,
        num_hidden_layers=shape.num_blocks,
        vocab_size=8,
        bos_token_id=None,
        eos_token_id=None,
    )
    with torch.device(device):
        decoder = LlamaModel._from_config(config, dtype=dtype, attn_implementation="sdpa")
    decoder.embed_tokens = decoder.norm = Passthrough(shape.hidden_size, dtype)
    decoder.requires_grad_(False).eval()
    digests = tuple(f"{index:016x}" for index in range(shape.num_blocks))
    sizes = [sum(parameter.nbytes for parameter in layer.parameters()) for layer in decoder.layers]
    weights = SpanWeights(decoder.layers, sizes, first_block=0, device=device, room=room)
    for index, digest in enumerate(digests):
        weights.take(index, digest, ReadTensors())
    weights.finish()
    blocks = BlockSpan(
        decoder, decoder.layers, Span(0, shape.num_blocks), digests, weights, model_config=decoder.config
    )
    blocks.try_out()
    return blocks


def ample_room(folder: Path) -> Room:
    """Everything stays on the device, with a copy in RAM."""
    much = 1 << 50
    return Room(device_bytes=much, ram_bytes=much, disk_bytes=0, folder=folder)
