"""Groups the rows of a batch by their padding, because the wire has no attention mask.

The client never sends padding: rows with equal padding travel together, each group as its own batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from potluck.errors import UsageError

AFTER_PROMPT_HINT = "pad on the right to train, and generate for rows of equal length"
_PADDING_HINT = (
    f"pad on the left (tokenizer.padding_side = 'left'); with a trained prompt before the text, {AFTER_PROMPT_HINT}"
)


@dataclass(frozen=True, slots=True)
class RowGroup:
    """The rows of a batch whose real tokens are [start, end)."""

    rows: Tensor | None  # [n] int64; None: all rows
    start: int
    end: int

    def select(self, batch: Tensor, start: int, end: int) -> Tensor:
        """Return tokens [start, end) of these rows of a [batch, tokens, ...] tensor."""
        part = batch if (start, end) == (0, batch.shape[1]) else batch[:, start:end]
        return part if self.rows is None else part.index_select(0, self.rows)


def group_rows(mask: Tensor | None, batch: int, tokens: int) -> tuple[RowGroup, ...]:
    """Group rows by where their real tokens begin and end.

    Args:
        mask: [batch, tokens], 1 for real tokens and 0 for padding, or None if there is no padding.

    Raises:
        UsageError: padding between tokens, a row of padding only, or a mask of another shape.
    """
    if mask is None:
        return (RowGroup(None, 0, tokens),)
    if mask.shape != (batch, tokens):
        raise UsageError(f"an attention mask of shape {list(mask.shape)}, expected [{batch}, {tokens}]")
    real = mask.to("cpu").bool()
    if bool(real.all()):  # the common case, checked for each token
        return (RowGroup(None, 0, tokens),)
    counts = real.sum(1)
    starts = real.int().argmax(1)
    ends = starts + counts
    places = torch.arange(tokens)
    if not bool((real == ((places >= starts[:, None]) & (places < ends[:, None]))).all()):
        raise UsageError("the attention mask has holes, which a swarm cannot compute", hint=_PADDING_HINT)
    if not bool(counts.all()):
        raise UsageError("a row of the batch has no tokens at all")
    bounds = torch.stack([starts, ends], dim=1)
    kinds = torch.unique(bounds, dim=0)
    if len(kinds) == 1:
        return (RowGroup(None, int(kinds[0, 0]), int(kinds[0, 1])),)
    return tuple(RowGroup((bounds == kind).all(1).nonzero().flatten(), int(kind[0]), int(kind[1])) for kind in kinds)


def refuse_right_padding(groups: tuple[RowGroup, ...], tokens: int) -> None:
    """Refuse padding on the right, which generation with a cache cannot continue. Raises UsageError."""
    if any(group.end != tokens for group in groups):
        raise UsageError("some rows are padded on the right, which generation cannot continue", hint=_PADDING_HINT)


def join_groups(parts: list[tuple[RowGroup, Tensor, int]], like: Tensor) -> Tensor:
    """Join the outputs of groups in one [batch, tokens, hidden_size] tensor with zeros for padding.

    Args:
        parts: group, its output [rows, n, hidden_size], and the column where that begins.
    """
    if len(parts) == 1 and parts[0][1].shape == like.shape:
        return parts[0][1]
    whole = torch.zeros_like(like)
    for group, output, start in parts:
        columns = slice(start, start + output.shape[1])
        if group.rows is None:
            whole[:, columns] = output
        else:
            whole[group.rows, columns] = output
    return whole
