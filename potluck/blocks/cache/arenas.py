"""Holds keys and values in memory: one tensor of keys and one of values for all layers of the same shape.

In int8 both hold codes, and two more tensors hold a bfloat16 factor for each head's key or value of a token. Rounding
adds an error of about 0.6 % of the vector. Nothing lies between the codes of two tokens: the GPU's kernel reads up to
16 bytes at once, which only works at multiples of so many bytes.

On a CPU the memory is mapped but not touched: unused slots take no memory, and large freed ranges go back to the
system. This module knows slots (tokens), not pages or sequences.

Source: a scale for each token and head as in vLLM's and LMDeploy's caches in int8.
"""

from __future__ import annotations

import mmap
import sys
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

Held = tuple[Tensor, ...]
"""Keys [.., tokens, key_dim] and values [.., tokens, value_dim]; in int8 their codes, and behind them the factors of
keys and those of values, bfloat16 [.., tokens, 1].
"""

_MOST = 127
_LEAST_FACTOR = 1e-30  # factor of zeros; dividing by it stays finite
_LEAST_GIVEN_BACK_BYTES = 64 * 1024  # system calls for fewer bytes of a head cost more than they save


@dataclass(frozen=True, slots=True)
class KvShape:
    """The shape of one token in a layer: keys [kv_heads, key_dim] and values [kv_heads, value_dim]."""

    kv_heads: int
    key_dim: int
    value_dim: int

    def nbytes(self, stored: torch.dtype) -> int:
        """Return the bytes of a token in `stored`; see `KvArena`."""
        return self.kv_heads * sum(dim * dtype.itemsize for dim, dtype in self.parts(stored))

    def parts(self, stored: torch.dtype) -> tuple[tuple[int, torch.dtype], ...]:
        """Return the last dimension and the number format of each tensor of a `KvArena`."""
        factors = ((1, torch.bfloat16),) * 2 if stored is torch.int8 else ()
        return (self.key_dim, stored), (self.value_dim, stored), *factors


class KvArena:
    """Keys and values of `depth` layers of one shape, with `capacity` slots each.

    Args:
        stored: number format of the layers, or int8.

    Attributes:
        tensors: as `Held` says, [depth, kv_heads, capacity, dim], contiguous.
    """

    def __init__(self, shape: KvShape, depth: int, capacity: int, stored: torch.dtype, device: torch.device) -> None:
        self.shape = shape
        self.depth = depth
        size = (depth, shape.kv_heads, capacity)
        parts = [_map_tensor((*size, dim), dtype, device) for dim, dtype in shape.parts(stored)]
        self.tensors: Held = tuple(tensor for tensor, _ in parts)
        self._maps = [mapped for _, mapped in parts]

    def held(self, keys: Tensor, values: Tensor) -> Held:
        """Return keys and values in the form in which this arena holds them."""
        return encoded(keys, values) if len(self.tensors) > 2 else (keys, values)

    def as_bytes(self) -> Held:
        """Return the tensors as uint8, so that copies of any parts can lie side by side whatever their alignment."""
        return tuple(tensor.view(torch.uint8) for tensor in self.tensors)

    def copy(self, source: int, target: int, count: int) -> None:
        """Copy slots within each layer. The two ranges must not overlap."""
        for tensor in self.tensors:
            tensor.narrow(2, target, count).copy_(tensor.narrow(2, source, count))

    def free(self) -> None:
        """Return the memory and lose its contents. The arena cannot be used again."""
        self.tensors = tuple(tensor.new_empty(0) for tensor in self.tensors)
        self._maps = [None] * len(self.tensors)

    def give_back(self, runs: Iterable[tuple[int, int]]) -> None:
        """Return the memory of unused (slot, count) ranges to the system where that is possible and worth it."""
        for start, count in runs:
            for tensor, mapped in zip(self.tensors, self._maps, strict=True):
                if mapped is not None:
                    _drop_slots(tensor, mapped, start, count)


def encoded(*numbers: Tensor) -> Held:
    """Return codes of each tensor [.., dim], int8, and then the factors of each, bfloat16 [.., 1]."""
    wide = [each.float() for each in numbers]
    steps = [(each.abs().amax(-1, keepdim=True) / _MOST).clamp_(min=_LEAST_FACTOR) for each in wide]
    factors = [each.to(torch.bfloat16) for each in steps]  # rounding may make them smaller, so codes are clamped
    codes = [(each / by).round_().clamp_(-_MOST, _MOST).to(torch.int8) for each, by in zip(wide, factors, strict=True)]
    return *codes, *factors


def decoded(held: Held, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Return keys and values as they are held, or as numbers in `dtype` if they are held in int8."""
    keys, values, *factors = held
    if not factors:
        return keys, values
    return keys.to(dtype).mul_(factors[0]), values.to(dtype).mul_(factors[1])


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
