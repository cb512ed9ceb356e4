"""Calls the library that `native_kernels` compiles: products of few tokens, attention, and whole blocks."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.arenas import Held

PACKED_ROWS = 64
"""Rows of a matrix in int4 that are packed together, on every device."""

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
        is_wide: int4 matrices are multiplied with AVX-512.
        in_pairs: bfloat16 matrices are multiplied with AVX-512's instruction for them.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self.is_wide = bool(library.potluck_wide_kernels_run_here())
        self.in_pairs = bool(library.potluck_pairs_run_here())

        def declared(name: str, *arguments: Any, returns: Any = None) -> Any:
            function = library[f"potluck_{name}"]
            function.argtypes, function.restype = arguments, returns
            return function

        number = ctypes.c_int
        self._int8 = declared("int8_product", *[_POINTER] * 5, *[_SIZE] * 3, number)
        self._int4 = declared("int4_product", *[_POINTER] * 5, *[_SIZE] * 4, *[number] * 3)
        self._bfloat16 = declared("bfloat16_product", *[_POINTER] * 4, *[_SIZE] * 3, number, number)
        self._attention = declared("attention", *[_POINTER] * 5, *[_SIZE] * 6, ctypes.c_float, number, number)
        self._room_for = declared("room_for", _POINTER, *[_SIZE] * 3, returns=_SIZE)
        self._run_blocks = declared("run_blocks", _POINTER, _SIZE, *[_POINTER] * 3)

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

    def attention(self, query: Tensor, held: Held, scale: float) -> tuple[Tensor, Tensor]:
        """Return one token's attention in float32, and the log-sum-exp of its scores, [1, heads, group].

        Shapes: query [1, heads, group, key_dim], held [1, heads, tokens, dim] where `can_attend` says so.
        """
        _, heads, group, key_dim = query.shape
        _, _, tokens, value_dim = held[1].shape
        addresses = (_POINTER * 4)(*(tensor.data_ptr() for tensor in held))
        query = query.contiguous()
        output, sums, scratch = (  # another thread that builds a model changes the default dtype
            torch.empty(shape, dtype=torch.float32)
            for shape in ((1, heads, group, value_dim), (1, heads, group), (heads * _QUERIES_TOGETHER * tokens,))
        )
        self._attention(
            *(query.data_ptr(), ctypes.addressof(addresses)),
            *(tensor.data_ptr() for tensor in (output, sums, scratch)),
            *(heads, group, tokens, key_dim, value_dim, held[0].stride(1) // key_dim),
            *(scale, held[0].dtype is torch.int8, torch.get_num_threads()),
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
        columns = codes.shape[1]
        group, are_floats = columns // levels.shape[0], levels.dtype is torch.int32
        x, output, scratch = _buffers(x, rows)
        self._int4(
            *(tensor.data_ptr() for tensor in (x, codes, levels, output, scratch)),
            *(x.numel() // columns, rows, columns, group, are_floats, self.is_wide, torch.get_num_threads()),
        )
        return output


def can_attend(held: Held) -> bool:
    """Return whether `NativeKernels.attention` takes keys and values of such shapes, where there is one."""
    is_right = all(tensor.shape[3] % COLUMNS == 0 and tensor.shape[3] <= MOST_DIM for tensor in held[:2])
    is_right = is_right and all(tensor.stride()[2:] == (tensor.shape[3], 1) for tensor in held)
    is_right = is_right and len({tensor.stride(1) // tensor.shape[3] for tensor in held}) == 1  # of all, the same slots
    return is_right and held[0].dtype in (torch.bfloat16, torch.int8) and held[0].device.type == "cpu"


def _buffers(x: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x contiguous, an output, and room for x as codes and two numbers a group."""
    output = torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
    scratch = torch.empty(x.numel() + 2 * 4 * x.numel() // GROUP, dtype=torch.uint8)
    return x.contiguous(), output, scratch
