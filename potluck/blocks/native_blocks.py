"""Computes what a block computes besides products with matrices (`fused.BlockOperations`), on a CPU, in C.

It takes bfloat16, and a few tokens: for more, calling operations one by one costs next to nothing. What C has no code
for, torch computes. `native_kernels` must have been found.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from potluck.blocks.fused import norm_form
from potluck.blocks.native_kernels import native_kernels
from potluck.blocks.native_library import NativeKernels

MOST_TOKENS = 16
"""For more tokens, blocks run their own code."""


def add_and_norm(hidden: Tensor, added: Tensor | None, norm: Any) -> tuple[Tensor, Tensor]:
    weight: Tensor = norm.weight
    if weight.dtype is not torch.bfloat16:
        total = hidden if added is None else hidden + added
        return total, norm(total)
    form = norm_form(norm)
    epsilon = norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps
    return _kernels().add_and_norm(
        hidden, added, weight, epsilon, rounds_first=form.rounds_first, plus_one=form.plus_one
    )


def rotate(
    query: Tensor, key: Tensor, cosines: Tensor, sines: Tensor, rotated: int, *, is_interleaved: bool = False
) -> None:
    if cosines.dtype not in (torch.bfloat16, torch.float32):
        raise TypeError(f"rotary tables are in {cosines.dtype}")
    _kernels().rotate(query, key, cosines, sines, rotated // 2, is_interleaved=is_interleaved)


def activate_times(gate: Tensor, up: Tensor, *, is_gelu: bool = False) -> Tensor:
    if is_gelu:
        return functional.gelu(gate, approximate="tanh").mul_(up)
    return _kernels().silu_times(gate, up)


def project(hidden: Tensor, *linears: Any) -> tuple[Tensor, ...]:
    return tuple(linear(hidden) for linear in linears)


def _kernels() -> NativeKernels:
    found = native_kernels()
    assert found is not None
    return found
