"""Reads from a kernel's PTX how each access of global memory is aligned for certain.

A GPU ends a process' context at an access of N bytes that is no multiple of N. Triton decides how many bytes a thread
accesses at a time, and decides wrongly for rows at odd places: 3.6 and 3.7 load 16 bytes of rows of 130 bytes. The
interpreter cannot show that.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_LINE = re.compile(r"^\s*(?:@!?%\w+\s+)?([a-z][\w.:]*)\s+([^;]*);", re.MULTILINE)
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*")
_SIZE = re.compile(r"(?:\.v(\d))?\.[bfsu](\d+)$")
_STORES, _LOADS = (re.compile(rf"{kind}\.shared\.(?:v\d\.)?[bsu]64$") for kind in ("st", "ld"))
_ALL = 64  # bits of a zero


class Access(NamedTuple):
    """Bytes that a thread loads or stores at once, and the largest power of two that surely divides their address."""

    is_load: bool
    nbytes: int
    alignment: int


Instruction = tuple[str, list[str]]
"""An operation, and its operands, of which the first is what it writes, if it writes a register."""


def instructions(ptx: str) -> list[Instruction]:
    """Return the instructions of a program, without their predicates."""
    return [(operation, _OPERAND.findall(rest)) for operation, rest in _LINE.findall(ptx)]


def writes_of(code: Sequence[Instruction]) -> dict[str, list[Instruction]]:
    """Return each register -> the operations that write it, each with what it reads."""
    writes: dict[str, list[Instruction]] = defaultdict(list)
    stored = [number for operation, (_, *rest) in code if _STORES.match(operation) for number in rest]
    shared = [("mov", [register]) for number in stored for register in re.findall(r"%\w+", number)]
    for operation, (target, *operands) in code:
        for register in re.findall(r"%\w+", target) if target[0] in "%{" else ():
            # Threads exchange addresses in shared memory: one read there is one of those that were written.
            writes[register] += shared if _LOADS.match(operation) and shared else [(operation, operands)]
    return writes


def accesses(ptx: str, zeros_of_arguments: Sequence[int]) -> list[Access]:
    """Return the accesses of global memory of a program.

    Args:
        zeros_of_arguments: how many of the lowest bits of each of the kernel's arguments are zeros at every launch.
    """
    code = instructions(ptx)
    writes = writes_of(code)
    zeros = dict.fromkeys(writes, _ALL)  # upper bounds, which fall until each agrees with the others
    for argument, place in re.findall(r"(\w+_param_(\d+))", ptx):
        zeros[argument] = zeros_of_arguments[int(place)] if int(place) < len(zeros_of_arguments) else 0

    def zeros_of(operand: str) -> int:
        if operand[0] == "[":
            return min(map(zeros_of, re.findall(r"[^\[\]+\s]+", operand)))
        return zeros[operand] if operand in zeros else _zeros_of_number(operand)

    before: dict[str, int] = {}
    while before != zeros:
        before = dict(zeros)
        for register, made in writes.items():
            zeros[register] = min(_zeros_of_result(name, parts, [*map(zeros_of, parts)]) for name, parts in made)
    found = []
    for operation, operands in code:
        if operation.startswith("cp.async.c"):
            found.append(Access(True, int(operands[2], 0), 1 << zeros_of(operands[1])))
        elif ".global" in operation and (size := _SIZE.search(operation)) is not None:
            (address,) = (operand for operand in operands if operand[0] == "[")
            nbytes = int(size[1] or 1) * int(size[2]) // 8
            found.append(Access(operation.startswith("ld"), nbytes, 1 << zeros_of(address)))
    return found


def _zeros_of_number(text: str) -> int:
    number = int(text, 0) if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text) else 1
    return (number & -number).bit_length() - 1 if number else _ALL


def _zeros_of_result(operation: str, operands: Sequence[str], zeros: Sequence[int]) -> int:
    """Return how many of the lowest bits of what an operation writes are surely zeros: 0 where nothing is known."""
    match operation.partition(".")[0], operands:
        case "mov" | "cvt", [_]:
            return zeros[0]
        case "ld", _ if ".param" in operation:
            return zeros[0]
        case "add" | "sub" | "or" | "min" | "max", _:
            return min(zeros)
        case "selp", _:
            return min(zeros[:2])
        case "and", _:
            return max(zeros)
        case "mul", _ if ".hi" not in operation:
            return sum(zeros)
        case "mad", _ if ".hi" not in operation:
            return min(zeros[0] + zeros[1], zeros[2])
        case "shl", [_, distance] if distance[0] != "%":
            return zeros[0] + int(distance, 0)
        case "shr", [_, distance] if distance[0] != "%":
            return max(zeros[0] - int(distance, 0), 0)
    return 0
