"""Spans of checkpoints in a folder, numbers for them, and steps in which rows of several sequences share a call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from potluck.blocks.cache.kv_memory import KvMemory, KvSequence
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.source import open_checkpoint
from potluck.protocol.blocks import Span

FolderOf = Callable[[str], Path]
"""What the fixture `family_folder` gives."""


def span_of(folder: Path, span: Span, **options: Any) -> BlockSpan:
    return load_span(open_checkpoint(str(folder)), span, **options)


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def error(found: Tensor, wanted: Tensor) -> float:
    """The norm of the difference over the norm of what is wanted."""
    return float((found.double() - wanted.double()).norm() / wanted.double().norm())


def step(blocks: BlockSpan, memory: KvMemory, parts: list[tuple[KvSequence, Tensor]]) -> list[Tensor]:
    """One step with these new tokens of these sequences; what comes out of each."""
    for sequence, hidden in parts:
        memory.reserve(sequence, sequence.length + len(hidden))
    plan = plan_step(memory, [StepRow(sequence, len(hidden)) for sequence, hidden in parts])
    output = blocks.run_step(plan, torch.cat([hidden for _, hidden in parts]).to(blocks.dtype), memory)
    for sequence, hidden in parts:
        memory.advance(sequence, len(hidden))
    return list(output.split([len(hidden) for _, hidden in parts]))
