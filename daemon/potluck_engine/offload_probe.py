"""Measures what a decode step costs a byte of weights here: on the device, streamed from RAM, and streamed from disk.

A few blocks of Llama's shape with random weights are written to the disk and run by the engine itself, with room for
all of them, for two of them and RAM, and for two of them and no RAM. In the last case the engine has the system's cache
of files forget what it read, so the next step reads from the disk again; what the kernel says it read is compared.
Where experts would be computed in RAM beside a device, the processor computes all blocks, too.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import torch

from potluck.blocks.residency import NUM_SLOTS, Room
from potluck.blocks.span import BlockSpan, load_span
from potluck.checkpoint.source import SINGLE_FILE, open_checkpoint
from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import Span
from potluck_engine.measure import ragged_step, times_s
from potluck_engine.token_cost import MachineRates

_BLOCKS = NUM_SLOTS + 1  # with fewer, the slots would hold all
_HIDDEN_SIZE = 1024  # a block is 51 MB in float32: beyond most processors' caches, and soon written
_HEAD_SIZE = 64
_LEAST_STEPS, _LEAST_S = 5, 2.0  # a disk's rate varies within a second


def probe(
    folder: Path, *, device: str, dtype: torch.dtype, quantization: str, rows: int, expert_rows: int = 0
) -> MachineRates:
    """Measure for some seconds.

    Args:
        folder: on the disk that counts; up to half a GB is written there and removed.
        rows: of a decode step.
        expert_rows: of these, for each expert in RAM that works; 0: none is there.

    Raises:
        UsageError: the folder cannot be written to, or too little room is left.
        PotluckError: the device cannot hold three small blocks.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as scratch:
            return _probe_in(Path(scratch), device, dtype, quantization, rows=rows, expert_rows=expert_rows)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror}", hint="choose another with --folder") from error
    except torch.OutOfMemoryError as error:
        raise PotluckError(f"{device} has no memory left to measure with", hint="end other programs there") from error


def read_bytes() -> int | None:
    """Return the bytes that this process had read from disks; None where the system does not tell."""
    with suppress(OSError, StopIteration, ValueError), open("/proc/self/io") as file:
        return int(next(line.split()[1] for line in file if line.startswith("read_bytes:")))
    return None


def _probe_in(
    folder: Path, device: str, dtype: torch.dtype, quantization: str, *, rows: int, expert_rows: int
) -> MachineRates:
    _write_model(folder, dtype)
    checkpoint = open_checkpoint(str(folder))

    def load(room: Room | None, device: str = device) -> BlockSpan:
        blocks = load_span(
            checkpoint, Span(0, _BLOCKS), dtype=dtype, device=device, room=room, quantization=quantization
        )
        _write_through(folder)
        return blocks

    resident = load(None)
    sizes = resident.weights.placement.sizes
    slots, whole = NUM_SLOTS * max(sizes), 2 * sum(sizes)
    resident_bps, _ = _measure(resident, rows)
    ram_bps, _ = _measure(load(Room(slots, whole, whole, folder / "from-ram")), rows)
    disk_bps, read_share = _measure(load(Room(slots, 0, whole, folder / "from-disk")), rows)
    processor_bps, _ = _measure(load(None, "cpu"), expert_rows) if expert_rows else (0.0, None)
    return MachineRates(resident_bps, ram_bps, disk_bps, read_share, processor_bps)


def _write_model(folder: Path, dtype: torch.dtype) -> None:
    """Write a checkpoint that has all blocks and no more."""
    from safetensors.torch import save_file
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=_HIDDEN_SIZE,
        intermediate_size=_HIDDEN_SIZE * 11 // 4,
        num_hidden_layers=_BLOCKS,
        num_attention_heads=_HIDDEN_SIZE // _HEAD_SIZE,
        num_key_value_heads=_HIDDEN_SIZE // _HEAD_SIZE,
        vocab_size=_HEAD_SIZE,
        pad_token_id=None,
        dtype=dtype,
    )
    with torch.device("meta"):
        shapes = {name: tensor.shape for name, tensor in LlamaForCausalLM(config).state_dict().items()}
    tensors = {name: torch.empty(shape, dtype=dtype).normal_(0, 0.02) for name, shape in shapes.items()}
    save_file(tensors, folder / SINGLE_FILE, {"format": "pt"})
    config.save_pretrained(folder)


def _write_through(folder: Path) -> None:
    """Have all files reach the disk, without which the system's cache cannot forget them."""
    for path in folder.rglob("*.safetensors"):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _measure(blocks: BlockSpan, rows: int) -> tuple[float, float | None]:
    """Return the bytes of weights that decode steps pass in a second, and which part of the streamed ones was read."""
    step = partial(ragged_step(blocks, rows), 1)
    with torch.inference_mode():
        step()
        step()  # by now the slots hold what a step leaves there, and the first step's reads are behind
        read_before = read_bytes()
        times = times_s(step, blocks.device, least_s=_LEAST_S, least=_LEAST_STEPS)
        read_after = read_bytes()
    placement = blocks.weights.placement
    streamed = len(times) * placement.streamed_bytes
    share = (read_after - read_before) / streamed if read_before is not None and read_after and streamed else None
    return sum(placement.sizes) / statistics.median(times), share
