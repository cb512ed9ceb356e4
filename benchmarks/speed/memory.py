"""What narrow numbers save: weights in int4, keys and values in int8."""

from __future__ import annotations

import math
import random
import statistics

import torch

from benchmarks.figures import Measured, figure
from benchmarks.setup.models import checkpoint
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.cache.kv_memory import KvLayout, KvMemory, KvSequence, LayerKv
from potluck.blocks.span.block_span import load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span
from potluck.protocol.codes import RemoteError

_HIDDEN_SIZE, _NUM_BLOCKS = 2048, 4
_SHORTEST, _CEILING = 16, 2048  # tokens of a session
_HEAD_SIZE = 64  # the factor of a slot takes 2 bytes, so larger heads save more
_CACHE_BYTES = 64 << 20


@figure("format_int4_memory", unit="ratio", reach=0.33)
def int4_memory(_: bool) -> Measured:
    """Bytes of blocks of hidden size 2048 in int4 over bfloat16; int8 in `detail`."""
    num_bytes = {quantization: _weight_bytes(quantization) for quantization in ("none", "int8", "int4")}
    return Measured(num_bytes["int4"] / num_bytes["none"], {"int8": round(num_bytes["int8"] / num_bytes["none"], 4)})


@figure("cache_sessions_int8", unit="ratio", reach=1.9, better="higher")
def sessions_int8(soak: bool) -> Measured:
    """Sessions that the same memory admits with keys and values in int8, over those in bfloat16, heads of 64.

    Sessions grow to their lengths a step at a time.
    """
    admitted = []
    for is_int8 in (False, True):
        layers = (LayerKv(KvShape(1, _HEAD_SIZE, _HEAD_SIZE)),) * 2
        layout = KvLayout(Span(0, len(layers)), layers, torch.bfloat16, torch.device("cpu"), is_int8)
        memory = KvMemory(layout, _CACHE_BYTES // layout.bytes_per_token(layout.stored))
        admitted.append(statistics.mean(_admitted(memory, random.Random(seed)) for seed in range(50 if soak else 10)))
    return Measured(admitted[1] / admitted[0], {"bfloat16": admitted[0], "int8": admitted[1]})


def _weight_bytes(quantization: str) -> int:
    source = open_checkpoint(str(checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS)))
    blocks = load_span(source, Span(0, _NUM_BLOCKS), dtype=torch.bfloat16, quantization=quantization)
    return sum(parameter.nbytes for parameter in blocks.layers.parameters())


def _admitted(memory: KvMemory, rng: random.Random) -> int:
    """Count the sessions, growing beside each other, that reach their length before one finds no page."""
    count = 0
    growing: list[tuple[KvSequence, int]] = []
    while True:
        if len(growing) < 8:
            length = round(math.exp(rng.uniform(math.log(_SHORTEST), math.log(_CEILING))))
            growing.append((memory.new_sequence(), length))
        index = rng.randrange(len(growing))
        sequence, length = growing[index]
        tokens = min(rng.choice((1, 32, 256)), length - sequence.length)
        try:
            memory.reserve(sequence, sequence.length + tokens)
        except RemoteError:
            return count
        memory.advance(sequence, tokens)
        if sequence.length == length:
            growing.pop(index)
            count += 1
