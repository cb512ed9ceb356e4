"""Rows of many sessions in one step give what each gives alone; which families do that, and which run alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from tiny_models import FAMILIES
from torch import Tensor

from potluck.checkpoint import BlockSpan, load_span, open_checkpoint
from potluck.checkpoint.kv import KvMemory, KvSequence
from potluck.checkpoint.ragged import StepRow, plan_step
from potluck.protocol.blocks import Span

SPAN = Span(1, 5)
RAGGED = {
    "llama",
    "mistral_sliding",
    "qwen3",
    "qwen3_moe",
    "mixtral",
    "gemma3",
    "glm4",
    "phi3",
    "olmo2",
    "gpt_oss",
    "gpt2",
    "llama_tied",
}

FolderOf = Callable[[str], Path]


def load(folder: Path, span: Span = SPAN, dtype: torch.dtype | None = None) -> BlockSpan:
    return load_span(open_checkpoint(str(folder)), span, dtype=dtype)


def hidden_of(tokens: int, seed: int) -> Tensor:
    return torch.randn((tokens, 64), generator=torch.Generator().manual_seed(seed))


def alone(blocks: BlockSpan, hidden: Tensor, prompts: Tensor | None = None) -> Tensor:
    """What one row gives by itself in one call; [tokens, hidden_size]."""
    with torch.inference_mode():
        given = None if prompts is None else prompts[:, None]
        return blocks.forward(hidden[None].to(blocks.dtype), blocks.new_cache(), given)[0]


def step(blocks: BlockSpan, memory: KvMemory, parts: list[tuple[KvSequence, Tensor]]) -> list[Tensor]:
    """One step with these new tokens of these sequences; what comes out of each."""
    for sequence, hidden in parts:
        memory.reserve(sequence, sequence.length + len(hidden))
    plan = plan_step(memory, [StepRow(sequence, len(hidden)) for sequence, hidden in parts])
    output = blocks.run_step(plan, torch.cat([hidden for _, hidden in parts]).to(blocks.dtype), memory)
    for sequence, hidden in parts:
        memory.advance(sequence, len(hidden))
    return list(output.split([len(hidden) for _, hidden in parts]))


def assert_close(found: Tensor, wanted: Tensor, tolerance: float = 1e-5) -> None:
    error = (found - wanted).abs().max() / wanted.abs().max()
    assert error <= tolerance, f"relative error {error:.1e}"


@pytest.mark.parametrize("family", FAMILIES)
def test_families_that_share_steps_are_known(family: str, family_folder: FolderOf) -> None:
    assert load(family_folder(family)).is_ragged == (family in RAGGED)


@pytest.mark.parametrize("family", sorted(RAGGED))
def test_rows_in_one_step_give_what_each_gives_alone(family: str, family_folder: FolderOf) -> None:
    """Random chunks of rows of different lengths, beyond windows, over several runs of pages each."""
    blocks = load(family_folder(family))
    memory = blocks.new_memory(400)
    rng = random.Random(0)
    inputs = [hidden_of(length, seed) for seed, length in enumerate((70, 33, 5, 21))]
    rows = [memory.new_sequence() for _ in inputs]
    outputs: list[list[Tensor]] = [[] for _ in inputs]
    while any(row.length < len(hidden) for row, hidden in zip(rows, inputs, strict=True)):
        ready = [i for i, row in enumerate(rows) if row.length < len(inputs[i]) and rng.random() < 0.8]
        chunks = [rng.choice((1, 1, 1, 2, 7, 20)) for _ in ready]
        parts = [(rows[i], inputs[i][rows[i].length :][:size]) for i, size in zip(ready, chunks, strict=True)]
        if parts:
            for i, output in zip(ready, step(blocks, memory, parts), strict=True):
                outputs[i].append(output)
    for hidden, found in zip(inputs, outputs, strict=True):
        assert_close(torch.cat(found), alone(blocks, hidden))
