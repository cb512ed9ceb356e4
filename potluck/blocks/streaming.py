"""Blocks that pass through the device: the next one is fetched while the current one computes.

There are two ways. A device with its own memory has a few slots, into which a thread and a copy stream bring one block
after another. A CPU computes on the mapped file: fetching means reading the pages ahead, and leaving a block means
dropping them. Both guess the next block from the order of the last two, and are wrong only where forward turns into
backward.

`enter` and `leave` belong to the computing thread. The fetching thread touches nothing but bytes.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from potluck.blocks.accelerators import copies_in_background
from potluck.blocks.mapping import MappedRange
from potluck.blocks.residency import NUM_SLOTS

_ALIGNMENT = 256  # of tensors within a slot, in bytes, as in CUDA's own allocator


class BlockStream(Protocol):
    """The interface of both ways for a span's layers and its owner. Blocks are numbered as in the model."""

    def enter(self, block: int) -> None:
        """Make a streamed block's weights available; call it before the block computes."""

    def leave(self, block: int) -> None:
        """Let the weights go; call it after the block computed."""

    def remembering(self) -> AbstractContextManager[object]:
        """Return a context for a forward pass that a backward pass follows."""

    def free(self) -> None:
        """Return all memory; `enter` takes what it needs again."""

    @property
    def fetch_bps(self) -> float:
        """Bytes fetched per second; 0 before the first fetch."""


@dataclass(slots=True)
class Order:
    """The order of streamed blocks, and the direction in which a pass moves through it."""

    blocks: Sequence[int]
    _last: int | None = None
    _step: int = 1

    def after(self, block: int) -> int:
        """Return the block that will probably follow `block`, which begins now. The first block follows the last."""
        place = self.blocks.index(block)
        if self._last is not None and len(self.blocks) > 2:
            difference = (place - self._last) % len(self.blocks)
            self._step = -1 if difference == len(self.blocks) - 1 else 1
        self._last = place
        return self.blocks[(place + self._step) % len(self.blocks)]


def enter_again(stream: BlockStream, block: int, output: Any) -> Any:
    """Return a layer's output through which a backward pass enters the block before it reaches the layer."""
    if isinstance(output, tuple):
        return enter_again(stream, block, output[0]), *output[1:]
    return _Enter.apply(output, stream, block) if output.requires_grad else output  # type: ignore[no-untyped-call]


class _Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, stream: BlockStream, block: int) -> Tensor:
        ctx.stream, ctx.block = stream, block
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        ctx.stream.enter(ctx.block)
        return grad, None, None


class PageStream:
    """Blocks of a CPU, mapped from files: the `pages` of each, and which blocks also leave the system's cache."""

    def __init__(self, pages: Mapping[int, tuple[MappedRange, ...]], evicted: frozenset[int]) -> None:
        self._pages = pages
        self._evicted = evicted
        self._order = Order(sorted(pages))
        self._entered: int | None = None
        self._wanted: frozenset[int] = frozenset()
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="fetch")  # ends with its owner
        self._fetched_bytes, self._fetch_s = 0, 0.0

    @property
    def fetch_bps(self) -> float:
        return self._fetched_bytes / self._fetch_s if self._fetch_s else 0.0

    def enter(self, block: int) -> None:
        if block == self._entered:
            return
        if self._entered is not None:
            self.leave(self._entered)
        self._entered = block
        following = self._order.after(block)
        before, self._wanted = self._wanted, frozenset((block, following))
        for unwanted in before - self._wanted:  # guessed wrong
            self._drop(unwanted)
        if following not in before:
            self._reader.submit(self._ask, following)

    def leave(self, block: int) -> None:
        self._entered = None
        self._wanted -= {block}
        self._drop(block)

    def remembering(self) -> AbstractContextManager[object]:
        """Return an empty context: saved weights are views of the file, which stay valid."""
        return nullcontext()

    def free(self) -> None:
        self._entered = None
        self._wanted = frozenset()
        for block in self._pages:
            self._drop(block)

    def _ask(self, block: int) -> None:
        begin = time.monotonic()
        for pages in self._pages[block]:
            for chunk in pages.chunks():
                if block in self._wanted:
                    chunk.ask()
                    self._fetched_bytes += chunk.num_bytes
                if block not in self._wanted:  # no longer needed
                    self._drop(block)
                    return
        self._fetch_s += time.monotonic() - begin

    def _drop(self, block: int) -> None:
        for pages in self._pages[block]:
            pages.drop(evict=block in self._evicted)


@dataclass(frozen=True, slots=True)
class KeptBlock:
    """The parameters of one block and where their values come from.

    Attributes:
        pages: of the mapped file that holds the values; None if no file does.
        sources: on the host, one for each parameter, in its final number format. Empty where a CPU computes on the
            pages, or where only the device has the values.
        arena: all sources laid out as in a slot, pinned, so that one copy brings everything.
    """

    parameters: tuple[nn.Parameter, ...]
    pages: tuple[MappedRange, ...] | None = None
    sources: tuple[Tensor, ...] = ()
    arena: Tensor | None = None

    @property
    def is_restorable(self) -> bool:
        return self.pages is not None or bool(self.sources)

    def fill(self, memory: Tensor) -> None:
        """Copy the values to a piece of a device's memory; `views_in` returns the parameters' tensors there."""
        in_background = copies_in_background(memory.device)
        if self.arena is not None:
            memory[: self.arena.numel()].copy_(self.arena, non_blocking=in_background)
            return
        for view, source in zip(views_in(memory, self.sources), self.sources, strict=True):
            view.copy_(source, non_blocking=in_background)

    def forget(self, device: torch.device) -> None:
        """Leave the parameters without values."""
        for parameter in self.parameters:
            parameter.data = torch.empty(0, dtype=parameter.dtype, device=device)


def slot_offsets(tensors: Sequence[Tensor]) -> tuple[tuple[int, ...], int]:
    """Return where tensors lie in one piece of memory, and how much of it they take."""
    offsets, end = [], 0
    for tensor in tensors:
        offsets.append(end)
        end += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    return tuple(offsets), end


def in_arena(tensors: Sequence[Tensor], *, pinned: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Copy tensors to one piece of memory; return it and views of it that look like them.

    Args:
        pinned: ask for pinned memory, from which a device fetches twice as fast; the system may refuse.
    """
    size = slot_offsets(tensors)[1]
    try:
        arena = torch.empty(size, dtype=torch.uint8, pin_memory=pinned)
    except RuntimeError:
        arena = torch.empty(size, dtype=torch.uint8)
    views = views_in(arena, tensors)
    for view, tensor in zip(views, tensors, strict=True):
        view.copy_(tensor)
    return arena, views


def views_in(memory: Tensor, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return views of one piece of memory that look like these tensors."""
    return tuple(
        memory[offset : offset + like.nbytes].view(like.dtype).view(like.shape)
        for offset, like in zip(slot_offsets(tensors)[0], tensors, strict=True)
    )


@dataclass(slots=True, eq=False)
class _Slot:
    memory: Tensor  # uint8
    block: int | None = None
    fetch: Future[None] | None = None
    views: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)  # of each block that the slot has held


class SlotStream:
    """Blocks that pass through slots of a device's own memory.

    A slot is filled when all work that may read it has finished, and read when the fetch has finished. The fetching
    thread and `enter` wait for these on the host, while the device is busy with the block between them.
    """

    def __init__(self, blocks: Mapping[int, KeptBlock], device: torch.device) -> None:
        self._blocks = blocks
        self._device = device
        self._slot_bytes = max(slot_offsets(block.sources)[1] for block in blocks.values())
        self._slots: list[_Slot] = []  # least recently entered first
        self._order = Order(sorted(blocks))
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        self._copies: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._fetched_bytes, self._fetch_s = 0, 0.0

    @property
    def fetch_bps(self) -> float:
        return self._fetched_bytes / self._fetch_s if self._fetch_s else 0.0

    def enter(self, block: int) -> None:
        """Make the weights available. Raises torch.OutOfMemoryError if the device has no room for the slots."""
        if not self._slots:
            self._slots = [self._new_slot() for _ in range(NUM_SLOTS)]
        slot = self._slot_for(block)
        self._slots.remove(slot)
        self._slots.append(slot)
        following = self._order.after(block)
        if following != block:
            self._slot_for(following)
        assert slot.fetch is not None
        try:
            slot.fetch.result()
        except BaseException:
            slot.block = None  # so that the next call tries again
            raise
        self._bind(block, slot)

    def leave(self, block: int) -> None:
        """Do nothing: another block takes the slot when it needs it, after all work submitted until then."""

    def remembering(self) -> AbstractContextManager[object]:
        """Let autograd save a note for each tensor in a slot, because the slot may hold another block by then."""
        return saved_tensors_hooks(self._note, self._recall)

    def free(self) -> None:
        for block in self._blocks.values():
            block.forget(self._device)
        for slot in self._slots:
            if slot.fetch is not None:
                slot.fetch.result()
        self._slots.clear()

    def _new_slot(self) -> _Slot:
        with torch.inference_mode(False):  # an inference tensor could not be used in a backward pass
            return _Slot(torch.empty(self._slot_bytes, dtype=torch.uint8, device=self._device))

    def _slot_for(self, block: int) -> _Slot:
        """Return the slot that has the block or is fetching it, else the least recently used one."""
        for slot in self._slots:
            if slot.block == block:
                return slot
        slot = self._slots[0]
        slot.block = block
        slot.fetch = self._copier.submit(self._fetch, self._blocks[block], slot.memory, self._mark())
        return slot

    def _mark(self) -> Any:
        """Return an event after all submitted work, which may still read the slot."""
        if self._copies is None:
            return None
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _fetch(self, block: KeptBlock, memory: Tensor, free: Any) -> None:
        """Fetch a block in the fetching thread, and return when its bytes are there."""
        if free is not None:
            free.synchronize()
        begin = time.monotonic()
        with torch.cuda.stream(self._copies):  # None has no effect
            block.fill(memory)
        if self._copies is not None:
            self._copies.synchronize()
        for pages in block.pages or ():
            pages.drop(evict=True)
        self._fetch_s += time.monotonic() - begin
        self._fetched_bytes += sum(source.nbytes for source in block.sources)

    def _bind(self, block: int, slot: _Slot) -> None:
        streamed = self._blocks[block]
        if block not in slot.views:
            with torch.inference_mode(False):
                slot.views[block] = views_in(slot.memory, streamed.sources)
        for parameter, view in zip(streamed.parameters, slot.views[block], strict=True):
            parameter.data = view

    def _note(self, tensor: Tensor) -> Tensor | _Note:
        memory = tensor.untyped_storage().data_ptr()
        for slot in self._slots:
            if slot.memory.data_ptr() == memory and slot.block is not None:
                return _Note(slot.block, tensor.dtype, int(tensor.storage_offset()), tensor.size(), tensor.stride())
        return tensor

    def _recall(self, noted: Tensor | _Note) -> Tensor:
        if isinstance(noted, Tensor):
            return noted
        self.enter(noted.block)
        storage = self._slot_for(noted.block).memory.untyped_storage()
        empty = torch.empty(0, dtype=noted.dtype, device=self._device)
        return empty.set_(storage, noted.offset, noted.size, noted.stride)


@dataclass(frozen=True, slots=True)
class _Note:
    block: int
    dtype: torch.dtype
    offset: int
    size: torch.Size
    stride: tuple[int, ...]
