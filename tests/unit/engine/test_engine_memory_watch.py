"""Damaged weights in memory are noticed, and moved or replaced ones are not taken for damaged."""

from __future__ import annotations

import pytest
import torch
from potluck_engine import memory_watch
from potluck_engine.memory_watch import MemoryWatch, checksum
from torch import nn


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "_PAUSE_S", 0.0)
    monkeypatch.setattr(memory_watch, "_SHARE", 1.0)


async def rounds(watch: MemoryWatch, module: nn.Module, count: int = 8) -> list[str]:
    found = [await watch.look(module) for _ in range(count)]
    return [name for name in found if name]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
async def test_one_flipped_bit_is_noticed(dtype: torch.dtype) -> None:
    module = nn.Linear(7, 5).to(dtype)
    watch = MemoryWatch()
    assert await rounds(watch, module) == []
    module.weight.data.view(-1).view(torch.uint8)[11] ^= 1
    assert await rounds(watch, module) == ["weight"]


async def test_weights_that_moved_or_were_freed_are_not_damaged() -> None:
    module, watch = nn.Linear(7, 5), MemoryWatch()
    assert await rounds(watch, module) == []
    kept = module.weight.data
    module.weight.data = torch.zeros(0)
    assert await rounds(watch, module) == []
    module.weight.data = kept + 1.0
    assert await rounds(watch, module) == []
    assert await rounds(watch, nn.Linear(7, 5)) == []


def test_equal_weights_have_equal_sums() -> None:
    weights = torch.arange(10, dtype=torch.bfloat16)
    assert checksum(weights[1:]) == checksum(weights[1:].clone())
