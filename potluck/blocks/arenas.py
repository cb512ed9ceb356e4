"""The memory that holds keys and values: one tensor of keys and one of values for all layers of the same shape.

In int8, a key or value is a slot with a factor of its own (see `slots`).
On a CPU the memory is mapped but not touched: unused slots take no memory, and large freed ranges go back to the
system. This module knows slots (tokens), not pages or sequences.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from potluck.blocks.slots import slot_size

_LEAST_GIVEN_BACK_BYTES = 64 * 1024  # of one head in a freed run; for less, the system calls cost more than they save


@dataclass(frozen=True, slots=True)
class KvShape:
    """What a layer keeps of one token: keys [kv_heads, key_dim] and values [kv_heads, value_dim]."""

    kv_heads: int
    key_dim: int
    value_dim: int

    def nbytes(self, stored: torch.dtype) -> int:
        """Return the bytes of a token in `stored`; see `KvArena`."""
        return self.kv_heads * stored.itemsize * sum(self.dims(stored))

    def dims(self, stored: torch.dtype) -> tuple[int, int]:
        """Return the last dimension of keys and of values in `stored`."""
        if stored is torch.int8:
            return slot_size(self.key_dim), slot_size(self.value_dim)
        return self.key_dim, self.value_dim


class KvArena:
    """Keys and values of `depth` layers of one shape, with `capacity` slots each.

    Shapes: keys [depth, kv_heads, capacity, key_dim], values [depth, kv_heads, capacity, value_dim]; in int8, slots in
    place of the last dimension.

    Args:
        stored: number format of the layers, or int8.
    """

    def __init__(self, shape: KvShape, depth: int, capacity: int, stored: torch.dtype, device: torch.device) -> None:
        self.shape = shape
        self.depth = depth
        self._maps: tuple[mmap.mmap | None, ...]
        sizes = [(depth, shape.kv_heads, capacity, dim) for dim in shape.dims(stored)]
        (self.keys, key_map), (self.values, value_map) = (_map_tensor(size, stored, device) for size in sizes)
        self._maps = (key_map, value_map)

    @property
    def tensors(self) -> tuple[Tensor, Tensor]:
        return self.keys, self.values

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy slots within each layer. The two ranges must not overlap."""
        for tensor in self.tensors:
            tensor.narrow(2, target, count).copy_(tensor.narrow(2, source, count))

    def free(self) -> None:
        """Return the memory and lose its contents. The arena cannot be used again."""
        self.keys, self.values = (tensor.new_empty(0) for tensor in self.tensors)
        self._maps = (None, None)

    def give_back(self, runs: Iterable[tuple[int, int]]) -> None:
        """Tell the system that these (slot, count) ranges are unused. Does nothing where that is impossible or not
        worth it.
        """
        for start, count in runs:
            for tensor, mapped in zip(self.tensors, self._maps, strict=True):
                if mapped is not None:
                    _drop_slots(tensor, mapped, start, count)


def _map_tensor(size: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> tuple[Tensor, mmap.mmap | None]:
    """Return an uninitialised tensor, on a CPU in a mapping of its own without huge pages, which would fill gaps."""
    num_bytes = torch.Size(size).numel() * dtype.itemsize
    if device.type != "cpu" or sys.platform != "linux" or not num_bytes:
        return torch.empty(size, dtype=dtype, device=device), None
    mapped = mmap.mmap(-1, num_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    mapped.madvise(mmap.MADV_NOHUGEPAGE)
    return torch.frombuffer(mapped, dtype=dtype).view(size), mapped


def _drop_slots(tensor: Tensor, mapped: mmap.mmap, start: int, count: int) -> None:
    depth, heads, capacity, dim = tensor.shape
    slot_bytes = dim * tensor.element_size()
    if count * slot_bytes < _LEAST_GIVEN_BACK_BYTES:
        return
    for row in range(depth * heads):
        first = (row * capacity + start) * slot_bytes
        begin = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
        end = (first + count * slot_bytes) // mmap.PAGESIZE * mmap.PAGESIZE
        mapped.madvise(mmap.MADV_DONTNEED, begin, end - begin)
