"""Chooses device, number format and number of blocks where the user left them open. Everything here blocks."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from potluck_control.processes.launch_spec import LaunchSpec, ServingLimits, usual_memory_bytes
from potluck_control.setting_values import check_devices, numbered, parse_max_memory

from potluck.allowance import cores
from potluck.blocks.accelerators import memory_of
from potluck.blocks.cache.arenas import KvShape
from potluck.blocks.formats.layers import are_plain_experts, block_size
from potluck.blocks.kernels.native import native_kernels
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.streaming.placement import BlockSize, Placement, Room, place
from potluck.checkpoint.families import longest_text
from potluck.checkpoint.source import Checkpoint
from potluck.checkpoint.stored import packing_of
from potluck.errors import UsageError
from potluck.files import free_bytes
from potluck.protocol.blocks import Span
from potluck_engine.weights.offloading import Mixture

log = logging.getLogger(__name__)

_RAM_SHARE = 0.5  # the share of free RAM for experts and streamed blocks; no more on somebody's own computer
_DISK_SHARE = 0.5  # the share of the free disk for converted blocks
_WORK_SHARE = 0.1  # the share of the limit for activations
_SESSIONS_SHARE = 0.8  # the share of the rest for sessions
_EXCHANGE_BYTES = 32 * 12 << 20
"""The memory that NCCL keeps on each of several GPUs: 12 MiB for each of at most 32 channels, fewer without NVLink.

It is allocated at the first exchange, after the weights. Measured on H100s: NVIDIA/nccl#1685.
"""

_MIN_CACHE_TOKENS = 256  # enough for one short session
_USUAL_LENGTH = 8192  # a session's tokens


def resolve_spec(spec: LaunchSpec) -> LaunchSpec:
    """Return `spec` with the device, number format and threads that it leaves open. Raises UsageError."""
    serve = spec.serve
    devices = check_devices(serve.devices)
    device = devices[0] if devices else choose_device(serve.device)
    dtype = choose_dtype(serve.dtype, device, serve.quantization)
    threads = serve.threads or max(1, cores() // 2)
    threads //= max(devices.count("cpu"), 1)  # ranks on a CPU share the engine's threads
    if device == "cpu" or len(devices) > 1:  # a gateway has the same processor; ranks share no head
        spec = replace(spec, head_socket=None)
    return spec.with_serve(device=device, dtype=dtype, threads=max(threads, 1))


def choose_device(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    if torch.cuda.is_available():
        return "cuda"
    if torch.xpu.is_available():
        return "xpu"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def choose_dtype(wanted: str, device: str, quantization: str) -> str:
    if wanted != "auto":
        return wanted
    if device == "cpu" and quantization == "none":
        return "float32"
    if device.startswith("cuda") and not _multiplies_bfloat16(device):
        return "float16"
    return "bfloat16"


def _multiplies_bfloat16(device: str) -> bool:
    """Return whether the GPU has instructions for bfloat16; NVIDIA's older than Ampere only imitate it."""
    return torch.version.hip is not None or torch.cuda.get_device_capability(find_device(device)) >= (8, 0)


def find_device(name: str) -> torch.device:
    """Return the device. Raises UsageError if this machine, or this build of torch, has none of that name."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch may raise any of these
        raise UsageError(f"there is no device {name!r} here", hint="potluck doctor lists the GPUs") from error
    return device


def memory_limit_bytes(device: str, percent: int = 100) -> int:
    """Return the engine's default memory for weights, sessions and activations. Raises UsageError."""
    memory = memory_of(find_device(device))
    return usual_memory_bytes(memory.free, is_gpu=memory.is_own) * percent // 100


def num_blocks_that_fit(checkpoint: Checkpoint, spec: LaunchSpec, *, with_ram: bool = True) -> int:
    """Return how many blocks fit into the engine's memory with their sessions' cache: at least one, at most all.

    Args:
        with_ram: whether to count blocks whose experts are in RAM, beside copies of their other weights.

    Raises:
        UsageError: the device is not there, or its limit cannot be read.
    """
    serve = spec.serve
    exchange_bytes = _exchange_bytes(spec) * len(serve.devices) + head_bytes(checkpoint.config, spec)
    for_blocks = int(max(total_limit_bytes(spec) - exchange_bytes, 0) * (1.0 - _WORK_SHARE))
    for_sessions = _cache_bytes(checkpoint, serve.dtype, serve.cache_quantization) * spec.limits.cache_tokens
    sizes = _block_sizes(checkpoint, serve.dtype, serve.quantization)
    whole = max(size.whole for size in sizes)
    fits = for_blocks // (whole + for_sessions)
    mixtures = [size.whole - size.experts for size in sizes if size.experts]
    if with_ram and mixtures and len(serve.devices) < 2 and takes_experts(serve.device, serve.dtype):
        rest = max(mixtures)
        dense = sum(max(size.whole - rest, 0) for size in sizes if not size.experts)
        in_ram = _ram_limit_bytes(numbered(serve.device), memory_limits(spec), spec.memory_percent)
        left = for_blocks - dense  # assumes that the span has all blocks without experts
        num_split = min(in_ram // whole, left // (rest + for_sessions))
        fits = max(fits, num_split + (left - num_split * (rest + for_sessions)) // (whole + for_sessions))
    return min(max(fits, 1), checkpoint.num_blocks)


def memory_limits(spec: LaunchSpec) -> dict[str, int]:
    """Return the user's limits in bytes for each device, "cpu" and "disk", cut to the percentage. Raises UsageError."""
    serve = spec.serve
    limits = parse_max_memory(serve.max_memory)
    if serve.memory_limit_mb:
        limits.setdefault(numbered(serve.device), serve.memory_limit_mb << 20)
    return {name: limit if name == "disk" else limit * spec.memory_percent // 100 for name, limit in limits.items()}


def total_limit_bytes(spec: LaunchSpec) -> int:
    """Return the engine's memory on all its devices together. Raises UsageError."""
    serve = spec.serve
    each = memory_limits(spec).get(numbered(serve.device)) or memory_limit_bytes(serve.device, spec.memory_percent)
    return each * max(len(set(serve.devices)), 1)  # ranks on a CPU share one limit


def choose_num_blocks(checkpoint: Checkpoint, spec: LaunchSpec) -> tuple[int, bool]:
    """Return how many blocks to serve, by `spec` or by what fits, and whether they can be exchanged one by one.

    They can if all of them, with experts, fit into one device's memory, and if they are of one kind. If not, a span is
    loaded as a whole, and loaded anew to serve other blocks.
    """
    serve, kinds = spec.serve, getattr(checkpoint.text_config, "layer_types", None) or ()
    wanted = min(serve.num_blocks or num_blocks_that_fit(checkpoint, spec), checkpoint.num_blocks)
    is_plain = len(serve.devices) < 2 and not serve.adapters and len(set(kinds)) < 2
    return wanted, is_plain and wanted <= num_blocks_that_fit(checkpoint, spec, with_ram=False)


def _block_sizes(checkpoint: Checkpoint, dtype: str, quantization: str) -> list[BlockSize]:
    packing = packing_of(checkpoint.config)
    blocks, _ = checkpoint.empty_blocks(getattr(torch, dtype))
    return [block_size(block, quantization, packing) for block in blocks]


def mixture_of(checkpoint: Checkpoint, dtype: str, quantization: str) -> Mixture:
    """Return the sizes of the model's experts, if they can be computed in RAM."""
    num_bytes = sum(size.experts for size in _block_sizes(checkpoint, dtype, quantization))
    modules = (module for block in checkpoint.empty_blocks()[0] for module in block.modules())
    num_experts = next((getattr(module, "num_experts", 0) for module in modules if are_plain_experts(module)), 0)
    num_chosen = getattr(checkpoint.text_config, "num_experts_per_tok", None)
    return Mixture(num_bytes, num_experts, num_chosen) if num_experts and num_chosen else Mixture()


def takes_experts(device: str, dtype: str) -> bool:
    """Return whether the processor can compute experts in RAM, natively and beside a device with memory of its own."""
    return dtype == "bfloat16" and memory_of(find_device(device)).is_own and native_kernels() is not None


def block_stack(checkpoint: Checkpoint) -> str:
    """Return the name of the layers in the model's decoder."""
    return checkpoint.empty_blocks()[1]


def weight_room(checkpoint: Checkpoint, span: Span, spec: LaunchSpec, *, folder: Path) -> Room:
    """Return the room for weights: the device's memory without that for sessions, and a share of RAM and disk."""
    serve = spec.serve
    limits, device = memory_limits(spec), numbered(serve.device)
    wanted = limits.get(device)
    kept_bytes = _exchange_bytes(spec) + head_bytes(checkpoint.config, spec)
    limit = max((wanted or memory_limit_bytes(device, spec.memory_percent)) - kept_bytes, 0)
    in_block = _cache_bytes(checkpoint, serve.dtype, serve.cache_quantization) * spec.limits.cache_tokens
    for_sessions = in_block * len(span)
    device_bytes = int(limit * (1.0 - _WORK_SHARE)) - min(for_sessions, limit // 2)
    return Room(
        device_bytes=max(device_bytes, 0),
        ram_bytes=_ram_limit_bytes(device, limits, spec.memory_percent),
        disk_bytes=limits.get("disk", int(free_bytes(folder) * _DISK_SHARE)),
        folder=folder,
        is_guess=wanted is None,
        takes_experts=len(serve.devices) < 2 and takes_experts(device, serve.dtype),
    )


def placement_alone(
    checkpoint: Checkpoint, device: str, dtype: str, quantization: str, max_memory: str, *, folder: Path
) -> Placement:
    """Return where an engine that serves one person alone would keep all blocks of a model. No weights are read.

    Args:
        max_memory: the user's limits for weights, see `memory_limits`; empty: the memory that an engine would use now.

    Raises:
        UsageError: the limits are too small, or there is no such device.
    """
    limits, named = parse_max_memory(max_memory), numbered(device)
    free = memory_limit_bytes(device)  # raises for a device that is not there
    room = Room(
        device_bytes=limits.get(named, int(free * (1.0 - _WORK_SHARE))),
        # A CPU's limit is for weights wherever they are in RAM.
        ram_bytes=0 if device == "cpu" and named in limits else _ram_limit_bytes(named, limits),
        disk_bytes=0,
        folder=folder,
        is_guess=named not in limits,
        takes_experts=takes_experts(device, dtype),
    )
    return place(_block_sizes(checkpoint, dtype, quantization), room)


def cache_tokens(blocks: BlockSpan, spec: LaunchSpec, *, max_blocks: int) -> int:
    """Return how many tokens of sessions fit beside the loaded weights, by the memory that is really free then.

    There are fewer than planned if memory is short, and more if there is plenty and the user set no limit. On a CPU,
    memory is only allocated when sessions need it.

    Args:
        max_blocks: how many blocks the span will grow to; their weights and sessions count, too.
    """
    limits, each = spec.limits, max(blocks.bytes_per_token * max_blocks // len(blocks.span), 1)
    left = _left_bytes(blocks, spec, max_blocks=max_blocks) - head_bytes(blocks.model_config, spec)
    fits = int(left * (1.0 - _WORK_SHARE) * _SESSIONS_SHARE) // each
    many = max(limits.max_sessions * _USUAL_LENGTH, longest_session(blocks.model_config) or limits.max_length)
    most = many if spec.grows_cache else limits.cache_tokens
    if fits < limits.cache_tokens:
        log.warning("memory is short: %d tokens for sessions instead of %d", fits, limits.cache_tokens)
    return max(min(fits, most), _MIN_CACHE_TOKENS)


def room_beside(blocks: BlockSpan, spec: LaunchSpec, *, cache_tokens: int, max_blocks: int) -> int:
    """Return the memory beside weights, activations and sessions with `cache_tokens`."""
    left = _left_bytes(blocks, spec, max_blocks=max_blocks)
    if (
        numbered(spec.serve.device) in memory_limits(spec) or blocks.device.type == "cpu"
    ):  # otherwise it isn't free any more
        left -= blocks.bytes_per_token * max_blocks // len(blocks.span) * cache_tokens
    return max(int(left * (1.0 - _WORK_SHARE)), 0)


def head_bytes(model_config: Any, spec: LaunchSpec) -> int:
    """Return the memory that is kept free on the device for the output head; 0 if no gateway is going to use it."""
    if spec.head_socket is None or not spec.keeps_head:
        return 0
    config = model_config.get_text_config(decoder=True)
    dtype = config.dtype or model_config.dtype or torch.float32
    return int(config.vocab_size * config.hidden_size * dtype.itemsize)


def _left_bytes(blocks: BlockSpan, spec: LaunchSpec, *, max_blocks: int) -> int:
    """Return the memory beside the weights of `max_blocks` blocks, by the user's limit or by what is free now."""
    device = numbered(spec.serve.device)
    wanted = memory_limits(spec).get(device)
    now_bytes, num_now = blocks.weights.placement.device_bytes, len(blocks.span)
    left = (
        memory_limit_bytes(device, spec.memory_percent) - blocks.weights.placement.hot_bytes
        if wanted is None
        else wanted - now_bytes - _exchange_bytes(spec)
    )
    left -= now_bytes // num_now * (max_blocks - num_now)
    return left


def resolved_limits(limits: ServingLimits, model_config: Any, hidden_size: int, *, cache_tokens: int) -> ServingLimits:
    """Return the limits for these blocks: sessions as long as the model and the pages allow, and calls of such rows.

    Args:
        cache_tokens: the room for all sessions, in tokens through the span.
    """
    longest = longest_session(model_config) or limits.max_length
    length = min(limits.max_length, longest, max(cache_tokens, _MIN_CACHE_TOKENS))
    row = min(length, limits.max_call_bytes // (4 * hidden_size))
    return replace(
        limits, cache_tokens=cache_tokens, max_length=length, max_batch_tokens=max(limits.max_batch_tokens, row)
    )


def longest_session(model_config: Any) -> int | None:
    """Return the number of the model's positions, or a usual session's length if that is more.

    Some models compute beyond the positions that they name. None: a model, such as Mamba, has no positions that could
    end, and only memory bounds sessions.
    """
    config = model_config.get_text_config(decoder=True)
    positions = getattr(config, "max_position_embeddings", None)
    return longest_text(config) or (max(positions, _USUAL_LENGTH) if positions else None)


def share_of_room(room: Room, rank: int, size: int, *, is_shared: bool) -> Room:
    """Return the room of one of `size` ranks; `is_shared` tells whether they compute in the same memory."""
    return Room(
        device_bytes=room.device_bytes // (size if is_shared else 1),
        ram_bytes=room.ram_bytes // size,
        disk_bytes=room.disk_bytes // size,
        folder=room.folder / f"rank-{rank}-of-{size}",
    )


def _exchange_bytes(spec: LaunchSpec) -> int:
    """Return the memory that each device keeps for exchanges with the others."""
    return _EXCHANGE_BYTES if len(spec.serve.devices) > 1 and spec.serve.device.startswith("cuda") else 0


def _ram_limit_bytes(device: str, limits: dict[str, int], percent: int = 100) -> int:
    """Return the RAM for weights beside the device; for a CPU, in the system's cache of files."""
    polite = int(memory_of(torch.device("cpu")).free * _RAM_SHARE) * percent // 100
    return polite if device == "cpu" else limits.get("cpu", polite)


def _cache_bytes(checkpoint: Checkpoint, dtype: str, cache_quantization: str) -> int:
    """Return the bytes of one token in one block: a key and a value for each key-value head."""
    config = checkpoint.text_config
    heads = getattr(config, "num_attention_heads", 1)
    kv_heads = getattr(config, "num_key_value_heads", None) or heads
    head_size = getattr(config, "head_dim", None) or config.hidden_size // heads
    stored = torch.int8 if cache_quantization == "int8" else getattr(torch, dtype)
    return KvShape(kv_heads, head_size, head_size).nbytes(stored)
