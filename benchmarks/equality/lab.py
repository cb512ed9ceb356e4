"""Servers of one checkpoint without a network: honest ones, and those that lie in a given way.

A server decodes windows of many rows, as an engine does in its steps, and computes them in one prefill, as an auditor
does.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.limits import Limit
from potluck.audit.verdicts import Differences, Opinion, Outsider, Window, compare, difference, settle
from potluck.blocks.span.block_span import BlockSpan, load_span
from potluck.blocks.span.expert_choices import NO_EXPERT, GivenChoices
from potluck.blocks.span.step_plans import StepRow, plan_step
from potluck.checkpoint.source import open_checkpoint
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
_SPREAD = 0.2  # spread of the inputs

Outputs = NDArray[np.float32]  # [rows, WINDOW_TOKENS, hidden_size]


class Decoded(NamedTuple):
    """What steps gave, and which experts they chose for each row, [tokens, blocks, choices]; None without experts."""

    outputs: Outputs
    choices: list[Tensor | None]


class LabServer:
    """Some blocks of a checkpoint in a number format; `parts` that leave blocks out make a server that skips them."""

    def __init__(self, folder: Path, form: NumberFormat, parts: Sequence[Span]) -> None:
        checkpoint = open_checkpoint(str(folder))
        dtype = getattr(torch, form.dtype)
        self._parts = [load_span(checkpoint, part, dtype=dtype, quantization=form.quantization) for part in parts]
        self.dtype = dtype
        self.num_blocks = checkpoint.num_blocks
        self.hidden_size = self._parts[0].hidden_size
        self.shares_steps = all(part.is_ragged for part in self._parts)

    def decode(self, rows: Sequence[Tensor], *, together: bool = True) -> Decoded:
        """Return what steps of one token give for the last window of each row.

        Shapes: rows [tokens, hidden_size] each.
        together: all rows share their steps, if the family can.
        """
        chosen: list[tuple[Span, list[Tensor | None]]] = []
        for part in self._parts:
            rows, of_rows = (_decode_together if together and part.is_ragged else _decode_alone)(part, rows)
            chosen.append((part.span, of_rows))
        return Decoded(_windows(rows), self._placed(chosen, len(rows)))

    def repeat(self, rows: Sequence[Tensor]) -> Decoded:
        """Return the same as `decode` from sessions one after the other, as clients let servers repeat windows."""
        each = [self.decode([row]) for row in rows]
        return Decoded(np.concatenate([one.outputs for one in each]), [one.choices[0] for one in each])

    def prefill(
        self, rows: Sequence[Tensor], choices: Sequence[Tensor | None], margin: float = math.inf
    ) -> tuple[Outputs, float]:
        """Return what one forward gives for the last window of each row, and how far off a given choice was at most."""
        outputs, gap = [], 0.0
        with torch.inference_mode():
            for row, chosen in zip(rows, choices, strict=True):
                for part in self._parts:
                    given = None if chosen is None else GivenChoices(chosen[:, part.span.start : part.span.end], margin)
                    with part.routers.repeating(given):
                        row = part.forward(row[None])[0]
                    gap = max(gap, 0.0 if given is None else given.gap)
                outputs.append(row)
        return _windows(outputs), gap

    def _placed(self, chosen: Sequence[tuple[Span, list[Tensor | None]]], num_rows: int) -> list[Tensor | None]:
        """Return each row's choices in all blocks, [tokens, blocks, choices]; none in those that are skipped."""
        found: list[Tensor | None] = []
        for row in range(num_rows):
            parts = [(span, of_rows[row]) for span, of_rows in chosen]
            some = next((each for _, each in parts if each is not None), None)
            whole = None if some is None else some.new_full((len(some), self.num_blocks, some.shape[2]), NO_EXPERT)
            for span, each in parts:
                if whole is not None and each is not None:
                    whole[:, span.start : span.end] = each
            found.append(whole)
        return found


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
    claimed: Window, recomputed: Window, third: Window, third_steps: Window, honest: float, limit: Limit
) -> Outsider | None:
    """Return what a client finds about one window; None: the audited server and the auditor agree.

    Args:
        third: a third server's prefill.
        third_steps: its steps, or in models with experts the prefill.
        honest: how far its own steps are from such a prefill.
    """
    claims = difference(claimed, recomputed)
    if compare(claims, limit.difference) is not Opinion.DISAGREES:
        return None
    steps, prefills = difference(claimed, third_steps), difference(recomputed, third)
    found = Differences(claims=claims, steps=steps, prefills=prefills, honest=honest)
    return settle(found, limit.difference, limit.times)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Compute with `count` threads inside."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _decode_together(blocks: BlockSpan, rows: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor | None]]:
    memory = blocks.new_memory(sum(len(row) for row in rows) + 64 * len(rows))
    sequences = [memory.new_sequence() for _ in rows]
    starts = [len(row) - WINDOW_TOKENS for row in rows]
    chosen: list[list[Tensor]] = [[] for _ in rows]

    def step(pieces: Sequence[Tensor]) -> Tensor:
        for sequence, piece in zip(sequences, pieces, strict=True):
            memory.reserve(sequence, sequence.length + len(piece))
        plan = plan_step(memory, [StepRow(each, len(piece)) for each, piece in zip(sequences, pieces, strict=True)])
        output = blocks.run_step(plan, torch.cat(list(pieces)), memory)
        if blocks.routers.chosen is not None:
            for of_row, part in zip(
                chosen, blocks.routers.chosen.split_with_sizes([len(piece) for piece in pieces]), strict=True
            ):
                of_row.append(part)
        for sequence, piece in zip(sequences, pieces, strict=True):
            memory.advance(sequence, len(piece))
        return output

    with torch.inference_mode():
        contexts = step([row[:start] for row, start in zip(rows, starts, strict=True)]).split_with_sizes(starts)
        tokens = [
            step([row[start + token : start + token + 1] for row, start in zip(rows, starts, strict=True)])
            for token in range(WINDOW_TOKENS)
        ]
    outputs = [torch.cat(each) for each in zip(contexts, torch.stack(tokens, dim=1), strict=True)]
    return outputs, [torch.cat(of_row) if of_row else None for of_row in chosen]


def _decode_alone(blocks: BlockSpan, rows: Sequence[Tensor]) -> tuple[list[Tensor], list[Tensor | None]]:
    with torch.inference_mode():
        found = [_decode_row(blocks, row) for row in rows]
    return [outputs for outputs, _ in found], [chosen for _, chosen in found]


def _decode_row(blocks: BlockSpan, row: Tensor) -> tuple[Tensor, Tensor | None]:
    cache, start = blocks.new_cache(), len(row) - WINDOW_TOKENS
    outputs, chosen = [], []
    for piece in (row[:start], *row[start:, None].unbind()):
        outputs.append(blocks.forward(piece[None], cache)[0])
        if blocks.routers.chosen is not None:
            chosen.append(blocks.routers.chosen)
    return torch.cat(outputs), torch.cat(chosen) if chosen else None


def _windows(rows: Sequence[Tensor]) -> Outputs:
    return np.stack([row[-WINDOW_TOKENS:].float().numpy() for row in rows])
