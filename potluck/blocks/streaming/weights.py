"""Moves the weights of one span: to their homes at loading, away when memory is needed, and back.

`placement.py` decides on the homes; `slots.py` streams blocks that are not on the device. Weights can be restored if
they have an origin: parts of files, which are checked whenever they are read, or a copy in RAM. Weights that were
converted and kept on the device alone have none, so the span must be loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch
from torch import Tensor, nn

from potluck.allowance import cores
from potluck.blocks.accelerators import synchronize, trim_heap
from potluck.blocks.formats.layers import are_plain_experts
from potluck.blocks.streaming.placement import BlockSize, Home, Placement, Room, place
from potluck.blocks.streaming.slots import (
    KeptBlock,
    SlotStream,
    device_memory,
    hold_in,
    in_arena,
    slot_offsets,
    staging_for,
)
from potluck.blocks.streaming.split_experts import SplitExperts
from potluck.checkpoint.prepared import PreparedBlocks
from potluck.checkpoint.shards import BlockOrigin, ReadTensors
from potluck.protocol.blocks import Span

_LINE_BYTES = 64  # bytes of a line in a processor's cache
_SIDE_BY_SIDE = 4  # blocks read at a time, which keeps a disk busy


class SpanWeights:
    """Decides where the parameters of `layers` are and keeps them there. Blocks are numbered as in the model.

    Args:
        sizes: of each block in its final number format.

    Attributes:
        placement: the home of each block.
        stream: fetches the blocks that are not resident; None if all are.
        before_moves: functions called before weights leave the device, so that holders of addresses forget them.
    """

    def __init__(
        self,
        layers: nn.ModuleList,
        sizes: Sequence[BlockSize],
        *,
        first_block: int,
        device: torch.device,
        room: Room | None,
    ) -> None:
        self.placement = Placement(tuple(Home(size.whole) for size in sizes)) if room is None else place(sizes, room)
        self.stream: SlotStream | None = None
        self.before_moves: list[Callable[[], None]] = []
        self._layers = layers
        self._first = first_block
        self._device = device
        self._prepared = None if room is None else PreparedBlocks(room.folder, limit_bytes=room.disk_bytes)
        self._kept: list[KeptBlock] = []
        self._split: list[SplitExperts] = []

    def place_block(self, index: int, digest: str, read: ReadTensors) -> None:
        """Move the weights of `layers[index]` from the CPU to their home. Call it in the order of the blocks.

        Args:
            digest: of the block's tensors in the checkpoint.
            read: these tensors.

        Raises:
            CheckpointError: the disk is full.
        """
        home, layer = self.placement.homes[index], self._layers[index]
        parameters = dict(layer.named_parameters())
        for path, module in layer.named_modules() if home.ram_experts else ():
            if are_plain_experts(module):
                module.forward = split = SplitExperts(module, self._device, home.hot_bytes / home.ram_experts)
                self._split.append(split)
                parameters = {name: each for name, each in parameters.items() if not name.startswith(f"{path}.")}
        tensors = {name: parameter.data for name, parameter in parameters.items()}
        likes = tuple(torch.empty_like(tensor, device="meta") for tensor in tensors.values())
        arena, parts = None, None
        if home.is_in_ram and _has_own_memory(self._device):
            arena = in_arena(tuple(tensors.values()), self._device)
        else:
            parts = read.parts_of(tensors.values())
            if parts is None and not home.is_resident:
                assert self._prepared is not None
                parts = self._prepared.keep(digest, tensors)
        evicts = not home.is_in_ram and not home.is_resident
        origin = BlockOrigin.of(digest, read) if read else None
        kept = KeptBlock(tuple(parameters.values()), likes, parts, arena, evicts, origin)
        self._kept.append(kept)
        if not home.is_resident:
            kept.forget(self._device)
            for part in parts or () if evicts else ():
                part.evict()
        elif self._device.type != "cpu" or parts is None:  # conversion leaves small pages, read a third slower
            tensors.clear()  # each is freed once it was copied
            _move(kept, self._device)
        _move_buffers(layer, self._device)
        if not home.is_resident:
            trim_heap()  # return the memory that conversion used

    def finish(self) -> None:
        """Set up the stream, after all blocks were placed."""
        streamed = {
            self._first + index: kept
            for index, (home, kept) in enumerate(zip(self.placement.homes, self._kept, strict=True))
            if not home.is_resident
        }
        if streamed:
            self.stream = SlotStream(streamed, self._device)

    @classmethod
    def gathered(cls, layers: nn.ModuleList, pieces: Sequence[tuple[SpanWeights, Span]]) -> SpanWeights:
        """Return the weights of blocks that were loaded apart, which `layers` share. All of them must be resident."""
        assert all(weights.is_resident for weights, _ in pieces)
        origin, first = pieces[0][0], pieces[0][1].start
        chosen = [(weights, block - weights._first) for weights, span in pieces for block in span]
        homes = tuple(weights.placement.homes[index] for weights, index in chosen)
        gathered = cls(
            layers, [BlockSize(home.size) for home in homes], first_block=first, device=origin._device, room=None
        )
        gathered.placement = Placement(homes)
        gathered._kept = [weights._kept[index] for weights, index in chosen]
        return gathered

    def free_blocks(self, span: Span) -> None:
        """Return the memory of unused blocks."""
        for block in span:
            self._kept[block - self._first].forget(self._device)

    @property
    def is_resident(self) -> bool:
        """Tell whether all weights stay on the device, so that graphs may use them and many threads may compute."""
        return self.stream is None and not self.placement.split

    def is_streamed(self, block: int) -> bool:
        return not self.placement.homes[block - self._first].is_resident

    @property
    def is_restorable(self) -> bool:
        return all(kept.parts is not None or kept.arena is not None for kept in self._kept)

    def free(self) -> None:
        """Return the memory to the system and the device. Nothing can compute before `restore`."""
        for prepare in self.before_moves:
            prepare()
        if self.stream is not None:
            self.stream.free()
        for split in self._split:
            split.free()
        for kept in self._kept:
            kept.forget(self._device)
        if not self.is_restorable:
            self.drop()

    def drop(self) -> None:
        """Free the copies in RAM that `restore` needs, so that the blocks can be loaded anew. Call `free` first."""
        for split in self._split:
            split.drop()
        self._kept = [replace(kept, arena=None, parts=None) for kept in self._kept]

    def restore(self) -> None:
        """Restore the weights, which must be restorable.

        Raises:
            torch.OutOfMemoryError: the device has no room.
            CheckpointError: a file does not hold the weights any more.
        """
        homes = zip(self.placement.homes, self._kept, strict=True)
        resident = [kept for home, kept in homes if home.is_resident]
        staging = staging_for(resident, self._device)
        with ThreadPoolExecutor(1 if _has_own_memory(self._device) else min(_SIDE_BY_SIDE, cores())) as pool:
            list(pool.map(lambda kept: _copy_back(kept, self._device, staging), resident))  # raises errors of threads

    @property
    def origins(self) -> tuple[BlockOrigin, ...]:
        """Return where the blocks were loaded from."""
        return tuple(kept.origin for kept in self._kept if kept.origin is not None)


def _has_own_memory(device: torch.device) -> bool:
    return device.type != "cpu"


def _copy_back(kept: KeptBlock, device: torch.device, staging: Tensor | None) -> None:
    """Copy resident weights to the device from their origin, into one piece of memory.

    The piece is freed as one, and neighbouring weights can be read as one.
    """
    memory = device_memory(kept.num_bytes, device)
    kept.fill(memory, staging)
    synchronize(device)  # the next block is read to the same staging
    for parameter, view in zip(kept.parameters, kept.views(memory), strict=True):
        parameter.data = view


def _move(kept: KeptBlock, device: torch.device) -> None:
    """Copy the parameters into one piece of memory.

    On a CPU each keeps its place within a line of the cache, on which the last bits of a product can depend.
    """
    is_cpu = device.type == "cpu"
    shifts = tuple(parameter.data_ptr() % _LINE_BYTES if is_cpu else 0 for parameter in kept.parameters)
    memory = device_memory(slot_offsets(kept.likes, shifts)[1], device)
    hold_in(memory, kept.parameters, shifts)


def _move_buffers(layer: nn.Module, device: torch.device) -> None:
    for module in layer.modules():
        for name, buffer in module.named_buffers(recurse=False):
            module._buffers[name] = buffer.to(device)
