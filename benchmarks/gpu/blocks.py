"""Blocks with random weights, made on the device: no checkpoint, no download."""

from __future__ import annotations

from dataclasses import dataclass
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
