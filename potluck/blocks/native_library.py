"""Calls the library that `native_kernels` compiles: products of few tokens, attention, and whole blocks."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.slots import SCALE_BYTES

NATIVE_ROWS = 32
"""`NativeKernels.int4` takes matrices that pack a multiple of so many rows together."""

GROUP = 32
"""Values of a row of x that share a scale, and the fewest of a row in int4 that share levels: 5 bits in bfloat16."""

COLUMNS = 16
"""Matrices of numbers, and heads, have a multiple of so many columns."""

MOST_DIM = 512
"""Of a key or value that natively computed attention takes."""

_QUERIES_TOGETHER = 4  # as in the code
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64


class NativeKernels:
    """Products of bfloat16 rows with matrices, and attention, through a library compiled from `native_kernels.c`.

    For quantised matrices, each row of x is rounded to int8 in groups of 32 values, which adds an error of 0.6 %.

    Attributes:
        is_wide: int4 matrices that pack 64 rows together are multiplied with AVX-512.
        in_pairs: bfloat16 matrices are multiplied with AVX-512's instruction for them.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.is_wide = bool(library.potluck_wide_kernels_run_here())
        self.in_pairs = bool(library.potluck_pairs_run_here())
        self._int8 = library.potluck_int8_product
        self._int8.argtypes = (*[_POINTER] * 5, *[_SIZE] * 3, ctypes.c_int)
        self._int8.restype = None
        self._int4 = library.potluck_int4_product
        self._int4.argtypes = (*[_POINTER] * 5, *[_SIZE] * 5, *[ctypes.c_int] * 3)
        self._int4.restype = None

        self._bfloat16 = library.potluck_bfloat16_product
        self._bfloat16.argtypes = (*[_POINTER] * 4, *[_SIZE] * 3, ctypes.c_int, ctypes.c_int)
        self._bfloat16.restype = None
        self._attention = library.potluck_attention
        self._attention.argtypes = (*[_POINTER] * 6, *[_SIZE] * 9, ctypes.c_float, ctypes.c_int, ctypes.c_int)
        self._attention.restype = None

        self._room_for = library.potluck_room_for
        self._room_for.argtypes = (_POINTER, *[_SIZE] * 3)
        self._room_for.restype = _SIZE
        self._run_blocks = library.potluck_run_blocks
        self._run_blocks.argtypes = (_POINTER, _SIZE, *[_POINTER] * 3)
        self._run_blocks.restype = None

    def run_blocks(
        self, blocks: ctypes.Array[Any], span: slice, step: ctypes.Structure, hidden: Tensor, most: int
    ) -> None:
        """Run hidden [tokens, width] through some of the blocks in place. See `native_steps`.

        Args:
            most: tokens that a token sees at most.
        """
        first = ctypes.addressof(blocks) + span.start * ctypes.sizeof(blocks) // len(blocks)
        count = span.stop - span.start
        room = torch.empty(self._room_for(first, count, hidden.shape[0], most), dtype=torch.float32)
        self._run_blocks(first, count, ctypes.addressof(step), hidden.data_ptr(), room.data_ptr())

    def attention(self, query: Tensor, keys: Tensor, values: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """Return one token's attention in float32, and the log-sum-exp of its scores, [1, heads, group].

        Shapes: query [1, heads, group, key_dim], keys [1, heads, tokens, key_dim], values [.., value_dim], or both as
        slots of int8, where `can_attend` says so.
        """
        _, heads, group, key_dim = query.shape
        tokens, value_dim = values.shape[2], _dims(keys, values)[1]
        size = keys.element_size()
        strides = [size * stride for stride in (*keys.stride()[1:3], *values.stride()[1:3])]
        query = query.contiguous()
        output, sums, scratch = (  # another thread that builds a model changes the default dtype
            torch.empty(shape, dtype=torch.float32)
            for shape in ((1, heads, group, value_dim), (1, heads, group), (heads * _QUERIES_TOGETHER * tokens,))
        )
        self._attention(
            *(tensor.data_ptr() for tensor in (query, keys, values, output, sums, scratch)),
            *(heads, group, tokens, key_dim, value_dim, *strides),
            *(scale, keys.dtype is torch.int8, torch.get_num_threads()),
        )
        return output, sums

    def bfloat16(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return x [..., columns] times the transposed `weight` [rows, columns], [..., rows]; see `COLUMNS`."""
        rows, columns = weight.shape
        x, output = x.contiguous(), torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
        scratch = torch.empty(0 if self.in_pairs else x.numel(), dtype=torch.float32)
        self._bfloat16(
            *(tensor.data_ptr() for tensor in (x, weight, output, scratch)),
            *(x.numel() // columns, rows, columns, self.in_pairs, torch.get_num_threads()),
        )
        return output

    def int8(self, x: Tensor, codes: Tensor, scales: Tensor) -> Tensor:
        """Return x [..., columns] times the transposed matrix, [..., rows]. See `Int8Matrix`."""
        rows, columns = codes.shape
        x, output, scratch = _buffers(x, rows)
        self._int8(
            *(tensor.data_ptr() for tensor in (x, codes, scales, output, scratch)),
            *(x.numel() // columns, rows, columns, torch.get_num_threads()),
        )
        return output

    def int4(self, x: Tensor, codes: Tensor, levels: Tensor, rows: int) -> Tensor:
        """Return x [..., columns] times the transposed matrix, [..., rows]. See `Int4Matrix`."""
        _, columns, half = codes.shape
        group, are_floats = columns // levels.shape[0], levels.dtype is torch.int32
        x, output, scratch = _buffers(x, rows)
        self._int4(
            *(tensor.data_ptr() for tensor in (x, codes, levels, output, scratch)),
            *(x.numel() // columns, rows, columns, half, group, are_floats, self.is_wide, torch.get_num_threads()),
        )
        return output


def can_attend(keys: Tensor, values: Tensor) -> bool:
    """Return whether `NativeKernels.attention` takes keys and values of such shapes, where there is one."""
    is_right = all(dim % COLUMNS == 0 and dim <= MOST_DIM for dim in _dims(keys, values))
    is_right = is_right and keys.stride(3) == values.stride(3) == 1
    return is_right and keys.dtype in (torch.bfloat16, torch.int8) and keys.device.type == "cpu"


def _dims(keys: Tensor, values: Tensor) -> tuple[int, int]:
    """Return key_dim and value_dim of keys and values, or of slots in int8; dimensions of slots count as even."""
    lacks = SCALE_BYTES if keys.dtype is torch.int8 else 0
    return keys.shape[3] - lacks, values.shape[3] - lacks


def _buffers(x: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x contiguous, an output, and room for x as codes and two numbers a group."""
    output = torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
    scratch = torch.empty(x.numel() + 2 * 4 * x.numel() // GROUP, dtype=torch.uint8)
    return x.contiguous(), output, scratch
