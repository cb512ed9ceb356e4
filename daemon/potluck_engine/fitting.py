"""What to serve with when nobody said: device, number format, and as many blocks as fit. Everything here blocks."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path

import psutil
import torch

from potluck.blocks import BlockSpan
from potluck.blocks.accelerators import memory_of
from potluck.blocks.formats import block_nbytes
from potluck.blocks.residency import Room
from potluck.checkpoint import Checkpoint
from potluck.checkpoint.families import decoder_class, decoder_of
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck_engine.config import EngineConfig, Limits
from potluck_engine.ranks.devices import num_memories, numbered

log = logging.getLogger(__name__)

_CPU_SHARE = 0.5  # of the machine's memory that is free now: it is somebody's own
_GPU_SHARE = 0.8
_GPU_CONTEXT_BYTES = 700 << 20  # what a CUDA context takes besides tensors
_DISK_SHARE = 0.5  # of what is free, for converted blocks
_WORK_SHARE = 0.1  # of the limit, for activations
_SESSIONS_SHARE = 0.8  # of what weights and activations leave
_LEAST_CACHE_TOKENS = 256  # one short session


def choose_device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def choose_dtype(wanted: str, device: str, quantization: str) -> str:
    if wanted != "auto":
        return wanted
    return "float32" if device == "cpu" and quantization == "none" else "bfloat16"


def choose_threads(wanted: int) -> int:
    return wanted or max(1, (os.cpu_count() or 2) // 2)


def find_device(name: str) -> torch.device:
    """Raises UsageError: this machine, or this build of torch, has no such device."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch raises all three
        raise UsageError(f"there is no device {name!r} here", hint="potluck machine lists those that are") from error
    return device


def memory_total_bytes(device: str) -> int:
    """Raises UsageError."""
    return memory_of(find_device(device)).total


def memory_limit_bytes(device: str) -> int:
    """What the engine may use for weights, sessions and activations if nobody says. Raises UsageError."""
    memory = memory_of(find_device(device))
    if memory.is_own:
        return max(int(memory.free * _GPU_SHARE) - _GPU_CONTEXT_BYTES, 0)
    return int(memory.free * _CPU_SHARE)


def num_blocks_that_fit(
    checkpoint: Checkpoint, dtype: str, limit_bytes: int, limits: Limits, *, quantization: str = "none"
) -> int:
    """Blocks with the cache of their sessions within the limit; at least one, at most all."""
    for_blocks = limit_bytes * (1.0 - _WORK_SHARE)
    each = _largest_block_bytes(checkpoint, dtype, quantization) + _cache_bytes(checkpoint, dtype) * limits.cache_tokens
    return min(max(int(for_blocks // each), 1), checkpoint.num_blocks)


def window(checkpoint: Checkpoint, config: EngineConfig) -> int:
    """How many blocks to serve: as many as the config says, else as many as fit into what the engine may use."""
    if config.num_blocks is not None:
        return min(config.num_blocks, checkpoint.num_blocks)
    limit = dict(config.max_memory).get(numbered(config.device)) or memory_limit_bytes(config.device)
    limit *= num_memories(config.devices)
    return num_blocks_that_fit(checkpoint, config.dtype, limit, config.limits, quantization=config.quantization)


def can_grow(checkpoint: Checkpoint, config: EngineConfig, window: int) -> bool:
    """Whether blocks can come one by one: all fit into memory, on one device, and are of one kind.

    If not, a span is loaded as a whole, and for other blocks it is loaded anew.
    """
    kinds = set(getattr(checkpoint.text_config, "layer_types", None) or ())
    if len(config.devices) > 1 or config.adapters or len(kinds) > 1:
        return False
    limit = dict(config.max_memory).get(numbered(config.device)) or memory_limit_bytes(config.device)
    fits = num_blocks_that_fit(checkpoint, config.dtype, limit, config.limits, quantization=config.quantization)
    return window <= fits


def block_stack(checkpoint: Checkpoint) -> str:
    """What the model's decoder calls its layers."""
    with torch.device("meta"):
        model = decoder_class(checkpoint.text_config)._from_config(checkpoint.text_config)
    return decoder_of(model, checkpoint.num_blocks)[1]


def weight_room(checkpoint: Checkpoint, span: Span, config: EngineConfig, *, folder: Path) -> Room:
    """What weights may take: of the device, what sessions and activations leave; of RAM and disk, a polite share."""
    limits = dict(config.max_memory)
    device = numbered(config.device)
    wanted = limits.get(device)
    limit = wanted or memory_limit_bytes(device)
    for_sessions = _cache_bytes(checkpoint, config.dtype) * config.limits.cache_tokens * len(span)
    device_bytes = int(limit * (1.0 - _WORK_SHARE)) - min(for_sessions, limit // 2)
    in_ram = int(psutil.virtual_memory().available * _CPU_SHARE)
    return Room(
        device_bytes=max(device_bytes, 0),
        ram_bytes=limits.get("cpu", in_ram) if device != "cpu" else in_ram,
        disk_bytes=limits.get("disk", int(_free_disk_bytes(folder) * _DISK_SHARE)),
        folder=folder,
        is_guess=wanted is None,
    )


def cache_tokens(blocks: BlockSpan, config: EngineConfig, *, max_blocks: int) -> int:
    """Room for sessions once the weights are loaded: from what is really free then, less a reserve for the desktop.

    Less than was planned if memory is short; more if it is plenty and nobody said how much. On a CPU it is only taken
    as sessions need it.

    Args:
        max_blocks: up to which the span will grow: weights and sessions of blocks that are to come count.
    """
    limits, device = config.limits, numbered(config.device)
    wanted = dict(config.max_memory).get(device)
    now_bytes, num_now = blocks.weights.placement.device_bytes, len(blocks.span)
    left = memory_limit_bytes(device) if wanted is None else wanted - now_bytes
    left -= now_bytes // num_now * (max_blocks - num_now)
    fits = int(left * (1.0 - _WORK_SHARE) * _SESSIONS_SHARE) // max(blocks.bytes_per_token * max_blocks // num_now, 1)
    most = limits.max_sessions * limits.max_length if config.grows_cache else limits.cache_tokens
    if fits < limits.cache_tokens:
        log.warning("memory is short: %d tokens for sessions instead of %d", fits, limits.cache_tokens)
    return max(min(fits, most), _LEAST_CACHE_TOKENS)


def share_of_room(room: Room, rank: int, size: int, *, is_shared: bool) -> Room:
    """What one of `size` ranks may take; `is_shared`: they compute in the same memory."""
    return Room(
        device_bytes=room.device_bytes // (size if is_shared else 1),
        ram_bytes=room.ram_bytes // size,
        disk_bytes=room.disk_bytes // size,
        folder=room.folder / f"rank-{rank}-of-{size}",
    )


def _free_disk_bytes(folder: Path) -> int:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(there).free


def _largest_block_bytes(checkpoint: Checkpoint, dtype: str, quantization: str) -> int:
    """From the architecture alone: nothing is read or downloaded."""
    kind = getattr(torch, dtype)
    with torch.device("meta"):
        model = decoder_class(checkpoint.text_config)._from_config(checkpoint.text_config, dtype=kind)
    decoder, name = decoder_of(model, checkpoint.num_blocks)
    return max(block_nbytes(layer, quantization) for layer in getattr(decoder, name))


def _cache_bytes(checkpoint: Checkpoint, dtype: str) -> int:
    """Of one token in one block: a key and a value for each key-value head."""
    config = checkpoint.text_config
    heads = getattr(config, "num_attention_heads", 1)
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // heads
    return int(2 * kv_heads * head_size * torch.finfo(getattr(torch, dtype)).bits // 8)
