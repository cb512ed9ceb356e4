"""Servers of one checkpoint without a network: honest ones, and those that lie in a given way.

A server decodes windows of many rows, as an engine does in its steps, and computes them in one prefill, as an auditor
does.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from potluck.audit import (
    WINDOW_TOKENS,
    Apart,
    Differences,
    Opinion,
    Outsider,
    compare,
    difference,
    settle,
)
from potluck.blocks import BlockSpan, load_span
from potluck.blocks.plans import StepRow, plan_step
from potluck.checkpoint import open_checkpoint
from potluck.checkpoint.families import has_experts
from potluck.protocol.blocks import Span
from potluck.protocol.records import NumberFormat

FORMATS = (
    NumberFormat("float32"),
    NumberFormat("float16"),
    NumberFormat("bfloat16"),
    NumberFormat("bfloat16", "int8"),
    NumberFormat("bfloat16", "int4"),
)
_IN_A_BLOCK = re.compile(r"\.\d+\.")
_SPREAD = 0.2  # of the inputs

Outputs = NDArray[np.float32]  # [rows, WINDOW_TOKENS, hidden_size]


class LabServer:
    """Some blocks of a checkpoint in a number format; `parts` that leave blocks out make a server that skips them."""

    def __init__(self, folder: Path, form: NumberFormat, parts: Sequence[Span]) -> None:
        checkpoint = open_checkpoint(str(folder))
        dtype = getattr(torch, form.dtype)
        self._parts = [load_span(checkpoint, part, dtype=dtype, quantization=form.quantization) for part in parts]
        self.dtype = dtype
        self.has_experts = has_experts(checkpoint.text_config)
        self.hidden_size = self._parts[0].hidden_size
        self.shares_steps = all(part.is_ragged for part in self._parts)

    def decode(self, rows: Sequence[Tensor], *, together: bool = True) -> Outputs:
        """Return what steps of one token give for the last window of each row.

        Shapes: rows [tokens, hidden_size] each.
        together: all rows share their steps, if the family can.
        """
        for part in self._parts:
            rows = (_decode_together if together and part.is_ragged else _decode_alone)(part, rows)
        return _windows(rows)

    def repeat(self, rows: Sequence[Tensor]) -> Outputs:
        """Return the same as `decode` from sessions one after the other, as clients let servers repeat windows."""
        return np.concatenate([self.decode([row]) for row in rows])

    def prefill(self, rows: Sequence[Tensor]) -> Outputs:
        """Return what one forward gives for the last window of each row."""
        with torch.inference_mode():
            for part in self._parts:
                rows = [part.forward(row[None])[0] for row in rows]
        return _windows(rows)


def random_rows(server: LabServer, lengths: Sequence[int], seed: int) -> list[Tensor]:
    """Return inputs of rows that have these lengths, the last window included."""
    some = torch.Generator().manual_seed(seed)
    return [
        (torch.randn((length, server.hidden_size), generator=some) * _SPREAD).to(server.dtype) for length in lengths
    ]


def changed_copy(folder: Path, target: Path, change: Callable[[str, Tensor], Tensor]) -> Path:
    """Write a checkpoint in which `change` replaces each tensor of a block, by name."""
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("*.safetensors"))
    for shard in folder.glob("*.safetensors"):
        tensors = load_file(shard)
        changed = {
            name: change(name, tensor) if _IN_A_BLOCK.search(name) else tensor for name, tensor in tensors.items()
        }
        save_file(changed, target / shard.name, metadata={"format": "pt"})
    return target


def verdict(
    claimed: Outputs, recomputed: Outputs, third_prefill: Outputs, third_steps: Outputs, limit: Apart | None
) -> Outsider | None:
    """Return what a client finds about one window; None: the audited server and the auditor agree."""
    claims = difference(claimed, recomputed)
    if limit is None or compare(claims, limit) is not Opinion.DISAGREES:
        return None
    return settle(
        Differences(
            claims=claims,
            steps=difference(claimed, third_steps),
            prefills=difference(recomputed, third_prefill),
            honest=difference(third_steps, third_prefill),
        ),
        limit,
    )


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Compute with `count` threads inside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _decode_together(blocks: BlockSpan, rows: Sequence[Tensor]) -> list[Tensor]:
    memory = blocks.new_memory(sum(len(row) for row in rows) + 64 * len(rows))
    sequences = [memory.new_sequence() for _ in rows]
    starts = [len(row) - WINDOW_TOKENS for row in rows]

    def step(pieces: Sequence[Tensor]) -> Tensor:
        for sequence, piece in zip(sequences, pieces, strict=True):
            memory.reserve(sequence, sequence.length + len(piece))
        plan = plan_step(memory, [StepRow(each, len(piece)) for each, piece in zip(sequences, pieces, strict=True)])
        output = blocks.run_step(plan, torch.cat(list(pieces)), memory)
        for sequence, piece in zip(sequences, pieces, strict=True):
            memory.advance(sequence, len(piece))
        return output

    with torch.inference_mode():
        contexts = step([row[:start] for row, start in zip(rows, starts, strict=True)]).split_with_sizes(starts)
        tokens = [
            step([row[start + token : start + token + 1] for row, start in zip(rows, starts, strict=True)])
            for token in range(WINDOW_TOKENS)
        ]
    return [torch.cat(each) for each in zip(contexts, torch.stack(tokens, dim=1), strict=True)]


def _decode_alone(blocks: BlockSpan, rows: Sequence[Tensor]) -> list[Tensor]:
    with torch.inference_mode():
        return [_decode_row(blocks, row) for row in rows]


def _decode_row(blocks: BlockSpan, row: Tensor) -> Tensor:
    cache, start = blocks.new_cache(), len(row) - WINDOW_TOKENS
    pieces = (row[:start], *row[start:, None].unbind())
    return torch.cat([blocks.forward(piece[None], cache)[0] for piece in pieces])


def _windows(rows: Sequence[Tensor]) -> Outputs:
    return np.stack([row[-WINDOW_TOKENS:].float().numpy() for row in rows])
