"""How the compiled int4 product loads its weights, without a GPU: `int4_loads`.

A GPU keeps its memory busy while it computes only if loads go on in the background, and 16 bytes at a time take the
fewest instructions. Triton decides about that from types, tiles and layouts, so it is read from the PTX. That says
nothing about the speed on a card.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import torch
from triton import knobs

from benchmarks.kernels.ptx import instructions, writes_of
from benchmarks.kernels.recorded import read_program, take_for_card, usage_of
from potluck.blocks.formats.layers import QuantizedLinear
from potluck.blocks.formats.matrices import Int4Matrix
from potluck.blocks.kernels.products import multiply

_SHAPES = ((4096, (4096, 1024, 1024)), (4096, (4096,)), (4096, (14336, 14336)), (14336, (4096,)))
"""Columns, and rows of matrices that are multiplied at once, of Llama 3.1 8B."""
_TOKENS = (1, 4, 16)
_WARP = 32
_WIDE_BYTES = 16
_SIZE = re.compile(r"(?:\.v(\d))?\.[bfsu](\d+)$")
_WEIGHTS = ("held", "scales")  # found in the names of the kernel's arguments


def compile_for(capability: int) -> dict[str, Any]:
    """Return each kernel that these products launch -> how it loads weights, and what it needs."""
    found: dict[str, tuple[Any, str]] = {}

    def note(*, fn: Any, compile: Any, **others: Any) -> bool:
        found.setdefault(compile["specialization_data"], (fn.jit_function, name))
        return True  # Triton neither compiles nor launches it

    take_for_card(capability, note)
    for columns, rows in _SHAPES:
        weights = [torch.empty((count, columns), dtype=torch.bfloat16, device="meta") for count in rows]
        linears = [QuantizedLinear(Int4Matrix(weight), None) for weight in weights]
        for linear in linears:
            linear.to_empty(device="cpu")
        for tokens in _TOKENS:
            name = f"{tokens} by {columns} to {'+'.join(map(str, rows))}"
            multiply(torch.zeros((tokens, columns), dtype=torch.bfloat16), linears)
    knobs.runtime.jit_cache_hook = None
    return {name: _described(kernel, kernel.preload(variant)) for variant, (kernel, name) in found.items()}


def _described(kernel: Any, compiled: Any) -> dict[str, Any]:
    loads = _weight_loads(compiled)
    total = sum(nbytes * count for (_, nbytes), count in loads.items())
    constants = {kernel.arg_names[place]: value for (place,), value in compiled.src.constants.items()}
    codes = constants["DEPTH"] * constants["COLUMNS"] // (compiled.metadata.num_warps * _WARP)
    return {
        "share": _WIDE_BYTES * loads[True, _WIDE_BYTES] / total,
        "loads": {f"{'async' if is_async else 'waiting'} {nbytes}": n for (is_async, nbytes), n in loads.items()},
        "instructions_a_code": round(_loop_length(compiled) / codes, 1),
        "registers": usage_of(compiled, "REG"),
        "spilled_bytes": usage_of(compiled, "STACK"),
        "shared_bytes": compiled.metadata.shared,
    }


def _weight_loads(compiled: Any) -> Counter[tuple[bool, int]]:
    """Return how many loads of weights there are in the code: whether in the background, and of how many bytes."""
    code = instructions(compiled.asm["ptx"])
    writes = writes_of(code)
    kinds = [name for name, kind in compiled.src.signature.items() if kind != "constexpr"]
    weights = {place for place, name in enumerate(kinds) if any(part in name for part in _WEIGHTS)}

    def is_weight(operand: str) -> bool:
        names = set(re.findall(r"%?\w+", operand))
        return bool(names & held) or any(int(place) in weights for place in re.findall(r"_param_(\d+)", operand))

    held: set[str] = set()  # registers with addresses of weights
    before = -1
    while before != len(held):
        before = len(held)
        for register, made in writes.items():
            for operation, operands in made:
                if not operation.startswith("ld.") or ".param" in operation:
                    held |= {register} if any(map(is_weight, operands)) else set()
    found: Counter[tuple[bool, int]] = Counter()
    for operation, operands in code:
        if operation.startswith("cp.async.c") and is_weight(operands[1]):
            found[True, int(operands[2], 0)] += 1
        elif operation.startswith("ld.global") and is_weight(operands[1]):
            size = _SIZE.search(operation)
            assert size is not None
            found[False, int(size[1] or 1) * int(size[2]) // 8] += 1
    return found


def _loop_length(compiled: Any) -> int:
    """Return the instructions of the longest loop of the machine code."""
    places, jumps, count = {}, [], 0
    for line in read_program(compiled, knobs.nvidia.nvdisasm.path, "-c").splitlines():
        if label := re.match(r"\.(L_x_\d+):", line):
            places[label[1]] = count
        elif re.search(r"\*/\s+(?:@!?\w+ )?[A-Z]\w*", line):
            count += 1
            if jump := re.search(r"\bBRA\b.*\b(L_x_\d+)", line):
                jumps.append((count, jump[1]))
    return max(end - places[label] for end, label in jumps if places.get(label, count) < end)
