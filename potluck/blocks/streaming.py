"""Blocks that pass through the device: the next one is fetched while this one computes.

Two ways to one end. A device with memory of its own has a few slots, into which a thread and a copy stream bring one
block after another. A CPU computes where the file is mapped: fetching is asking the kernel for the pages, and leaving a
block is dropping them. Both guess that blocks follow each other in the order of the last two, and are right but for the
turn from forward to backward.

`enter` and `leave` belong to the thread that computes; the fetching thread touches nothing but bytes.
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

_ALIGNMENT = 256  # of tensors within a slot, bytes; what CUDA's own allocator keeps


class BlockStream(Protocol):
    """What a span's layers and its owner need of either way; blocks are numbered as in the model."""

    def enter(self, block: int) -> None:
        """Before a streamed block computes: its weights are there when this returns."""

    def leave(self, block: int) -> None:
        """After it."""

    def remembering(self) -> AbstractContextManager[object]:
        """Around a forward pass that a backward pass follows."""

    def free(self) -> None:
        """Give all memory back; `enter` takes what it needs again."""

    @property
    def fetch_bps(self) -> float:
        """Bytes a second that were fetched; 0 before the first."""


@dataclass(slots=True)
class Order:
    """Which block follows which."""

    blocks: Sequence[int]
    _last: int | None = None
    _step: int = 1

    def after(self, block: int) -> int:
        """The block that will probably follow `block`, which begins now; the first follows the last."""
        place = self.blocks.index(block)
        if self._last is not None and len(self.blocks) > 2:
            difference = (place - self._last) % len(self.blocks)
            self._step = -1 if difference == len(self.blocks) - 1 else 1
        self._last = place
        return self.blocks[(place + self._step) % len(self.blocks)]


def enter_again(stream: BlockStream, block: int, output: Any) -> Any:
    """A layer's output, through which a backward pass enters the block before it reaches the layer."""
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
    """Blocks of a CPU, mapped from files: `pages` of each, and which of them leave the system's cache as well."""

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
        for unwanted in before - self._wanted:  # a wrong guess
            self._drop(unwanted)
        if following not in before:
            self._reader.submit(self._ask, following)

    def leave(self, block: int) -> None:
        self._entered = None
        self._wanted -= {block}
        self._drop(block)

    def remembering(self) -> AbstractContextManager[object]:
        """Saved weights are views of the file, which are right whenever they are read."""
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
                if block not in self._wanted:  # too late
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
        pages: of a mapped file, where the values are; None: they are in no file.
        sources: on the host, one a parameter, in its final number format; empty where a CPU computes on the pages, or
            where nothing but the device has the values.
        arena: all sources as they lie in a slot, pinned, so that one copy brings everything.
    """

    parameters: tuple[nn.Parameter, ...]
    pages: tuple[MappedRange, ...] | None = None
    sources: tuple[Tensor, ...] = ()
    arena: Tensor | None = None

    @property
    def is_restorable(self) -> bool:
        return self.pages is not None or bool(self.sources)

    def fill(self, memory: Tensor) -> None:
        """Copy the values to a piece of a device's memory; `views_in` of it are the parameters' tensors."""
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
    """Where tensors lie in one piece of memory, and how much of it they take."""
    offsets, end = [], 0
    for tensor in tensors:
        offsets.append(end)
        end += -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT
    return tuple(offsets), end


def in_arena(tensors: Sequence[Tensor], *, pinned: bool) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A copy of tensors in one piece of memory, and views of it that look like them.

    Args:
        pinned: a device can fetch from it twice as fast; the system may refuse, and then it is not.
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
    """Views of one piece of memory that look like these tensors."""
    return tuple(
        memory[offset : offset + like.nbytes].view(like.dtype).view(like.shape)
        for offset, like in zip(slot_offsets(tensors)[0], tensors, strict=True)
    )


@dataclass(slots=True, eq=False)
class _Slot:
    memory: Tensor  # uint8
    block: int | None = None
    fetch: Future[None] | None = None
    views: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)  # of each block that was here


class SlotStream:
    """Blocks that pass through slots of a device's own memory.

    A slot is fetched into when all work that may read it is done, and read when the fetch is done: both are waited for
    on the host, by the fetching thread and by `enter`, while the device is busy with the block between them.
    """

    def __init__(self, blocks: Mapping[int, KeptBlock], device: torch.device) -> None:
        self._blocks = blocks
        self._device = device
        self._slot_bytes = max(slot_offsets(block.sources)[1] for block in blocks.values())
        self._slots: list[_Slot] = []  # the least recently entered first
        self._order = Order(sorted(blocks))
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        self._copies: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]
        self._fetched_bytes, self._fetch_s = 0, 0.0

    @property
    def fetch_bps(self) -> float:
        return self._fetched_bytes / self._fetch_s if self._fetch_s else 0.0

    def enter(self, block: int) -> None:
        """Raises torch.OutOfMemoryError if the device has no room for the slots."""
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
            slot.block = None  # so that it is tried again
            raise
        self._bind(block, slot)

    def leave(self, block: int) -> None:
        """A slot is taken when another block needs it, after all that was given to the device until then."""

    def remembering(self) -> AbstractContextManager[object]:
        """What autograd saves of a slot is a note where it was; a slot may hold another block when it is asked for."""
        return saved_tensors_hooks(self._note, self._recall)

    def free(self) -> None:
        for block in self._blocks.values():
            block.forget(self._device)
        for slot in self._slots:
            if slot.fetch is not None:
                slot.fetch.result()
        self._slots.clear()

    def _new_slot(self) -> _Slot:
        with torch.inference_mode(False):  # or no backward pass could read it
            return _Slot(torch.empty(self._slot_bytes, dtype=torch.uint8, device=self._device))

    def _slot_for(self, block: int) -> _Slot:
        """The slot that has the block, or will have; else the one that was not used for the longest time."""
        for slot in self._slots:
            if slot.block == block:
                return slot
        slot = self._slots[0]
        slot.block = block
        slot.fetch = self._copier.submit(self._fetch, self._blocks[block], slot.memory, self._mark())
        return slot

    def _mark(self) -> Any:
        """All that was given to the device until now, and may still read the slot."""
        if self._copies is None:
            return None
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _fetch(self, block: KeptBlock, memory: Tensor, free: Any) -> None:
        """Runs in the thread of its own, and returns when the bytes are there."""
        if free is not None:
            free.synchronize()
        begin = time.monotonic()
        with torch.cuda.stream(self._copies):  # None: nothing happens
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
