# mypy: disable-error-code="no-untyped-call"
"""Every Triton kernel in many shapes without a GPU: `kernel_matrix`.

The interpreter computes shapes that models have and compares them with torch. The compiler makes programs for five
generations of cards. Neither says anything about speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.figures import Measured
from benchmarks.interpreted import run

CAPABILITIES = (75, 86, 89, 90, 120)
_TURING = 75  # has no bfloat16
_SHAPES = ((64, 8, 2), (80, 4, 4), (96, 7, 1), (128, 8, 2), (192, 2, 2), (256, 7, 1))
"""Size of a head, heads of queries, heads of keys."""
_TOLERANCE = {torch.float32: 2e-5, torch.float16: 2e-3}
"""Of the error's norm over the right numbers' norm. Rounding to float16 alone costs 3e-4."""


def matrix(soak: bool) -> Measured:
    computed = run("kernel_matrix:compute")
    compiled = {name: run("kernel_matrix:compile_for", name, interprets=False) for name in CAPABILITIES}
    failures = sum(len(found["failures"]) for found in compiled.values())
    return Measured(
        len(computed["wrong"]) + failures, {"computed": computed, **{f"sm_{name}": compiled[name] for name in compiled}}
    )


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
            except Exception as failure:  # of any kind: it is what is counted
                wrong[f"{name}, {dtype}"] = f"{type(failure).__name__}: {failure}"[:200]
                continue
            worst[str(dtype)] = max(worst[str(dtype)], error)
            if not error <= _TOLERANCE[dtype]:  # also if it is no number
                wrong[f"{name}, {dtype}"] = f"{error:.1e}"
    return {"cases": count, "worst": worst, "wrong": wrong}


def compile_for(capability: int) -> dict[str, Any]:
    """Compile each kernel for one generation of cards."""
    kernels = import_module("benchmarks.compile_kernels")
    half = torch.float16 if capability == _TURING else torch.bfloat16
    limit = kernels.SHARED_BYTES.get(capability, kernels.LEAST_SHARED_BYTES)
    failures, spilled, count = {}, {}, 0
    for job in kernels.all_jobs(half):
        count += 1
        try:
            shared, stack = job.compile(capability)
        except Exception as failure:  # of any kind: it is what is counted
            failures[str(job)] = f"{type(failure).__name__}: {failure}"[:200]
            continue
        if shared > limit:
            failures[str(job)] = f"{shared} bytes of shared memory"
        if stack:
            spilled[str(job)] = stack
    return {"kernels": count, "failures": failures, "spilled_bytes": sum(spilled.values()), "spilled": spilled}


Compare = Callable[[], tuple[Tensor, Tensor]]


def _cases(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    yield from _attention(dtype)
    yield from _norms(dtype)
    yield from _rotations(dtype)
    yield from _matrices(dtype)


def _attention(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    tests = import_module("gpu.test_gpu_kernels")
    arenas = import_module("potluck.blocks.arenas")
    kinds = {
        "plain": ({}, False),
        "window": ({"window": 20}, False),
        "cap": ({"soft_cap": 3.0}, False),
        "sinks": ({}, True),
        "window, cap": ({"window": 20, "soft_cap": 3.0}, False),
        "window, sinks": ({"window": 20}, True),
    }
    for (dim, heads, kv_heads), (name, (kind, sinks)), held in product(_SHAPES, kinds.items(), ("numbers", "int8")):

        def compare(
            dim: int = dim,
            heads: int = heads,
            kv_heads: int = kv_heads,
            kind: Any = kind,
            sinks: bool = sinks,
            held: str = held,
        ) -> tuple[Tensor, Tensor]:
            form = tests.Kind(dim**-0.5, **kind)
            rows = tests.rows_of([1, 5], [70, 40], form.window)  # one decodes, one prefills
            query = torch.randn(6, heads, dim).to(dtype)
            keys, values = (torch.randn(kv_heads, tests.CAPACITY, dim).to(dtype) for _ in range(2))
            own = torch.randn(heads) if sinks else None
            kept = arenas.encoded(keys, values) if held == "int8" else (keys, values)
            keys, values = arenas.decoded(kept, torch.float64)  # what counts are the numbers that codes stand for
            pages, options = tests.paged(rows, form.window), {"scale": form.scale, "soft_cap": form.soft_cap}
            found = tests.paged_attention(query, kept, pages, sinks=own, **options)
            return found, tests.reference(query, keys, values, rows, form, own)

        yield f"attention of {heads} heads over {kv_heads} of size {dim} in {held}, {name}", compare


def _norms(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    operations = import_module("potluck.blocks.block_kernels")
    kinds = ("llama.LlamaRMSNorm", "gemma.GemmaRMSNorm", "olmo2.Olmo2RMSNorm")
    for kind, width, is_added in product(kinds, (64, 2048, 2880), (False, True)):

        def compare(kind: str = kind, width: int = width, is_added: bool = is_added) -> tuple[Tensor, Tensor]:
            family, _, name = kind.partition(".")
            norm = getattr(import_module(f"transformers.models.{family}.modeling_{family}"), name)(width).to(dtype)
            norm.weight.copy_(torch.randn(width))
            hidden, added = (torch.randn(1, 3, width).to(dtype) for _ in range(2))
            total, found = operations.add_and_norm(hidden, added if is_added else None, norm)
            wanted = hidden + added if is_added else hidden
            return torch.cat((total, found)), torch.cat((wanted, norm(wanted)))

        yield f"{kind} of {width}{' after a sum' if is_added else ''}", compare


def _rotations(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    operations = import_module("potluck.blocks.block_kernels")
    for (dim, *_), family in product(_SHAPES, ("llama", "glm4")):

        def compare(dim: int = dim, family: str = family) -> tuple[Tensor, Tensor]:
            own = import_module(f"transformers.models.{family}.modeling_{family}").apply_rotary_pos_emb
            query, key = torch.randn(3, 4, dim).to(dtype), torch.randn(3, 2, dim).to(dtype)
            angles = torch.randn(3, dim // 2).repeat(1, 2)
            cosines, sines = angles.cos().to(dtype), angles.sin().to(dtype)
            by_head = [part.transpose(0, 1)[None].clone() for part in (query, key)]
            wanted = torch.cat(own(*by_head, cosines[None], sines[None]), dim=1)
            operations.rotate(query, key, cosines, sines, dim, is_interleaved=family == "glm4")
            return torch.cat((query, key), dim=1), wanted[0].transpose(0, 1)

        yield f"rotation of heads of {dim} as in {family}", compare


def _matrices(dtype: torch.dtype) -> Iterator[tuple[str, Compare]]:
    formats, grouped = import_module("potluck.blocks.formats"), import_module("potluck.blocks.grouped")
    for form, rows, tokens in product(("int8", "int4"), (100, 256), (1, 3, 20)):

        def dense(form: str = form, rows: int = rows, tokens: int = tokens) -> tuple[Tensor, Tensor]:
            weight, x = torch.randn(rows, 96).to(dtype), torch.randn(1, tokens, 96).to(dtype)
            matrix = formats.Int8Matrix(weight) if form == "int8" else formats.Int4Matrix(weight, 64)
            found = grouped.dense_product(x, matrix, None)
            if found is None:
                raise RuntimeError("no kernel takes this matrix")
            return found, nn.functional.linear(x.float(), matrix.rows(0, rows).float())

        yield f"{tokens} tokens by {form} of {rows} rows", dense
    for form, is_transposed, choices in product(("numbers", "int8", "int4"), (False, True), (2, 30)):

        def experts(
            form: str = form, is_transposed: bool = is_transposed, choices: int = choices
        ) -> tuple[Tensor, Tensor]:
            whole = torch.randn(5, 128, 96).to(dtype)
            held: Any = whole
            if form != "numbers":
                flat = whole.view(-1, 96)
                matrix = formats.Int8Matrix(flat) if form == "int8" else formats.Int4Matrix(flat, 64)
                held = formats.QuantizedExperts(matrix, 128)
            chosen = torch.randint(4, (choices,))  # nobody chooses the last
            x = torch.randn(choices, 128 if is_transposed else 96).to(dtype)
            by_expert = grouped.held_as(held, is_transposed=is_transposed)
            found = grouped.product(x, by_expert, grouped.sort_by_expert(chosen, 5))
            matrices = [held[expert].float() for expert in range(5)]
            matrices = matrices if is_transposed else [matrix.T for matrix in matrices]
            return found, torch.stack(
                [token.float() @ matrices[e] for token, e in zip(x, chosen.tolist(), strict=True)]
            )

        yield f"{choices} choices of experts in {form}{', transposed' if is_transposed else ''}", experts
