# mypy: disable-error-code="no-untyped-call"
"""Every Triton kernel in many shapes without a GPU: `kernel_matrix`.

The interpreter computes shapes that models have and compares them with torch. The compiler makes what real models
launch (see `recorded_kernels`), in soak for five generations of cards by each version of Triton, else for one card by
each. Neither says how fast a kernel is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks.figures import Measured, figure
from benchmarks.kernels.interpreted import VERSIONS, run
from potluck.blocks.formats.layers import QuantizedExperts, QuantizedLinear
from potluck.blocks.formats.matrices import Int4Matrix, Int8Matrix

_CAPABILITIES = (80, 86, 89, 90, 120)
_QUICK = ((90, VERSIONS[0]), (89, VERSIONS[1]))
_PROCESSES = 2
_SHAPES = ((64, 8, 2), (80, 4, 4), (96, 7, 1), (128, 8, 2), (192, 2, 2), (256, 7, 1))
"""Size of a head, heads of queries, heads of keys."""
_KINDS = ("plain", "window", "cap", "sinks", "window, cap", "window, sinks")
_TOLERANCE = {torch.float32: 2e-5, torch.float16: 2e-3}
"""Of the error's norm over the right numbers' norm. Rounding to float16 alone costs 3e-4."""


@figure("kernel_matrix", unit="failures", reach=0, shown=True)
def matrix(soak: bool) -> Measured:
    """Triton kernels that compute wrong results in the interpreter, and kernels of 11 models that cannot be compiled
    for cards.

    In the interpreter: attention with heads of 64 to 256, grouped, with windows, caps and sinks; norms, rotations,
    codes of keys and values, int8, int4, experts; float32 and float16. Compiled: what steps of the models in their
    true sizes launch (bfloat16, int8, int4 and GPTQ's codes; keys and values in int8), for sm_90 by Triton 3.6 and
    sm_89 by 3.7, in soak sm_80, 86, 89, 90 and 120 by both. A kernel fails, too, if it needs more than 99 KB of
    shared memory, accesses memory with an alignment that no launch promises or reads a register that nothing wrote.
    """
    cards = list(product(_CAPABILITIES, VERSIONS)) if soak else _QUICK
    with ThreadPoolExecutor(_PROCESSES) as pool:
        computing = pool.submit(run, "kernels.matrix:compute")
        compiling = {
            f"sm_{capability}, Triton {version}": pool.submit(
                run, "kernels.recorded:compile_for", capability, version=version, interprets=False
            )
            for capability, version in cards
        }
    compiled = {name: future.result() for name, future in compiling.items()}
    computed = computing.result()
    failures = sum(len(found["failures"]) for found in compiled.values())
    return Measured(len(computed["wrong"]) + failures, {"computed": computed, **compiled})


@figure("int4_loads", unit="share", reach=1, better="higher")
def int4_loads(soak: bool) -> Measured:
    """Of the bytes of weights that the compiled int4 product loads: those loaded in the background, 16 at a time; the
    worst kernel.

    Llama 3.1 8B's matrices; 1, 4 and 16 rows; sm_90 by Triton 3.6 and sm_89 by 3.7.
    """
    found = {
        f"sm_{capability}, Triton {version}": run(
            "kernels.loads:compile_for", capability, version=version, interprets=False
        )
        for capability, version in _QUICK
    }
    return Measured(min(product["share"] for products in found.values() for product in products.values()), found)


@torch.inference_mode()
def compute() -> dict[str, Any]:
    """Run each case in the interpreter; return how many there are, and those with wrong numbers or an error."""
    wrong, worst, count = {}, dict.fromkeys(map(str, _TOLERANCE), 0.0), 0
    for dtype in _TOLERANCE:
        for name, compare in _cases(dtype):
            count += 1
            torch.manual_seed(0)
            try:
                found, wanted = compare()
                error = float((found.double() - wanted.double()).norm() / wanted.double().norm())
            except Exception as failure:  # Errors of any kind are what is counted.
                wrong[f"{name}, {dtype}"] = f"{type(failure).__name__}: {failure}"[:200]
                continue
            worst[str(dtype)] = max(worst[str(dtype)], error)
            if not error <= _TOLERANCE[dtype]:  # also if it is no number
                wrong[f"{name}, {dtype}"] = f"{error:.1e}"
    return {"cases": count, "worst": worst, "wrong": wrong}


Compare = Callable[[], tuple[Tensor, Tensor]]


def _cases(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    """Yield what each case computes, and a function that returns what was found and what is right."""
    import_module("gpu.conftest").interpret_bfloat16(pytest.MonkeyPatch())
    for shape, kind, held in product(_SHAPES, _KINDS, ("numbers", "int8")):
        yield f"attention {shape} in {held}, {kind}", partial(_attention, dtype, shape, kind, held == "int8")
    kinds = ("llama.LlamaRMSNorm", "gemma.GemmaRMSNorm", "olmo2.Olmo2RMSNorm")
    for kind, width, is_added in product(kinds, (64, 2048, 2880), (False, True)):
        yield f"{kind} of {width}{' after a sum' if is_added else ''}", partial(_norm, dtype, kind, width, is_added)
    for dim, *_ in _SHAPES:
        for family in ("llama", "glm4", "qwen3"):
            yield f"rotation of heads of {dim} as in {family}", partial(_rotation, dtype, dim, family)
        yield f"codes of heads of {dim}", partial(_keeping, dtype, dim)
    for form, rows, tokens in product(("int8", "int4"), (100, 256), (1, 3, 20)):
        yield f"{tokens} tokens by {form} of {rows} rows", partial(_dense, dtype, form, rows, tokens)
    for form, is_transposed, choices in product(("numbers", "int8", "int4"), (False, True), (2, 30)):
        name = f"{choices} choices of experts in {form}{', transposed' if is_transposed else ''}"
        yield name, partial(_experts, dtype, form, is_transposed, choices)


def _attention(dtype: torch.dtype, shape: tuple[int, int, int], kind: str, is_int8: bool) -> tuple[Tensor, Tensor]:
    dim, heads, kv_heads = shape
    tests, arenas = import_module("gpu.test_gpu_kernels"), import_module("potluck.blocks.cache.arenas")
    form = tests.Kind(dim**-0.5, 20 if "window" in kind else None, 3.0 if "cap" in kind else None)
    rows = tests.rows_of([1, 5], [70, 40], form.window)  # one decodes, one prefills
    query = torch.randn(6, heads, dim).to(dtype)
    keys, values = (torch.randn(kv_heads, tests.CAPACITY, dim).to(dtype) for _ in range(2))
    sinks = torch.randn(heads) if "sinks" in kind else None
    held = arenas.encoded(keys, values) if is_int8 else (keys, values)
    keys, values = arenas.decoded(held, torch.float64)  # what counts are the numbers that codes stand for
    options = {"scale": form.scale, "soft_cap": form.soft_cap, "sinks": sinks}
    found = tests.paged_attention(query, held, tests.paged(rows, form.window), **options)
    return found, tests.reference(query, keys, values, rows, form, sinks)


def _norm(dtype: torch.dtype, kind: str, width: int, is_added: bool) -> tuple[Tensor, Tensor]:
    family, _, name = kind.partition(".")
    norm = getattr(import_module(f"transformers.models.{family}.modeling_{family}"), name)(width).to(dtype)
    norm.weight.copy_(torch.randn(width))
    hidden, added = (torch.randn(1, 3, width).to(dtype) for _ in range(2))
    operations = import_module("potluck.blocks.kernels.block_operations")
    total, found = operations.add_and_norm(hidden, added if is_added else None, norm)
    wanted = hidden + added if is_added else hidden
    return torch.cat((total, found)), torch.cat((wanted, norm(wanted)))


def _rotation(dtype: torch.dtype, dim: int, family: str) -> tuple[Tensor, Tensor]:
    home = import_module(f"transformers.models.{family}.modeling_{family}")
    query, key, value = torch.randn(3, 9, dim).to(dtype).split((4, 2, 3), dim=1)
    value = value[:, 1:]  # The place is odd if heads are odd.
    angles = torch.randn(3, dim // 2).repeat(1, 2)
    cosines, sines = angles.cos().to(dtype), angles.sin().to(dtype)
    norms = [home.Qwen3RMSNorm(dim).to(dtype) for _ in range(2)] if family == "qwen3" else None
    for norm in norms or ():
        norm.weight.copy_(torch.randn(dim))
    operations = import_module("potluck.blocks.kernels.block_operations")
    form = {"tables": (cosines, sines), "rotated": dim, "is_interleaved": family == "glm4", "norms": norms}
    slots = torch.tensor([5, 17, 38])
    held = tuple(torch.zeros(2, 48, dim, dtype=dtype) for _ in range(2))
    turned = operations.rotate_and_keep(query, key, value, held, slots, **form)
    if norms:
        query, key = (norm(part) for norm, part in zip(norms, (query, key), strict=True))
    wanted = home.apply_rotary_pos_emb(
        query.transpose(0, 1)[None], key.transpose(0, 1)[None], cosines[None], sines[None]
    )
    found = (turned.transpose(0, 1), *(part[:, slots] for part in held))
    return torch.cat(found), torch.cat((wanted[0][0], wanted[1][0], value.transpose(0, 1)))


def _keeping(dtype: torch.dtype, dim: int) -> tuple[Tensor, Tensor]:
    operations, arenas = (
        import_module("potluck.blocks.kernels.block_operations"),
        import_module("potluck.blocks.cache.arenas"),
    )
    key, value = torch.randn(3, 4, dim).to(dtype).split(2, dim=1)
    held = arenas.encoded(torch.zeros(2, 48, dim), torch.zeros(2, 48, dim))
    slots = torch.tensor([5, 17, 38])
    operations.rotate_and_keep(key[:, :0], key, value, held, slots)
    wanted = arenas.encoded(key.transpose(0, 1), value.transpose(0, 1))
    found = tuple(part[:, slots] for part in held)
    return torch.cat([part.flatten().float() for part in found]), torch.cat([part.flatten().float() for part in wanted])


def _dense(dtype: torch.dtype, form: str, rows: int, tokens: int) -> tuple[Tensor, Tensor]:
    weight, x = torch.randn(rows, 96).to(dtype), torch.randn(1, tokens, 96).to(dtype)
    matrix = Int8Matrix(weight) if form == "int8" else Int4Matrix(weight)
    (found,) = import_module("potluck.blocks.kernels.products").multiply(x, [QuantizedLinear(matrix, None)])
    return found, nn.functional.linear(x.float(), matrix.rows(0, rows).float())


def _experts(dtype: torch.dtype, form: str, is_transposed: bool, choices: int) -> tuple[Tensor, Tensor]:
    grouped, whole = import_module("potluck.blocks.kernels.products"), torch.randn(5, 128, 96).to(dtype)
    held: Any = whole
    if form != "numbers":
        flat = whole.view(-1, 96)
        held = QuantizedExperts(Int8Matrix(flat) if form == "int8" else Int4Matrix(flat), 128)
    chosen = torch.randint(4, (choices,))  # nobody chooses the last
    x = torch.randn(choices, 128 if is_transposed else 96).to(dtype)
    by_expert = grouped.held_as(held, is_transposed=is_transposed)
    grouping = import_module("potluck.blocks.kernels.experts").group_by_expert(chosen, 5, grouped.tile_of(choices, 5))
    found = grouped.product(x, [by_expert], grouping)
    matrices = [held[expert].float() for expert in range(5)]
    matrices = matrices if is_transposed else [matrix.T for matrix in matrices]
    return found, torch.stack([token.float() @ matrices[e] for token, e in zip(x, chosen.tolist(), strict=True)])
