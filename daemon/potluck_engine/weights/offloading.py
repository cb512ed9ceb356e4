"""Compares what a token costs on one machine that lacks memory for the model with what it costs through a swarm.

Both pass the whole model once for each token. A machine of one's own reads the weights that do not fit from RAM or disk
each time. A swarm holds all of them, but hidden states travel. Source of the comparison: Petals (arXiv 2209.01188),
which set its swarms against offloading. All but `measure_offloading` is pure arithmetic.

`measure_offloading` measures the machine's rates. A few blocks of Llama's shape with random weights are written to the
disk and run by the engine itself: with room for all of them, for two of them and RAM, and for two of them and no RAM.
In the last case the engine has the system's cache of files drop what it read, so that the next step reads from the disk
again; the kernel's count of bytes that were read shows whether it did. Where experts would be computed in RAM beside a
device, the processor computes all blocks, too.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.streaming.placement import NUM_SLOTS, Placement, Room
from potluck.checkpoint.source import SINGLE_FILE, open_checkpoint
from potluck.errors import PotluckError, UsageError
from potluck.protocol.blocks import PeerId, Span
from potluck.routing.route import Route, Vantage
from potluck.routing.search import link_delays
from potluck.routing.servers import ServerColumns
from potluck_engine.compute.speed import measure_times, ragged_step

TRUE_READS = 0.9  # the share of streamed bytes to be read from the disk; with less, some other cache answered
_BLOCKS = NUM_SLOTS + 1  # the slots would hold all of fewer blocks
_HIDDEN_SIZE = 1024  # a block is 51 MB in float32: beyond most processors' caches, and soon written
_HEAD_SIZE = 64
_MIN_STEPS, _MIN_S = 5, 2.0  # a disk's rate varies within a second


@dataclass(frozen=True, slots=True)
class MachineRates:
    """The bytes of weights that a decode step passes in a second, with computing, by the place they come from.

    Attributes:
        read_share: the bytes that the kernel read from the disk over the streamed bytes; None if it does not tell.
        processor_bps: the rate with which the processor computes in RAM beside a device; 0 if it was not measured.
    """

    resident_bps: float
    ram_bps: float
    disk_bps: float
    read_share: float | None = None
    processor_bps: float = 0.0

    @property
    def is_disk_real(self) -> bool:
        """True if the disk's rate is known to be the disk's, not that of the system's cache."""
        return self.read_share is not None and self.read_share >= TRUE_READS


@dataclass(frozen=True, slots=True)
class HopCost:
    """The seconds that one server adds to a decode step.

    Attributes:
        delay_s: the one-way trip to it, from the client or the server before.
        transfer_s: the transfer of all rows over its link.
        compute_s: its blocks, and the wait for other work.
    """

    delay_s: float
    transfer_s: float
    compute_s: float


@dataclass(frozen=True, slots=True)
class SwarmCost:
    """The cost of a decode step around the ring of a route; `back_s` is the one-way trip from the last server."""

    hops: tuple[HopCost, ...]
    back_s: float

    @property
    def delay_s(self) -> float:
        return sum(hop.delay_s for hop in self.hops) + self.back_s

    @property
    def transfer_s(self) -> float:
        return sum(hop.transfer_s for hop in self.hops)

    @property
    def compute_s(self) -> float:
        return sum(hop.compute_s for hop in self.hops)

    @property
    def step_s(self) -> float:
        return self.delay_s + self.transfer_s + self.compute_s


@dataclass(frozen=True, slots=True)
class Mixture:
    """The experts of a model: the bytes of all, their number in a layer, and how many of these work for a token."""

    num_bytes: int = 0
    num_experts: int = 1
    num_chosen: int = 1

    def active_share(self, rows: int) -> float:
        """Return the share of the experts that work for at least one of the rows, if all are chosen equally often."""
        return 1.0 - (1.0 - self.num_chosen / self.num_experts) ** rows

    def rows_each(self, rows: int) -> int:
        """Return the number of rows of an expert that works for at least one."""
        return max(round(rows * self.num_chosen / self.num_experts / self.active_share(rows)), 1)


def offloaded_step_s(
    placement: Placement,
    rates: MachineRates,
    mixture: Mixture = Mixture(),
    rows: int = 1,
) -> float:
    """Return the seconds of a decode step of `rows` rows through blocks of which some are streamed.

    Fetching and computing go on side by side, so that the slower one decides. The device and the processor take turns.
    """
    from_ram = placement.streamed_bytes - placement.disk_bytes
    fetch_s = placement.disk_bytes / rates.disk_bps + from_ram / rates.ram_bps
    active = mixture.active_share(rows)
    here = active * (placement.ram_experts - placement.hot_bytes)
    on_device = sum(placement.sizes) - (1.0 - active) * mixture.num_bytes - here
    compute_s = on_device / rates.resident_bps + (here / rates.processor_bps if here else 0.0)
    return max(fetch_s, compute_s)


def swarm_step(route: Route, rtts_s: Mapping[PeerId, float], rows: int) -> SwarmCost:
    """Return the cost of a decode step of `rows` rows by the servers' announcements and measured round trips."""
    columns = ServerColumns.of(hop.server for hop in route.hops)
    delays_s = link_delays([hop.server for hop in route.hops], Vantage(rtts_s))
    hops = []
    for hop, delay_s in zip(route.hops, delays_s, strict=False):
        record, row = hop.server.record, columns.index[hop.peer_id]
        one_s = 1.0 / record.network_tps if record.network_tps > 0 else 0.0
        more_s = (rows - 1) / record.forward_tps if record.forward_tps > 0 else 0.0
        compute_s = len(hop.span) * (float(columns.block_s[row]) + more_s) + float(columns.wait_s[row]) - one_s
        hops.append(HopCost(delay_s, rows * one_s, max(compute_s, 0.0)))
    return SwarmCost(tuple(hops), delays_s[-1])


def break_even_round_trip_s(offloaded_s: float, swarm: SwarmCost) -> float | None:
    """Return the round trip between two machines of the ring at which both ways cost the same.

    None: the swarm is slower at any distance.
    """
    left_s = offloaded_s - swarm.compute_s - swarm.transfer_s
    return 2 * left_s / (len(swarm.hops) + 1) if left_s > 0 else None


def measure_offloading(
    folder: Path, *, device: str, dtype: torch.dtype, quantization: str, rows: int, expert_rows: int = 0
) -> MachineRates:
    """Measure for some seconds.

    Args:
        folder: a folder on the disk to measure; up to half a GB is written there and removed.
        rows: the number of rows of a decode step.
        expert_rows: the number of rows for each expert in RAM that works; 0: there is none.

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


def bytes_read_from_disks() -> int | None:
    """Return the bytes that this process has read from disks; None if the system does not tell."""
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
    """Write a checkpoint that has the blocks and nothing else."""
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
    """Write all files through to the disk; otherwise the system's cache cannot drop them."""
    for path in folder.rglob("*.safetensors"):
        with path.open("rb") as file:
            os.fsync(file.fileno())


def _measure(blocks: BlockSpan, rows: int) -> tuple[float, float | None]:
    """Return the bytes of weights that steps pass in a second, and the share of streamed ones read from the disk."""
    step = partial(ragged_step(blocks, rows), 1)
    with torch.inference_mode():
        step()
        step()  # now the slots hold what a step leaves there, and the reads of the first step are over
        read_before = bytes_read_from_disks()
        times = measure_times(step, blocks.device, least_s=_MIN_S, least=_MIN_STEPS)
        read_after = bytes_read_from_disks()
    placement = blocks.weights.placement
    streamed = len(times) * placement.streamed_bytes
    share = (read_after - read_before) / streamed if read_before is not None and read_after and streamed else None
    return sum(placement.sizes) / statistics.median(times), share
