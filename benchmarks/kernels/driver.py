# ruff: noqa: N803
# mypy: disable-error-code="no-untyped-def, untyped-decorator, attr-defined"
"""Launches kernels at a stand-in for NVIDIA's driver, in a process of `without_compiler` that has no torch.

Arguments are of every type that Triton gives to numbers, and shapes are those of models.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import triton
import triton.language as tl
from triton.runtime import driver

from tests.helpers.cuda_stub import StubDriver, pointer

_STREAM = 77
_ROUNDS, _CALLS = 200, 100  # rounds of the timing, of which the fastest counts
_STRIDES = {"query_token_stride": 4096, "query_head_stride": 128, "head_stride": 2**33}


@dataclass(frozen=True, slots=True)
class Buffer:
    """What Triton sees of a tensor: its type and its address."""

    dtype: str
    address: int

    def data_ptr(self) -> int:
        return self.address


def launch(has_compiler: bool, is_own: bool) -> dict[str, Any]:
    """Launch kernels by the project's launcher or by Triton's, and return what reached the driver."""
    if not has_compiler:
        sysconfig.get_paths = lambda *_, **__: {"include": "/nowhere"}
    from potluck.blocks.kernels import product_kernels
    from potluck.blocks.kernels import triton_kernels as kernels

    stub = StubDriver()
    try:
        if not is_own:
            driver.reset_active()
        launches = [_launched(stub, call) for call in _calls(kernels, product_kernels)]
    except Exception as error:  # Errors of any kind are what is counted.
        return {"error": f"{type(error).__name__}: {error}".strip()[:200]}
    return {"launches": launches}


def compare() -> dict[str, float]:
    """Return the microseconds of CPU time of a kernel's call by each launcher, and the ratio of ours to Triton's."""
    from potluck.blocks.kernels import product_kernels
    from potluck.blocks.kernels import triton_kernels as kernels

    own = driver.active
    driver.reset_active()
    call = _calls(kernels, product_kernels)[0]
    compiled = call()
    launchers = {"triton": compiled.run, "own": own.launcher_cls(compiled.src, compiled.metadata)}
    best = dict.fromkeys(launchers, float("inf"))
    for _ in range(_ROUNDS):
        for name, launcher in launchers.items():
            compiled._run = launcher
            start = time.thread_time()
            for _ in range(_CALLS):
                call()
            best[name] = min(best[name], (time.thread_time() - start) / _CALLS * 1e6)
    best["ratio"] = best["own"] / best["triton"]
    return {name: round(value, 2) for name, value in best.items()}


def _launched(stub: StubDriver, call: Callable[[], Any]) -> dict[str, Any]:
    """Return a kernel's second launch, whose parameters the driver knows from the first."""
    compiled = call()
    entry = compiled.asm["ptx"].split(".entry", 1)[1].split(")", 1)[0]
    stub.set_parameters(compiled.function, [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z]+(\d+)", entry)])
    stub.launches()
    call()
    (found,) = stub.launches()
    return found.as_json()


@triton.jit
def _every_type(target, nothing, flag, small, negative, large, most, half, CONSTANT: tl.constexpr):
    if nothing is None:
        total = (small + negative + large).to(tl.float32) + most.to(tl.float32) + half + CONSTANT
        tl.store(target, tl.where(flag, total, 0.0))


def _calls(kernels: Any, product_kernels: Any) -> list[Callable[[], Any]]:
    half, words = ([Buffer(kind, pointer(0, 4096 * i + 256)) for i in range(6)] for kind in ("float16", "int64"))
    wide, pairs, codes = (Buffer(kind, pointer(0, 1 << 30)) for kind in ("float32", "int32", "int8"))
    norm = {"HAS_ADDED": True, "ROUNDS_FIRST": True, "PLUS_ONE": False, "num_warps": 8}
    attention = {"GROUP": 4, "HEADS": 4, "TILE_TOKENS": 1, "TILE": 16, "BLOCK": 64, "PAGE": 16, "num_stages": 3}
    attention |= {"KEY_DIM": 128, "VALUE_DIM": 128, "KEY_PAD": 128, "VALUE_PAD": 128, "IS_INT8": False}
    experts = {"FORM": 2, "IS_TRANSPOSED": False, "GROUP": 32, "SHARED": 32, "TILE": 16, "COLUMNS": 64, "DEPTH": 128}
    merge = {"HAS_SINKS": False, "MOST_SPLITS": 32, "VALUE_DIM": 128, "VALUE_PAD": 128}

    strides = ("query_token", "key_token", "key_head", "value_token", "value_head", "table_token", "head")
    heads = {"query_heads": 8, "kv_heads": 2, "epsilon": 1e-6, "KEY_DIM": 64, "VALUE_DIM": 64, "HALF": 32, "PAD": 64}
    heads |= {f"{name}_stride": 64 * place for place, name in enumerate(strides)}
    heads |= {"IS_INTERLEAVED": True, "HAS_NORMS": True, "ROUNDS_FIRST": True, "PLUS_ONE": False, "IS_INT8": True}

    def attend(scale: float, window: int, splits: int) -> Any:
        tensors = (half[0], half[1], half[2], half[1], half[2], wide, wide, *words[:3])
        numbers = _STRIDES | {"scale": scale, "soft_cap": 0.0, "window": window, "heads": 32, "splits": splits}
        flags = {"HAS_SOFT_CAP": False, "HAS_WINDOW": window > 0}
        return kernels.attend[(7, 8, splits)](*tensors, **numbers, **flags, **attention)

    return [
        partial(kernels.add_and_norm[(3,)], *half[:5], 1e-6, 4096, PAD=4096, **norm),
        partial(kernels.add_and_norm[(3, 2)], *half[:5], float("inf"), 1, PAD=16, **norm),
        partial(kernels.rotate_and_keep[(5, 12)], *half, *half[:2], codes, codes, *half[2:4], words[0], **heads),
        partial(kernels.activate_times[(2, 4)], *half[:3], 2**40, -(2**40), 11008, IS_GELU=True, BLOCK=1024),
        partial(attend, 0.08838834764831845, 0, 1),
        partial(attend, -0.5, 4096, 32),
        partial(kernels.merge[(4, 32)], wide, wide, half[0], wide, 32, 1, **merge),
        partial(
            product_kernels.grouped_product[(2, 3, 4)], half[0], *(pairs, None, None), *(pairs, None, None),
            *(half[2], None, None), half[3], half[4], wide, pairs, words[0], pairs, 4096, 2**32, 1, 4096, 2, 8, 4096,
            192, 192, 192, **experts,
        ),
        partial(_every_type[(1,)], wide, None, True, 1, -7, -(2**35), 2**63 + 5, -1e-30, 1),
        partial(_every_type[(1,)], wide, None, False, 2, -(2**31), 2**62, 2**64 - 1, float("nan"), 0),
    ]  # fmt: skip


def _without_torch() -> None:
    """Let Triton find a torch with one card of Ampere, and nothing else in it."""
    torch, inner = ModuleType("torch"), ModuleType("torch._C")
    inner._cuda_getCurrentRawStream = lambda device: _STREAM
    torch.version = SimpleNamespace(hip=None)
    torch.cuda = SimpleNamespace(
        is_available=lambda: True,
        get_device_capability=lambda device: (8, 6),
        current_device=lambda: 0,
        set_device=lambda device: None,
    )
    sys.modules |= {"torch": torch, "torch._C": inner}


_without_torch()
