"""Compiles native kernels for this processor, checks them and calls them: products, attention and whole blocks.

The code is `native_kernels.c` and `native_steps.c`. It is compiled when it is first needed, in a few seconds, and kept
with a checksum in this user's cache for the next process. It is loaded from a folder that only this user can write to
and that is removed at once. Each kernel is compared with torch, because a compiler or a processor can be wrong, and if
one is wrong, none is used. Without a compiler, and on processors other than x86 with AVX2, there are no such kernels.
docs/decisions/0009 has the measurements.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from potluck.blocks.accelerators import NoKernels
from potluck.blocks.cache.arenas import Held, encoded
from potluck.checked_files import read_copy, write_copy

PACKED_ROWS = 64
"""Rows of a matrix in int4 that are packed together, on every device."""

GROUP = 32
"""Values of a row of x that share a scale, and the fewest of a row in int4 that share levels: 5 bits in bfloat16."""

COLUMNS = 16
"""Matrices of numbers, and heads, have a multiple of so many columns."""

MOST_DIM = 512
"""Limit of the numbers of a key or value for native attention."""

_QUERIES_TOGETHER = 4  # the same number as in native_kernels.c
_POINTER, _SIZE = ctypes.c_void_p, ctypes.c_int64

_TOKENS, _ROWS, _COLUMNS, _HEADS, _DIM = 3, 2 * PACKED_ROWS, 96, 2, 32  # sizes of the check
_TOLERANCE = 0.02
"""Limit of the error's norm over that of the right numbers. bfloat16 costs 0.003, and rounding x to int8 0.007."""

_SOURCES = [Path(__file__).with_name(name) for name in ("native_kernels.c", "native_steps.c")]
_HEADERS = [Path(__file__).with_name("native_kernels.h")]
_FLAGS = ("-O3", "-shared", "-fPIC", "-fopenmp", "-fvisibility=hidden")
_COMPILER_TIMEOUT_S = 120.0  # it takes five seconds of a processor's time

log = logging.getLogger(__name__)


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
            most: limit of the tokens that a token sees.
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
    is_right = is_right and len({tensor.stride(1) // tensor.shape[3] for tensor in held}) == 1  # equal slots
    return is_right and held[0].dtype in (torch.bfloat16, torch.int8) and held[0].device.type == "cpu"


def _buffers(x: Tensor, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return x contiguous, an output, and room for x as codes and two numbers a group."""
    output = torch.empty((*x.shape[:-1], rows), dtype=x.dtype)
    scratch = torch.empty(x.numel() + 2 * 4 * x.numel() // GROUP, dtype=torch.uint8)
    return x.contiguous(), output, scratch


def wrong_kernel(kernels: NativeKernels) -> str | None:
    """Return the name of a kernel whose results differ from torch's by more than the tolerance, or None."""
    with torch.inference_mode():
        for name, found, wanted in _results(kernels):
            error = (found.float() - wanted.float()).norm() / wanted.float().norm()
            if not float(error) <= _TOLERANCE:  # also if it is no number
                return name
    return None


def _results(kernels: NativeKernels) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Yield each kernel's name, its result and torch's."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(torch.bfloat16)

    x, weight = random(_TOKENS, _COLUMNS), random(_ROWS, _COLUMNS)
    yield "bfloat16", kernels.bfloat16(x, weight), x.float() @ weight.float().T
    eight = torch.randint(-127, 128, (_ROWS, _COLUMNS), generator=generator, dtype=torch.int8)
    scales = weight[:, 0].abs() / 127
    yield "int8", kernels.int8(x, eight, scales), x.float() @ (eight * scales.float()[:, None]).T
    shape = (_ROWS // PACKED_ROWS, _COLUMNS, PACKED_ROWS // 2)
    four = torch.randint(0, 256, shape, generator=generator, dtype=torch.uint8)
    for levels in (random(_COLUMNS // GROUP, _ROWS, 2), random(1, _ROWS, 2).float()):
        held = levels.view(torch.int32) if levels.dtype is torch.float32 else levels
        yield "int4", kernels.int4(x, four, held, _ROWS), x.float() @ _int4_matrix(four, levels).T
    query, keys, values = random(1, _HEADS, 1, _DIM), random(1, _HEADS, 9, _DIM), random(1, _HEADS, 9, _DIM)
    wanted = functional.scaled_dot_product_attention(query.float(), keys.float(), values.float(), scale=0.2)
    yield "attention", kernels.attention(query, (keys, values), 0.2)[0], wanted
    yield "attention in int8", kernels.attention(query, encoded(keys, values), 0.2)[0], wanted


def _int4_matrix(codes: Tensor, levels: Tensor) -> Tensor:
    """Return the numbers of a matrix, [rows, columns]. Shapes: see `potluck.blocks.formats.matrices.Int4Matrix`."""
    values = torch.cat((codes & 15, codes >> 4), dim=2).transpose(1, 2).float() - 8
    steps, middles = levels.float().permute(2, 1, 0).unsqueeze(-1)
    whole: Tensor = values.reshape(_ROWS, len(levels), -1) * steps + middles
    return whole.view(_ROWS, -1)


def runs_natively(device: torch.device, dtype: torch.dtype) -> bool:
    """Return whether native kernels are expected for blocks of this kind, so that their absence is worth a message."""
    return device.type == "cpu" and dtype in (torch.bfloat16, torch.float32)


def native_kernels() -> NativeKernels | None:
    """Return the kernels for this processor, or None where they cannot be compiled, do not run or are wrong."""
    found = _found()
    return found if isinstance(found, NativeKernels) else None


def why_not_native() -> NoKernels | None:
    """Return why there are no native kernels here, or None if there are."""
    found = _found()
    return found if isinstance(found, NoKernels) else None


@cache
def _found() -> NativeKernels | NoKernels:
    found = _find()
    if isinstance(found, NoKernels):
        log.warning("blocks run slower, without native kernels: %s", found.reason)
    return found


def _find() -> NativeKernels | NoKernels:
    """Compile and check the kernels."""
    if platform.machine() not in ("x86_64", "AMD64"):
        return NoKernels(f"no kernels for {platform.machine()} processors")
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return NoKernels("no C compiler", "install one, such as: sudo apt install gcc libc6-dev")
    try:
        library = _compiled(compiler)
    except (OSError, subprocess.SubprocessError) as error:
        log.warning("%s does not compile the native kernels: %s", compiler, error)
        return NoKernels("the C compiler fails", "see whether gcc compiles a program; it may lack libc6-dev")
    if not library.potluck_kernels_run_here():
        return NoKernels("the processor lacks AVX2")
    kernels = NativeKernels(library)
    wrong = wrong_kernel(kernels)
    return kernels if wrong is None else NoKernels(f"the native kernel {wrong} computes wrong numbers")


def _compiled(compiler: str) -> ctypes.CDLL:
    kept = _kept(compiler)
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:  # mode 0700
        target = Path(folder) / "native_kernels.so"
        library = read_copy(kept)
        if library is not None:
            target.write_bytes(library)
        else:
            command = [compiler, *_FLAGS, "-o", str(target), *map(str, _SOURCES), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
            with suppress(OSError):  # then the next process compiles it again
                write_copy(kept, target.read_bytes())
        return ctypes.CDLL(str(target))  # it stays mapped after its file is removed


def _kept(compiler: str) -> Path:
    """Return where what this compiler makes of this code is kept. Raises OSError and CalledProcessError."""
    version = subprocess.run([compiler, "--version"], check=True, capture_output=True, timeout=_COMPILER_TIMEOUT_S)
    made_of = (" ".join(_FLAGS).encode(), version.stdout, *(source.read_bytes() for source in _HEADERS + _SOURCES))
    name = hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in made_of)).hexdigest()
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache, "potluck", "kernels", name)
