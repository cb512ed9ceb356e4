"""Compiles products of few tokens with matrices, and one token's attention, for this processor, and calls them.

The code is `native_kernels.c`. It is compiled when it is first needed, in about a second, into a folder
that only this user can write to and that is removed at once. Without a compiler, and on processors other than x86 with
AVX2, there are no such kernels. docs/decisions/0009 has the measurements.
"""

from __future__ import annotations

import ctypes
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

NATIVE_ROWS = 32
"""`NativeKernels.int4` takes matrices that pack a multiple of so many rows together."""

_SOURCE = Path(__file__).with_suffix(".c")
_FLAGS = ("-O3", "-shared", "-fPIC", "-fopenmp", "-fvisibility=hidden")
_COMPILER_TIMEOUT_S = 120.0  # it takes one second on an idle machine
_GROUP = 32  # values of x that share a scale
_MOST_DIM, _QUERIES_TOGETHER = 512, 4  # as in the code
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64

log = logging.getLogger(__name__)


class NativeKernels:
    """Products of bfloat16 rows with matrices, and attention, through a library compiled from `native_kernels.c`.

    For quantised matrices, each row of x is rounded to int8 in groups of 32 values, which adds an error of 0.6 %.
    """

    def __init__(self, library: ctypes.CDLL) -> None:
        self._int8 = library.potluck_int8_product
        self._int8.argtypes = (*[_POINTER] * 5, *[_SIZE] * 3, ctypes.c_int)
        self._int8.restype = None
        self._int4 = library.potluck_int4_product
        self._int4.argtypes = (*[_POINTER] * 5, *[_SIZE] * 4, ctypes.c_int)
        self._int4.restype = None

        self._bfloat16 = library.potluck_bfloat16_product
        self._bfloat16.argtypes = (*[_POINTER] * 4, *[_SIZE] * 3, ctypes.c_int)
        self._bfloat16.restype = None
        self._attention = library.potluck_attention
        self._attention.argtypes = (*[_POINTER] * 6, *[_SIZE] * 9, ctypes.c_float, ctypes.c_int)
        self._attention.restype = None

    def attention(self, query: Tensor, keys: Tensor, values: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """Return one token's attention in float32, and the log-sum-exp of its scores, [1, heads, group].

        Shapes: query [1, heads, group, key_dim], keys [1, heads, tokens, key_dim], values [.., value_dim], where
        `can_attend` says so.
        """
        _, heads, group, key_dim = query.shape
        tokens, value_dim = values.shape[2:]
        query = query.contiguous()
        output, sums = torch.empty((1, heads, group, value_dim)), torch.empty((1, heads, group))
        scratch = torch.empty(heads * _QUERIES_TOGETHER * tokens)
        self._attention(
            *(tensor.data_ptr() for tensor in (query, keys, values, output, sums, scratch)),
            *(heads, group, tokens, key_dim, value_dim, *keys.stride()[1:3], *values.stride()[1:3]),
            *(scale, torch.get_num_threads()),
        )
        return output, sums

    def bfloat16(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return x [..., columns] times the transposed `weight` [rows, columns], [..., rows]; columns: 16, 32, 48..."""
        rows, columns = weight.shape
        x, output = x.contiguous(), torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
        scratch = torch.empty(x.numel(), dtype=torch.float32)
        self._bfloat16(
            *(tensor.data_ptr() for tensor in (x, weight, output, scratch)),
            *(x.numel() // columns, rows, columns, torch.get_num_threads()),
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
        x, output, scratch = _buffers(x, rows)
        self._int4(
            *(tensor.data_ptr() for tensor in (x, codes, levels, output, scratch)),
            *(x.numel() // columns, rows, columns, half, torch.get_num_threads()),
        )
        return output


def can_attend(keys: Tensor, values: Tensor) -> bool:
    """Return whether `NativeKernels.attention` takes keys and values of such shapes, where there is one."""
    dims = keys.shape[3], values.shape[3]
    is_right = all(dim % 16 == 0 and dim <= _MOST_DIM for dim in dims) and keys.stride(3) == values.stride(3) == 1
    return is_right and keys.dtype is torch.bfloat16 and keys.device.type == "cpu"


@cache
def native_kernels() -> NativeKernels | None:
    """Return the products for this processor, or None where they cannot be compiled or do not run."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return None
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        log.warning("blocks run on PyTorch's slower kernels: there is no C compiler (gcc or clang)")
        return None
    try:
        library = _compiled(compiler)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("blocks run on PyTorch's slower kernels: %s does not compile: %s", compiler, error)
        return None
    return NativeKernels(library) if library.potluck_kernels_run_here() else None


def _compiled(compiler: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:  # mode 0700
        target = Path(folder) / "native_kernels.so"
        command = [compiler, *_FLAGS, "-o", str(target), str(_SOURCE), "-lm"]
        subprocess.run(command, check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
        return ctypes.CDLL(str(target))  # it stays mapped after its file is removed


def _buffers(x: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x contiguous, an output, and room for x as codes and two numbers a group."""
    output = torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
    scratch = torch.empty(x.numel() + 2 * 4 * x.numel() // _GROUP, dtype=torch.uint8)
    return x.contiguous(), output, scratch
