"""Giving a device back and taking it again: `offload_free`, `offload_kv` and `restore`.

On a CPU weights of the checkpoint's own number format are copies of a file's bytes: freeing drops them, restoring reads
and checks them again. Keys and values are copied between pages of the cache and a buffer that exists already, as it
does beside a device with memory of its own; an engine on a CPU leaves them where they are. memcpy is measured in the
same rounds, between buffers of the same size that exist already.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch

from benchmarks.figures import Measured
from benchmarks.models import checkpoint
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

HIDDEN_SIZE = 2048
NUM_BLOCKS = 8
TOKENS = 1024
_ROUNDS, _SOAK_ROUNDS = 7, 31
_GB = 1e9


def free(soak: bool) -> Measured:
    """Seconds to free one GB of weights."""
    blocks = _warm_blocks()
    size = sum(blocks.weights.placement.sizes)
    taken = []
    for _ in range(_rounds(soak)):
        taken.append(_seconds(blocks.weights.free))
        blocks.weights.restore()
    seconds = statistics.median(taken)
    return Measured(seconds / (size / _GB), {"weights_gb": round(size / _GB, 3), "free_s": round(seconds, 5)})


def kv_out(soak: bool) -> Measured:
    """Share of memcpy's speed with which keys and values leave the pages."""
    return _kv(soak, with_weights=False)


def restore(soak: bool) -> Measured:
    """Share of memcpy's speed with which weights and keys and values come back."""
    return _kv(soak, with_weights=True)


def _kv(soak: bool, *, with_weights: bool) -> Measured:
    blocks = _warm_blocks()
    memory = blocks.new_memory(2 * TOKENS)
    for arena in memory.arenas:
        for tensor in arena.tensors:
            tensor.fill_(1.0)
    sequence = memory.new_sequence()
    memory.reserve(sequence, TOKENS)
    memory.advance(sequence, TOKENS)
    size = memory.saved_bytes(sequence)
    buffer, other = torch.ones(size, dtype=torch.uint8), torch.ones(size, dtype=torch.uint8)
    weights_bytes = sum(blocks.weights.placement.sizes) if with_weights else 0
    shares, details = [], []
    for _ in range(_rounds(soak)):
        saved = memory.save(sequence, buffer)
        copy_s = _seconds(lambda: other.copy_(buffer))
        if with_weights:
            blocks.weights.free()
            weights_s = _seconds(blocks.weights.restore)
            kv_s = _seconds(lambda saved=saved: memory.write(sequence, saved.tensors))  # type: ignore[misc]
        else:
            weights_s = 0.0
            kv_s = _seconds(lambda: memory.save(sequence, buffer))
        shares.append((weights_bytes + size) / (weights_s + kv_s) / (size / copy_s))
        details.append((size / kv_s / _GB, size / copy_s / _GB, weights_s))
    kv_gbs, copy_gbs, weights_s = (statistics.median(column) for column in zip(*details, strict=True))
    detail = {
        "kv_gb": round(size / _GB, 3),
        "kv_gbs": round(kv_gbs, 2),
        "memcpy_gbs": round(copy_gbs, 2),
        "kv_share": round(kv_gbs / copy_gbs, 3),
        "weights_gb": round(weights_bytes / _GB, 3),
        "weights_s": round(weights_s, 5),
    }
    return Measured(statistics.median(shares), detail)


def _warm_blocks() -> BlockSpan:
    """Loaded, and every page of the weights touched."""
    blocks = load_span(open_checkpoint(str(checkpoint(HIDDEN_SIZE, NUM_BLOCKS))), Span(0, NUM_BLOCKS))
    with torch.inference_mode():
        blocks.forward(torch.ones(1, 1, HIDDEN_SIZE))
    return blocks


def _rounds(soak: bool) -> int:
    return _SOAK_ROUNDS if soak else _ROUNDS


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
