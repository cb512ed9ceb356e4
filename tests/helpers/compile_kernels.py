"""Compiles every kernel for sm_90, as a GPU would have it compiled, and refuses spills and too much shared memory.

A program of its own, since kernels are defined differently under triton's interpreter.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

sys.path.insert(0, str(Path(__file__).parents[2]))

from potluck.blocks import kernels
from potluck.blocks.paged_attention import shape_options
from potluck.blocks.step_tensors import DECODE_TILE_TOKENS, PREFILL_TILE_TOKENS

TARGET = GPUTarget("cuda", 90, 32)
SHARED_BYTES = 99 << 10
MOST_STACK_BYTES = 64  # a few registers, which float32 spills
TYPES = {torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.float32: "*fp32"}
CUOBJDUMP = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"


def compile_one(kernel: Any, types: dict[str, str], constants: dict[str, Any], **options: int) -> None:
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    aligned = [i for i, name in enumerate(kernel.arg_names) if signature[name][0] == "*" or name.endswith("_stride")]
    source = ASTSource(
        kernel, signature=signature, constexprs=constants, attrs={(i,): [["tt.divisibility", 16]] for i in aligned}
    )
    compiled = triton.compile(source, target=TARGET, options=options)
    stack = stack_bytes(compiled.asm["cubin"])
    print(kernel.__name__, constants, f"shared {compiled.metadata.shared} stack {stack}")
    assert compiled.metadata.shared <= SHARED_BYTES, "too much shared memory"
    assert stack <= MOST_STACK_BYTES, "registers are spilled"


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


def compile_attention(
    dtype: torch.dtype, group: int, dims: tuple[int, int], *, decode_only: bool, special: bool = False
) -> None:
    pointers = dict.fromkeys(("query", "keys", "values"), TYPES[dtype])
    types = pointers | {"parts": "*fp32", "sums": "*fp32", "rows": "*i64", "tiles": "*i64", "tables": "*i64"}
    types |= {name: "i32" for name in kernels.attend.arg_names if name.endswith("_stride")}
    types |= {"key_head_stride": "i64", "value_head_stride": "i64"}
    types |= {"scale": "fp32", "soft_cap": "fp32", "window": "i32", "heads": "i32", "splits": "i32"}
    options = shape_options(group, DECODE_TILE_TOKENS if decode_only else PREFILL_TILE_TOKENS, *dims, dtype)
    compiling = {name: options.pop(name) for name in ("num_warps", "num_stages")}
    constants = {**options, "PAGE": 16, "HAS_SOFT_CAP": special, "HAS_WINDOW": special}
    compile_one(kernels.attend, types, constants, **compiling)


def compile_merge(dtype: torch.dtype, *, has_sinks: bool) -> None:
    types = {"parts": "*fp32", "sums": "*fp32", "output": TYPES[dtype], "sinks": TYPES[dtype], "heads": "i32"}
    types |= {"splits": "i32"}
    constants = {"HAS_SINKS": has_sinks, "MOST_SPLITS": 32, "VALUE_DIM": 128, "VALUE_PAD": 128}
    compile_one(kernels.merge, types, constants, num_warps=4)


def compile_block(dtype: torch.dtype) -> None:
    """The kernels of `potluck.blocks.fused`, as a block of Llama 8B has them compiled."""
    kind = TYPES[dtype]
    types = dict.fromkeys(("hidden", "added", "weight", "total", "output", "gate", "up", "query", "keys"), kind)
    types |= {"cosines": kind, "sines": kind, "epsilon": "fp32", "width": "i32", "query_heads": "i32"}
    names = (*kernels.rotate.arg_names, *kernels.activate_times.arg_names)
    types |= {name: "i32" for name in names if name.endswith("_stride")}
    for has_added in (True, False):
        forms = {"ROUNDS_FIRST": has_added, "PLUS_ONE": not has_added}
        compile_one(kernels.add_and_norm, types, {"HAS_ADDED": has_added, "PAD": 4096, **forms}, num_warps=8)
    for is_other in (True, False):
        rotation = {"HEAD_DIM": 128, "HALF": 64, "PAD": 64, "IS_INTERLEAVED": is_other}
        compile_one(kernels.rotate, types, rotation, num_warps=2)
        compile_one(kernels.activate_times, types, {"BLOCK": 1024, "IS_GELU": is_other}, num_warps=4)


def main() -> None:
    compile_block(torch.bfloat16)
    compile_block(torch.float32)
    for decode_only in (True, False):
        compile_attention(torch.bfloat16, 4, (128, 128), decode_only=decode_only)
        compile_attention(torch.float16, 7, (64, 64), decode_only=decode_only)
        compile_attention(torch.bfloat16, 2, (256, 256), decode_only=decode_only, special=True)
    compile_attention(torch.bfloat16, 1, (192, 128), decode_only=False)
    compile_attention(torch.float32, 4, (128, 128), decode_only=False)
    compile_merge(torch.bfloat16, has_sinks=False)
    compile_merge(torch.float32, has_sinks=True)


if __name__ == "__main__":
    main()
