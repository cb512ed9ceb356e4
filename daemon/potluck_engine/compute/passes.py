"""Runs passes of stateless calls through blocks, and keeps what training needs between a forward and its backward.

Callers that train say with a forward that its backward follows, and send the same inputs again with the gradient. The
inputs themselves, not a name, find the kept pass: if a single bit differs, or the pass is gone, the forward is computed
again with the same result. A full store takes no more passes: if it dropped the oldest, a caller that goes through
micro-batches in turns would never find one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache.session_cache import DifferentiableCache
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.expert_choices import GivenChoices
from potluck.protocol.blocks import PersonId, Span

KEEP_S = 60.0  # longer than a training step's loss and the other servers' blocks take


@dataclass(frozen=True, slots=True)
class CallInputs:
    """The inputs that a stateless call runs through the blocks of `span`.

    Shapes: hidden [batch, tokens, hidden_size]; prompts [blocks, batch or 1, p, hidden_size].

    Attributes:
        given: the experts to choose for the tokens of the only row; the largest gap is recorded in it.
    """

    span: Span
    hidden: Tensor
    prompts: Tensor | None = None
    private: PrivateAdapter | None = None
    given: GivenChoices | None = None

    def row_groups(self, budget: int) -> list[slice]:
        """Return groups of rows that each take at most `budget` token-blocks for one block, or single rows."""
        rows, tokens = self.hidden.shape[:2]
        size = rows if rows * tokens <= budget else max(budget // tokens, 1)
        return [slice(start, start + size) for start in range(0, rows, size)]

    def of_rows(self, some: slice) -> CallInputs:
        """Return the inputs of some of the rows."""
        prompts = self.prompts
        if prompts is not None and prompts.shape[1] > 1:
            prompts = prompts[:, some]
        return replace(self, hidden=self.hidden[some], prompts=prompts)

    @property
    def token_blocks(self) -> int:
        """Return the number of tokens times the number of blocks."""
        return self.hidden.shape[0] * self.hidden.shape[1] * len(self.span)

    def of_blocks(self, blocks: Span, hidden: Tensor) -> CallInputs:
        """Return the inputs of some of the blocks, given the output of those before them."""
        first, end = blocks.start - self.span.start, blocks.end - self.span.start
        return CallInputs(
            blocks,
            hidden,
            None if self.prompts is None else self.prompts[first:end],
            None if self.private is None else self.private.cut(blocks),
            None if self.given is None else self.given.cut(first, end),
        )


class Gradients(NamedTuple):
    """Gradients of hidden states, prompts and the values of a private adapter, in the same shapes."""

    hidden: Tensor
    prompts: Tensor | None = None
    adapter: Tensor | None = None


@dataclass(slots=True)
class ForwardPiece:
    """A forward of some rows through some blocks, and what its gradients need.

    Attributes:
        leaves: hidden states, prompts and the adapter's values, None where there are none. If it is empty, nothing was
            kept, and the forward is run again.
        num_bytes: the size of the intermediate results that are kept, without weights.
    """

    inputs: CallInputs
    output: Tensor
    leaves: tuple[Tensor | None, ...] = ()
    num_bytes: int = 0

    def gradients(self, grad: Tensor) -> Gradients:
        """Return the gradients of the leaves, given that of the output."""
        _, prompts, values = self.leaves
        found = torch.autograd.grad(self.output, [leaf for leaf in self.leaves if leaf is not None], grad)
        return Gradients(found[0], None if prompts is None else found[1], None if values is None else found[-1])


def backward_of(part: BlockSpan, inputs: CallInputs, grad: Tensor) -> Gradients:
    """Run the forward again, and return the gradients of its inputs."""
    return record_pass(part, inputs).gradients(grad)


def record_pass(part: BlockSpan, inputs: CallInputs) -> ForwardPiece:
    """Run a forward, and keep everything that its gradients need."""
    prompts, private, values = inputs.prompts, inputs.private, None
    with torch.enable_grad():
        hidden = inputs.hidden.detach().requires_grad_()
        if prompts is not None:
            prompts = prompts.detach().requires_grad_()
        if private is not None and private.layout.places:
            values = private.values.detach().requires_grad_()
            private = PrivateAdapter(private.layout, values)
        output = run_pass(part, replace(inputs, hidden=hidden, prompts=prompts, private=private))
        return ForwardPiece(inputs, output, (hidden, prompts, values))


def run_pass(part: BlockSpan, inputs: CallInputs) -> Tensor:
    """Run a forward, through the private adapter of the inputs or through the served adapter that is in use."""
    hidden, private = inputs.hidden, inputs.private
    if private is None:
        return part.forward(hidden, None, inputs.prompts)
    cache = None
    if private.layout.prefix_tokens:
        cache = private.fill(DifferentiableCache(part.decoder.config), hidden.shape[0], hidden.dtype)
    with part.adapters.using(private):
        return part.forward(hidden, cache, inputs.prompts)


RowPieces = list[tuple[slice, list[ForwardPiece]]]
"""A whole pass: the pieces of each group of rows, in the order of the blocks."""


@dataclass(frozen=True, slots=True)
class PassKey:
    """The person who makes a pass, its blocks and its adapters."""

    person: PersonId
    span: Span
    adapter: str | None
    private: bytes | None


@dataclass(slots=True, eq=False)
class _KeptPass:
    key: PassKey
    hidden: Tensor
    prompts: Tensor | None
    pieces: RowPieces
    num_bytes: int
    until_s: float


class KeptPasses:
    """Keeps passes by their inputs. Any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: list[_KeptPass] = []
        self.epoch = 0  # grows when weights go; passes of an earlier epoch refer to them

    @property
    def num_bytes(self) -> int:
        """Return the size of the intermediate results that are kept."""
        with self._lock:
            return sum(each.num_bytes for each in self._kept)

    def add(
        self, key: PassKey, hidden: Tensor, prompts: Tensor | None, pieces: RowPieces, *, num_bytes: int, epoch: int
    ) -> None:
        """Keep a pass that began in `epoch`, unless another one has begun since."""
        with self._lock:
            if epoch == self.epoch:
                kept = _KeptPass(key, hidden, prompts, pieces, num_bytes, self._clock() + KEEP_S)
                self._kept.append(kept)

    def pop(self, key: PassKey, hidden: Tensor, prompts: Tensor | None) -> RowPieces | None:
        """Remove and return the pass with exactly these inputs; None if there is none."""
        with self._lock:
            candidates = [each for each in self._kept if each.key == key]
        for each in candidates:
            if _same(each.hidden, hidden) and _same(each.prompts, prompts):
                with self._lock:
                    if each in self._kept:
                        self._kept.remove(each)
                        return each.pieces
        return None

    def forget_old(self) -> None:
        """Drop passes whose backward did not come in time."""
        now = self._clock()
        with self._lock:
            self._kept = [each for each in self._kept if each.until_s > now]

    def forget(self) -> None:
        """Drop all passes, also those that are being computed."""
        with self._lock:
            self._kept.clear()
            self.epoch += 1


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.shape == other.shape and torch.equal(one, other)
