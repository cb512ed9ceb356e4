"""Holds the blocks that an engine serves, makes parts of them, and runs stateless calls in bounded pieces.

Callers may ask for a part of the span; a part shares the weights of the whole. A span is not re-entrant, so each
computing thread has parts of its own. A piece costs at most what `piece_tokens` cost through the whole span (backward
counts three times), or one row through one block if that is more. Within that bound, a call is cut between blocks
rather than between rows, because that changes no number.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from potluck.blocks import BlockSpan
from potluck.blocks.accelerators import empty_cache
from potluck.blocks.heap import trim_heap
from potluck.blocks.reshaping import part_of
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError

T = TypeVar("T")

_BACKWARD_COST = 3  # the forward again, and twice its work for the gradients
_KEPT_BYTES = 256 << 20
"""Of intermediate results that a backward keeps from the forward to the gradients; more are computed twice."""

_MAX_PARTS = 64  # kept besides single blocks; a part costs some 50 KB of module objects a block


class LoadedBlocks:
    """A loaded span with its parts, and forward and backward in pieces; one thread uses it."""

    def __init__(self, whole: BlockSpan, *, piece_tokens: int) -> None:
        self.whole = whole
        self.hidden_size = whole.hidden_size
        self.dtype = whole.dtype
        self._piece_tokens = piece_tokens
        self._stream: torch.cuda.Stream | None = None
        if whole.device.type == "cuda":
            self._stream = torch.cuda.Stream(whole.device)  # type: ignore[no-untyped-call]
        self._parts: OrderedDict[Span, BlockSpan] = OrderedDict()

    @property
    def span(self) -> Span:
        return self.whole.span

    def change(self, whole: BlockSpan) -> None:
        """Use this span from now on, which shares weights with the one before. Any thread may call it."""
        self.whole, self._parts = whole, OrderedDict()

    def free(self) -> None:
        """Give the memory of all weights back at once, to the system and to the device.

        Nothing can be computed before `restore`. Parts are freed and restored with the whole.
        """
        self.whole.weights.free()
        self.whole.adapters.unload()
        trim_memory(self.whole.device)

    def restore(self) -> None:
        """Take the weights again, if `is_restorable`. Raises torch.OutOfMemoryError or CheckpointError."""
        self.whole.weights.restore()

    @property
    def is_restorable(self) -> bool:
        """True if the weights can be restored; if not, the span must be loaded anew."""
        return self.whole.weights.is_restorable

    def part(self, span: Span) -> BlockSpan:
        """Return the blocks of `span`. Raises RemoteError DRAINING if they are not served any more."""
        whole, parts = self.whole, self._parts
        if span == whole.span:
            return whole
        part = parts.get(span)
        if part is None:
            part = parts[span] = self.new_part(span)
            while len(parts) > _MAX_PARTS + len(whole.span):
                parts.popitem(last=False)
        parts.move_to_end(span)
        return part

    def new_part(self, span: Span) -> BlockSpan:
        whole = self.whole
        if not whole.span.covers(span):
            raise RemoteError(Code.DRAINING, f"blocks {span} are not served here any more")
        return part_of(whole, span)

    def adapted(self, adapter: str | None, pieces: Generator[None, None, T]) -> Generator[None, None, T]:
        """Run `pieces` of a call with an adapter; between them the thread may work for other callers."""
        while True:
            with self._aside(), self.whole.adapters.using(adapter):
                try:
                    next(pieces)
                except StopIteration as done:
                    result: T = done.value
                    return result
            yield

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """On a GPU, run the body in a stream beside the steps of sessions, and wait for its end."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield
        self._stream.synchronize()

    def forward(self, span: Span, hidden: Tensor, prompts: Tensor | None) -> Generator[None, None, tuple[Tensor]]:
        """Run a stateless forward; its result is a tuple of one tensor.

        Shapes: hidden [batch, tokens, hidden_size] any float, on the CPU; prompts [blocks, batch or 1, p, hidden_size];
        returns as hidden, in the blocks' dtype, on the CPU.
        """
        hidden, prompts = self._enter(hidden, prompts)
        outputs = []
        for rows in _row_groups(hidden, len(span), self._budget()):
            current, some_prompts = hidden[rows], _rows_of(prompts, rows)
            for blocks in self._block_groups(current, span, self._budget()):
                with torch.inference_mode():
                    current = self.part(blocks).forward(current, None, _blocks_of(some_prompts, blocks, span))
                yield
            outputs.append(current)
        with torch.inference_mode():
            return ((outputs[0] if len(outputs) == 1 else torch.cat(outputs)).cpu(),)

    def backward(
        self, span: Span, hidden: Tensor, grad: Tensor, prompts: Tensor | None
    ) -> Generator[None, None, tuple[Tensor, ...]]:
        """Run a stateless backward: the forward again, then gradients, in pieces of some blocks.

        Shapes: hidden, grad and prompts as in `forward`; returns the gradient of hidden, then that of prompts if given,
        each shaped as what it belongs to.
        """
        hidden, prompts = self._enter(hidden, prompts)
        grad, _ = self._enter(grad, None)
        budget = self._budget() // _BACKWARD_COST
        hidden_grads: list[Tensor] = []
        prompt_grads: list[Tensor] = []
        for rows in _row_groups(hidden, len(span), budget):
            pieces = self._backward_rows(span, hidden[rows], grad[rows], _rows_of(prompts, rows), budget)
            row_grad, row_prompt_grad = yield from pieces
            hidden_grads.append(row_grad)
            if row_prompt_grad is not None:
                prompt_grads.append(row_prompt_grad)
        whole_grad = torch.cat(hidden_grads).cpu()
        if prompts is None:
            return (whole_grad,)
        shared = prompts.shape[1] != hidden.shape[0]  # one prompt for all rows: its gradient is their sum
        return whole_grad, (sum(prompt_grads[1:], prompt_grads[0]) if shared else torch.cat(prompt_grads, dim=1)).cpu()

    def _backward_rows(
        self, span: Span, hidden: Tensor, grad: Tensor, prompts: Tensor | None, budget: int
    ) -> Generator[None, None, tuple[Tensor, Tensor | None]]:
        groups = list(self._block_groups(hidden, span, budget))
        inputs: list[Tensor | _Recorded] = []
        current, room = hidden, self.kept_bytes
        for blocks in groups[:-1]:
            passed = _run_forward(self.part(blocks), current, _blocks_of(prompts, blocks, span), room)
            room -= passed.num_bytes
            inputs.append(passed if passed.num_bytes else current)
            current = passed.output.detach()
            del passed
            yield
        inputs.append(current)
        prompt_grads: list[Tensor] = []
        for blocks in reversed(groups):
            before = inputs.pop()
            if isinstance(before, _Recorded):
                grad, prompt_grad = before.gradients(grad)
            else:
                grad, prompt_grad = self.backward_piece(blocks, before, grad, _blocks_of(prompts, blocks, span))
            if prompt_grad is not None:
                prompt_grads.insert(0, prompt_grad)
            yield
        return grad, torch.cat(prompt_grads) if prompt_grads else None

    @property
    def kept_bytes(self) -> int:
        """Return how many bytes of intermediate results a backward may keep between its pieces."""
        return 0 if self.whole.weights.stream is not None else _KEPT_BYTES

    def backward_piece(
        self, blocks: Span, hidden: Tensor, grad: Tensor, prompts: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """Return the gradients of a piece's input and prompts, given that of its output."""
        return backward_of(self.part(blocks), hidden, grad, prompts)

    def _budget(self) -> int:
        return self._piece_tokens * len(self.span)

    def _block_groups(self, hidden: Tensor, span: Span, budget: int) -> Generator[Span, None, None]:
        """Yield consecutive groups of blocks, each within `budget` token-blocks for these rows, or single blocks."""
        size = min(max(budget // max(hidden.shape[0] * hidden.shape[1], 1), 1), len(span))
        for start in range(span.start, span.end, size):
            yield Span(start, min(start + size, span.end))

    def _enter(self, hidden: Tensor, prompts: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Move tensors to the blocks' dtype and device."""
        device, dtype = self.whole.device, self.dtype
        return hidden.to(device, dtype), None if prompts is None else prompts.to(device, dtype)


@dataclass(slots=True)
class _Recorded:
    """A forward of some blocks, and what its gradients need.

    Attributes:
        leaves: hidden and, if given, prompts.
        num_bytes: of intermediate results, weights not counted; 0: none are kept.
    """

    leaves: list[Tensor]
    output: Tensor
    num_bytes: int

    def gradients(self, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the gradients of hidden and, if given, of prompts, in their shapes."""
        grads = torch.autograd.grad(self.output, self.leaves, grad)
        return grads[0], grads[1] if len(grads) > 1 else None


def backward_of(part: BlockSpan, hidden: Tensor, grad: Tensor, prompts: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Run the forward again and return the gradients of hidden and, if given, of prompts, in their shapes."""
    return _record(part, hidden, prompts).gradients(grad)


def _run_forward(part: BlockSpan, hidden: Tensor, prompts: Tensor | None, room: int) -> _Recorded:
    """Run the forward of a backward's piece; keep what its gradients need if that takes no more than `room` bytes."""
    if room <= 0:
        with torch.no_grad():  # not inference_mode: its tensors cannot take part in autograd later
            return _Recorded([], part.forward(hidden, None, prompts), 0)
    weights = {each.untyped_storage().data_ptr() for each in part.layers.parameters()}
    sizes: dict[int, int] = {}

    def note(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return saved.detach()  # an output that its own node saved would keep itself alive

    with torch.autograd.graph.saved_tensors_hooks(note, _as_it_is):
        recorded = _record(part, hidden, prompts)
    recorded.num_bytes = sum(sizes.values())
    return recorded if recorded.num_bytes <= room else _Recorded([], recorded.output.detach(), 0)


def _record(part: BlockSpan, hidden: Tensor, prompts: Tensor | None) -> _Recorded:
    with torch.enable_grad():
        leaves = [hidden.detach().requires_grad_()]
        if prompts is not None:
            leaves.append(prompts.detach().requires_grad_())
        return _Recorded(leaves, part.forward(leaves[0], None, leaves[1] if prompts is not None else None), 0)


def _as_it_is(kept: Tensor) -> Tensor:
    return kept


def trim_memory(device: torch.device) -> None:
    """Return freed memory to the system; torch and the C library both keep some for later."""
    empty_cache(device)
    trim_heap()


def _row_groups(hidden: Tensor, num_blocks: int, budget: int) -> Generator[slice, None, None]:
    """Yield groups of rows, each within `budget` token-blocks for one block."""
    rows, tokens = hidden.shape[:2]
    size = rows if rows * tokens <= budget else max(budget // tokens, 1)
    for start in range(0, rows, size):
        yield slice(start, start + size)


def _rows_of(prompts: Tensor | None, rows: slice) -> Tensor | None:
    return prompts if prompts is None or prompts.shape[1] == 1 else prompts[:, rows]


def _blocks_of(prompts: Tensor | None, blocks: Span, span: Span) -> Tensor | None:
    return None if prompts is None else prompts[blocks.start - span.start : blocks.end - span.start]
