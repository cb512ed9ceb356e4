"""The weights of one span: brought to their homes at load, given back, and taken again.

`residency` decides on the homes; `streaming` moves blocks that are not on the device. Weights can be restored if they
have an origin: pages of a mapped file, or a copy in RAM. Weights that were converted and kept on the device alone have
none, so the span must be loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import torch
from torch import nn

from potluck.blocks.accelerators import copies_in_background, synchronize
from potluck.blocks.mapping import ask_all, drop_all, mapped_ranges, trim_heap
from potluck.blocks.residency import Home, Placement, Room, Tier, place
from potluck.blocks.streaming import (
    BlockStream,
    KeptBlock,
    PageStream,
    SlotStream,
    in_arena,
    slot_offsets,
    views_in,
)
from potluck.checkpoint.prepared import PreparedBlocks
from potluck.protocol.blocks import Span


class SpanWeights:
    """Decides where the parameters of `layers` are and keeps them there. Blocks are numbered as in the model.

    Args:
        sizes: bytes of each block in its final number format.

    Attributes:
        placement: the home of each block.
        stream: brings the blocks that are not resident; None if all are.
        before_moves: called before weights leave the device, so that holders of addresses can forget them.
    """

    def __init__(
        self,
        layers: nn.ModuleList,
        sizes: Sequence[int],
        *,
        first_block: int,
        device: torch.device,
        room: Room | None,
    ) -> None:
        self.placement = _all_resident(sizes) if room is None else place(sizes, room)
        self.stream: BlockStream | None = None
        self.before_moves: list[Callable[[], None]] = []
        self._layers = layers
        self._first = first_block
        self._device = device
        self._is_paged = _computes_on_files(device)
        self._prepared = None if room is None else PreparedBlocks(room.folder, limit_bytes=room.disk_bytes)
        self._kept: list[KeptBlock] = []

    def take(self, index: int, digest: str) -> None:
        """Bring the weights of `layers[index]` from the CPU to their home. Call it in the order of the blocks.

        Raises:
            CheckpointError: the disk is full.
        """
        parameters = dict(self._layers[index].named_parameters())
        home = self.placement.homes[index]
        keep = self._take_paged if self._is_paged else self._take_to_device
        self._kept.append(keep(home, parameters, digest))
        if not home.is_resident:
            trim_heap()  # return what conversion used

    def finish(self) -> None:
        """Set up the stream, after all blocks were taken."""
        streamed = {
            self._first + index: kept
            for index, (home, kept) in enumerate(zip(self.placement.homes, self._kept, strict=True))
            if not home.is_resident
        }
        if not streamed:
            return
        if self._is_paged:
            pages = {block: kept.pages or () for block, kept in streamed.items()}
            evicted = {block for block in streamed if self.placement.homes[block - self._first].origin is Tier.DISK}
            self.stream = PageStream(pages, frozenset(evicted))
        else:
            self.stream = SlotStream(streamed, self._device)

    @classmethod
    def gathered(cls, layers: nn.ModuleList, pieces: Sequence[tuple[SpanWeights, Span]]) -> SpanWeights:
        """Return the weights of blocks that were loaded apart, which `layers` share. None of them may be streamed."""
        assert all(weights.stream is None for weights, _ in pieces)
        origin, first = pieces[0][0], pieces[0][1].start
        chosen = [(weights, block - weights._first) for weights, span in pieces for block in span]
        sizes = tuple(weights.placement.sizes[index] for weights, index in chosen)
        gathered = cls(layers, sizes, first_block=first, device=origin._device, room=None)
        gathered.placement = Placement(tuple(weights.placement.homes[index] for weights, index in chosen), sizes)
        gathered._kept = [weights._kept[index] for weights, index in chosen]
        return gathered

    def let_go(self, span: Span) -> None:
        """Return the memory of blocks that nobody uses any more."""
        kept = [self._kept[block - self._first] for block in span]
        drop_all(pages for each in kept for pages in each.pages or ())
        self._empty(kept)

    def is_streamed(self, block: int) -> bool:
        return not self.placement.homes[block - self._first].is_resident

    @property
    def pass_fetch_s(self) -> float:
        """The least time that fetching takes in a pass through the span; 0 before the rate is known."""
        rate = self.stream.fetch_bps if self.stream is not None else 0.0
        return self.placement.streamed_bytes / rate if rate else 0.0

    @property
    def is_restorable(self) -> bool:
        return all(kept.is_restorable for kept in self._kept)

    def free(self) -> None:
        """Return the memory to the system and the device. Nothing can compute before `restore`."""
        for prepare in self.before_moves:
            prepare()
        if self.stream is not None:
            self.stream.free()
        drop_all(pages for kept in self._kept for pages in kept.pages or ())
        self._empty(self._kept)

    def restore(self) -> None:
        """Take the weights again; they must be restorable. Raises torch.OutOfMemoryError."""
        homes = zip(self.placement.homes, self._kept, strict=True)
        resident = [kept for home, kept in homes if home.is_resident]
        if self._is_paged:
            ask_all(pages for kept in resident for pages in kept.pages or ())
            return
        for kept in resident:
            _bring(kept, self._device)
        synchronize(self._device)

    def _empty(self, blocks: Iterable[KeptBlock]) -> None:
        for kept in blocks:
            if not self._is_paged or kept.pages is None:
                kept.forget(self._device)

    def _take_paged(self, home: Home, parameters: dict[str, nn.Parameter], digest: str) -> KeptBlock:
        pages = mapped_ranges(parameters.values())
        if pages is None and not home.is_resident:
            assert self._prepared is not None
            tensors = {name: parameter.data for name, parameter in parameters.items()}
            for name, mapped in self._prepared.keep(digest, tensors).items():
                parameters[name].data = mapped
            pages = mapped_ranges(parameters.values())
        if not home.is_resident:
            for each in pages or ():
                each.drop(evict=home.origin is Tier.DISK)
        return KeptBlock(tuple(parameters.values()), pages)

    def _take_to_device(self, home: Home, parameters: dict[str, nn.Parameter], digest: str) -> KeptBlock:
        tensors = {name: parameter.data for name, parameter in parameters.items()}
        arena, sources = None, tuple(tensors.values())
        if home.origin is Tier.RAM:
            arena, sources = in_arena(sources, pinned=copies_in_background(self._device))
        elif mapped_ranges(sources) is None and not home.is_resident:
            assert self._prepared is not None
            sources = tuple(self._prepared.keep(digest, tensors).values())
        pages = mapped_ranges(sources) if arena is None else ()
        kept = KeptBlock(tuple(parameters.values()), pages, sources, arena)
        if home.is_resident:
            _bring(kept, self._device)
        else:
            kept.forget(self._device)
        _move_buffers(self._layers[len(self._kept)], self._device)
        for each in pages or ():
            each.drop(evict=not home.is_resident)
        has_origin = pages is not None or not home.is_resident  # else nothing but the device needs them
        return kept if has_origin else replace(kept, sources=())


def _computes_on_files(device: torch.device) -> bool:
    """Return whether weights need no copy in a device's own memory."""
    return device.type == "cpu"


def _all_resident(sizes: Sequence[int]) -> Placement:
    return Placement(tuple(Home(True, Tier.DISK) for _ in sizes), tuple(sizes))


def _bring(kept: KeptBlock, device: torch.device) -> None:
    """Bring resident weights to the device as one piece of memory: freed at once, and neighbours can be read as one."""
    memory = torch.empty(slot_offsets(kept.sources)[1], dtype=torch.uint8, device=device)
    kept.fill(memory)
    for parameter, tensor in zip(kept.parameters, views_in(memory, kept.sources), strict=True):
        parameter.data = tensor


def _move_buffers(layer: nn.Module, device: torch.device) -> None:
    for module in layer.modules():
        for name, buffer in module.named_buffers(recurse=False):
            module._buffers[name] = buffer.to(device)
