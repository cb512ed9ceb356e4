"""Compiles every kernel for a GPU without one, in a process that has not imported triton for its interpreter."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from potluck.blocks import kernels
from potluck.blocks.paged_attention import shape_options
from potluck.blocks.step_tensors import DECODE_TILE_TOKENS, PREFILL_TILE_TOKENS

SHARED_BYTES = {75: 64 << 10}  # of a program; others give at least as much as Ampere
LEAST_SHARED_BYTES = 99 << 10
TYPES = {torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.float32: "*fp32"}
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


@dataclass(frozen=True, slots=True)
class Job:
    """One variant of a kernel; `types` of its arguments that are no constants."""

    kernel: Any
    types: dict[str, str]
    constants: dict[str, Any]
    options: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kernel.__name__} {self.constants}"

    def compile(self, capability: int) -> tuple[int, int]:
        """Return the bytes of shared memory and of the stack that it takes. Raises any error of the compiler."""
        kernel, types = self.kernel, self.types
        signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
        aligned = [i for i, name in enumerate(kernel.arg_names) if signature[name][0] == "*" or name.endswith("stride")]
        aligned = [i for i in aligned if signature[kernel.arg_names[i]] != "constexpr"]
        source = ASTSource(
            kernel,
            signature=signature,
            constexprs=self.constants,
            attrs={(i,): [["tt.divisibility", 16]] for i in aligned},
        )
        compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=self.options)
        return compiled.metadata.shared, stack_bytes(compiled.asm["cubin"])


def stack_bytes(cubin: bytes) -> int:
    """Of the compiled program; 0 where triton brings no tool to read it."""
    if not CUOBJDUMP.exists():
        return 0
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(CUOBJDUMP), "--dump-resource-usage", file.name]
        usage = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return max(int(size) for size in re.findall(r"STACK:(\d+)", usage))


def attention(
    dtype: torch.dtype,
    group: int,
    dims: tuple[int, int],
    *,
    decode_only: bool,
    special: bool = False,
    is_int8: bool = False,
) -> Job:
    types = {"query": TYPES[dtype]} | dict.fromkeys(("keys", "values"), "*i8" if is_int8 else TYPES[dtype])
    types |= dict.fromkeys(("key_factors", "value_factors"), "*bf16" if is_int8 else TYPES[dtype])
    types |= {"parts": "*fp32", "sums": "*fp32", "rows": "*i64", "tiles": "*i64", "tables": "*i64"}
    types |= {name: "i32" for name in kernels.attend.arg_names if name.endswith("_stride")}
    types |= {"scale": "fp32", "soft_cap": "fp32", "window": "i32", "heads": "i32", "splits": "i32"}
    options = shape_options(group, DECODE_TILE_TOKENS if decode_only else PREFILL_TILE_TOKENS, *dims, dtype)
    compiling = {name: options.pop(name) for name in ("num_warps", "num_stages")}
    constants = {**options, "PAGE": 16, "HAS_SOFT_CAP": special, "HAS_WINDOW": special, "IS_INT8": is_int8}
    return Job(kernels.attend, types, constants, compiling)


def merging(dtype: torch.dtype, *, has_sinks: bool) -> Job:
    types = {"parts": "*fp32", "sums": "*fp32", "output": TYPES[dtype], "sinks": TYPES[dtype], "heads": "i32"}
    constants = {"HAS_SINKS": has_sinks, "MOST_SPLITS": 32, "VALUE_DIM": 128, "VALUE_PAD": 128}
    return Job(kernels.merge, types | {"splits": "i32"}, constants, {"num_warps": 4})


def block_parts(dtype: torch.dtype) -> Iterator[Job]:
    """The kernels of `potluck.blocks.block_kernels`, as a block of Llama 8B has them compiled, in two forms each."""
    kind = TYPES[dtype]
    types = dict.fromkeys(("hidden", "added", "weight", "total", "output", "gate", "up", "query", "keys"), kind)
    types |= {"cosines": kind, "sines": kind, "epsilon": "fp32", "width": "i32", "query_heads": "i32"}
    names = (*kernels.rotate.arg_names, *kernels.activate_times.arg_names)
    types |= {name: "i32" for name in names if name.endswith("_stride")}
    for flag in (True, False):
        norm = {"HAS_ADDED": flag, "ROUNDS_FIRST": flag, "PLUS_ONE": not flag, "PAD": 4096}
        yield Job(kernels.add_and_norm, types, norm, {"num_warps": 8})
        rotation = {"HEAD_DIM": 128, "HALF": 64, "PAD": 64, "IS_INTERLEAVED": flag}
        yield Job(kernels.rotate, types, rotation, {"num_warps": 2})
        yield Job(kernels.activate_times, types, {"BLOCK": 1024, "IS_GELU": flag}, {"num_warps": 4})


def experts(dtype: torch.dtype, form: int, *, tile: int, is_transposed: bool = False, is_packed: bool = False) -> Job:
    """The product of `potluck.blocks.grouped` for 128 experts; `is_packed`: with a checkpoint's own codes."""
    kind = TYPES[dtype]
    held = {0: kind, 1: "*i8", 2: "*u8"}[form]
    types = dict.fromkeys(("x", "scales", "bias", "weights", "output"), kind) | {"held": held}
    types |= {"order": "*i64", "ends": "*i64"} | ({"scales": "*fp32"} if is_packed else {})
    types |= dict.fromkeys(("x_stride", "expert_stride", "row_stride", "column_stride"), "i32")
    types |= dict.fromkeys(("share", "num_experts", "inner", "outer"), "i32")
    constants = {
        "FORM": form,
        "TOGETHER": 64,
        "GROUP": 32,
        "SHARED": 128 if is_packed else 32,
        "IS_TRANSPOSED": is_transposed,
        "EXPERTS_PAD": 128,
    }
    constants |= {"HAS_BIAS": is_transposed, "HAS_WEIGHTS": is_transposed, "TILE": tile, "COLUMNS": 64}
    return Job(kernels.grouped_product, types, constants, {"num_warps": 4})


def all_jobs(common: torch.dtype = torch.bfloat16) -> Iterator[Job]:
    """Yield every kernel in the forms that blocks in the `common` dtype need, and some in others."""
    half, whole = torch.float16, torch.float32
    for dtype in (common, whole):
        yield from block_parts(dtype)
    for decode_only in (True, False):
        yield attention(common, 4, (128, 128), decode_only=decode_only)
        yield attention(half, 7, (64, 64), decode_only=decode_only)
        yield attention(common, 2, (256, 256), decode_only=decode_only, special=True)
        yield attention(common, 4, (128, 128), decode_only=decode_only, is_int8=True)
    yield attention(common, 1, (192, 128), decode_only=False)
    yield attention(whole, 4, (128, 128), decode_only=False)
    yield merging(common, has_sinks=False)
    yield merging(whole, has_sinks=True)
    for form in (0, 1, 2):
        yield experts(common, form, tile=16)
        yield experts(common, form, tile=64, is_transposed=True)
    yield experts(common, 2, tile=16, is_packed=True)
