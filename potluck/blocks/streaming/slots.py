"""Streams blocks through slots of the device: the next one is fetched while the current one computes.

The device, which may be the CPU, has a few slots. A thread fills one after another, from RAM or from files whose bytes
it checks; a GPU has a copy stream besides. The next block is guessed from the order of the last two, which is wrong
only where forward turns into backward.

`enter` belongs to the computing thread. The fetching thread touches nothing but bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from potluck.blocks.accelerators import copies_in_background, pin, trim_heap
from potluck.blocks.streaming.placement import NUM_SLOTS
from potluck.checkpoint.shards import BlockOrigin, FilePart, host_memory
from potluck.errors import CheckpointError

_ALIGNMENT = 256  # bytes to which tensors are aligned within a slot, as in CUDA's own allocator


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


def enter_again(stream: SlotStream, block: int, output: Any) -> Any:
    """Return a layer's output through which a backward pass enters the block before it reaches the layer."""
    if isinstance(output, tuple):
        return enter_again(stream, block, output[0]), *output[1:]
    return _Enter.apply(output, stream, block) if output.requires_grad else output  # type: ignore[no-untyped-call]


class _Enter(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, output: Tensor, stream: SlotStream, block: int) -> Tensor:
        ctx.stream, ctx.block = stream, block
        return output.view_as(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        ctx.stream.enter(ctx.block)
        return grad, None, None


@dataclass(frozen=True, slots=True)
class KeptBlock:
    """The parameters of one block and the source of their values.

    Attributes:
        likes: the parameters on meta, without values.
        parts: parts of files with the values, one for each parameter; None if no files have them.
        arena: all values laid out as in a slot, in RAM and pinned, so that one copy moves everything.
        evicts: the system's cache should forget the files' bytes after use.
        origin: the files of the checkpoint from which the block was loaded; None: it came from nowhere.
    """

    parameters: tuple[nn.Parameter, ...]
    likes: tuple[Tensor, ...]
    parts: tuple[FilePart, ...] | None = None
    arena: Tensor | None = None
    evicts: bool = False
    origin: BlockOrigin | None = None

    @property
    def num_bytes(self) -> int:
        return slot_offsets(self.likes, self._shifts)[1]

    @property
    def _shifts(self) -> tuple[int, ...]:
        return tuple(part.shift for part in self.parts or ())

    def views(self, memory: Tensor) -> tuple[Tensor, ...]:
        """Return the parameters' tensors in memory that `fill` filled."""
        return views_in(memory, self.likes, self._shifts)

    def fill(self, memory: Tensor, staging: Tensor | None = None) -> None:
        """Copy the values to a piece of a device's memory.

        Args:
            staging: as many bytes on the host, through which values get from files to a device with its own memory.

        Raises:
            CheckpointError: a file does not hold these values any more.
        """
        in_background = copies_in_background(memory.device)
        if self.arena is not None:
            memory[: self.arena.numel()].copy_(self.arena, non_blocking=in_background)
            return
        assert self.parts is not None
        target = memory if staging is None else staging
        offsets, size = slot_offsets(self.likes, self._shifts)
        for offset, part in zip(offsets, self.parts, strict=True):
            part.read_into(target[offset : offset + part.num_bytes])
            if self.evicts:
                part.evict()
        if staging is not None:
            memory[:size].copy_(staging[:size], non_blocking=in_background)

    def forget(self, device: torch.device) -> None:
        """Leave the parameters without values."""
        for parameter in self.parameters:
            parameter.data = torch.empty(0, dtype=parameter.dtype, device=device)


def staging_for(blocks: Iterable[KeptBlock], device: torch.device) -> Tensor | None:
    """Return memory on the host for `fill`, if the device has its own memory and any block comes from files."""
    size = max((block.num_bytes for block in blocks if block.arena is None), default=0)
    if device.type == "cpu" or not size:
        return None
    return host_bytes(size, device)


def slot_offsets(tensors: Sequence[Tensor], shifts: Sequence[int] = ()) -> tuple[tuple[int, ...], int]:
    """Return where tensors lie in one piece of memory, and how much of it they take.

    Args:
        shifts: of each tensor beyond a multiple of the alignment; empty: none.
    """
    offsets, end = [], 0
    for tensor, shift in zip(tensors, shifts or (0,) * len(tensors), strict=True):
        offsets.append(end + shift)
        end += -(-(shift + tensor.nbytes) // _ALIGNMENT) * _ALIGNMENT
    return tuple(offsets), end


def in_arena(tensors: Sequence[Tensor], device: torch.device) -> Tensor:
    """Return a piece of memory with copies of these tensors, from which the device fetches fast."""
    arena = host_bytes(slot_offsets(tensors)[1], device)
    for view, tensor in zip(views_in(arena, tensors), tensors, strict=True):
        view.copy_(tensor)
    return arena


def hold_in(memory: Tensor, parameters: Sequence[nn.Parameter], shifts: Sequence[int] = ()) -> None:
    """Move parameters into one piece of memory, returning their old memory to the system one by one."""
    likes = [torch.empty_like(parameter, device="meta") for parameter in parameters]
    for parameter, view in zip(parameters, views_in(memory, likes, shifts), strict=True):
        parameter.data = view.copy_(parameter.data)
        trim_heap()


def device_memory(size: int, device: torch.device) -> Tensor:
    return host_memory(size) if device.type == "cpu" else torch.empty(size, dtype=torch.uint8, device=device)


def views_in(memory: Tensor, tensors: Sequence[Tensor], shifts: Sequence[int] = ()) -> tuple[Tensor, ...]:
    """Return views of one piece of memory that look like these tensors."""
    return tuple(
        memory[offset : offset + like.nbytes].view(like.dtype).view(like.shape)
        for offset, like in zip(slot_offsets(tensors, shifts)[0], tensors, strict=True)
    )


def host_bytes(size: int, device: torch.device) -> Tensor:
    """Return memory on the host from which the device copies fast."""
    memory = host_memory(size)
    if copies_in_background(device):
        pin(memory, device)
    return memory


@dataclass(slots=True, eq=False)
class _Slot:
    memory: Tensor  # uint8
    block: int | None = None
    fetch: Future[None] | None = None
    views: dict[int, tuple[Tensor, ...]] = field(default_factory=dict)  # views by block


class SlotStream:
    """Blocks that pass through slots of a device's memory.

    A slot is filled when all work that may read it has finished, and read when the fetch has finished. The fetching
    thread and `enter` wait for these on the host, while the device is busy with the block between them.

    Attributes:
        is_unreadable: a fetch found that a file does not hold the weights any more.
    """

    def __init__(self, blocks: Mapping[int, KeptBlock], device: torch.device) -> None:
        self.is_unreadable = False
        self._blocks = blocks
        self._device = device
        self._slot_bytes = max(block.num_bytes for block in blocks.values())
        self._staging: Tensor | None = None  # the fetching thread's
        self._slots: list[_Slot] = []  # least recently entered first
        self._order = Order(sorted(blocks))
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="fetch")
        self._copies: Any = torch.cuda.Stream(device) if device.type == "cuda" else None  # type: ignore[no-untyped-call]

    def enter(self, block: int) -> None:
        """Make a streamed block's weights available; call it before the block computes.

        Raises:
            torch.OutOfMemoryError: the device has no room for the slots.
            CheckpointError: a file does not hold the weights any more.
        """
        if not self._slots:
            with torch.inference_mode(False):  # an inference tensor could not be used in a backward pass
                self._slots = [_Slot(device_memory(self._slot_bytes, self._device)) for _ in range(NUM_SLOTS)]
            self._staging = staging_for(self._blocks.values(), self._device)
        slot = self._slot_for(block)
        self._slots.remove(slot)
        self._slots.append(slot)
        following = self._order.after(block)
        if following != block:
            self._slot_for(following)
        assert slot.fetch is not None
        try:
            slot.fetch.result()
        except BaseException as error:
            slot.block = None  # the next call tries again
            self.is_unreadable |= isinstance(error, CheckpointError)
            raise
        self._bind(block, slot)

    def check(self) -> None:
        """Read all files once. Raises CheckpointError if one does not hold the weights any more."""
        for block in self._blocks.values():
            for part in block.parts or ():
                part.check()

    def remembering(self) -> AbstractContextManager[object]:
        """Let autograd save a reference to each tensor in a slot, because the slot may hold another block by then."""
        return saved_tensors_hooks(self._note, self._recall)

    def free(self) -> None:
        """Return all memory; `enter` allocates it again."""
        for block in self._blocks.values():
            block.forget(self._device)
        wait([slot.fetch for slot in self._slots if slot.fetch is not None])
        self._slots.clear()
        self._staging = None

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
        """Return an event after all submitted work that may still read the slot."""
        if self._copies is None:
            return None
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._device))
        return event

    def _fetch(self, block: KeptBlock, memory: Tensor, free: Any) -> None:
        """Fetch a block in the fetching thread, and return when its bytes are there."""
        if free is not None:
            free.synchronize()
        with torch.cuda.stream(self._copies):  # None has no effect
            block.fill(memory, self._staging)
        if self._copies is not None:
            self._copies.synchronize()

    def _bind(self, block: int, slot: _Slot) -> None:
        streamed = self._blocks[block]
        if block not in slot.views:
            with torch.inference_mode(False):
                slot.views[block] = streamed.views(slot.memory)
        for parameter, view in zip(streamed.parameters, slot.views[block], strict=True):
            parameter.data = view

    def _note(self, tensor: Tensor) -> Tensor | _SlotTensor:
        memory = tensor.untyped_storage().data_ptr()
        for slot in self._slots:
            if slot.memory.data_ptr() == memory and slot.block is not None:
                return _SlotTensor(
                    slot.block, tensor.dtype, int(tensor.storage_offset()), tensor.size(), tensor.stride()
                )
        return tensor

    def _recall(self, noted: Tensor | _SlotTensor) -> Tensor:
        if isinstance(noted, Tensor):
            return noted
        self.enter(noted.block)
        storage = self._slot_for(noted.block).memory.untyped_storage()
        empty = torch.empty(0, dtype=noted.dtype, device=self._device)
        return empty.set_(storage, noted.offset, noted.size, noted.stride)


@dataclass(frozen=True, slots=True)
class _SlotTensor:
    block: int
    dtype: torch.dtype
    offset: int
    size: torch.Size
    stride: tuple[int, ...]
