"""Compiles products of few tokens with matrices for this processor, and calls them.

The code is `native_products.c`. It is compiled when the first product asks for it, in about a second, into a folder
that only this user can write to and that is removed at once. Without a compiler, and on processors other than x86 with
AVX2, there are no such products. docs/decisions/0009 has the measurements.
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
"""`NativeProducts.int4` takes matrices that pack a multiple of so many rows together."""

_SOURCE = Path(__file__).with_suffix(".c")
_FLAGS = ("-O3", "-shared", "-fPIC", "-fopenmp", "-fvisibility=hidden")
_COMPILER_TIMEOUT_S = 120.0  # it takes one second on an idle machine
_GROUP = 32  # values of x that share a scale
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64

log = logging.getLogger(__name__)


class NativeProducts:
    """Products of bfloat16 rows with matrices, through a library compiled from `native_products.c`.

    For quantised ones, each row of x is rounded to int8 in groups of 32 values, which adds an error of 0.6 %.
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


@cache
def native_products() -> NativeProducts | None:
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
    return NativeProducts(library) if library.potluck_products_run_here() else None


def _compiled(compiler: str) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:  # mode 0700
        target = Path(folder) / "native_products.so"
        command = [compiler, *_FLAGS, "-o", str(target), str(_SOURCE)]
        subprocess.run(command, check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
        return ctypes.CDLL(str(target))  # it stays mapped after its file is removed


def _buffers(x: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x contiguous, an output, and room for x as codes and two numbers a group."""
    output = torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
    scratch = torch.empty(x.numel() + 2 * 4 * x.numel() // _GROUP, dtype=torch.uint8)
    return x.contiguous(), output, scratch
