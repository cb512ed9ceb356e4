"""Holds the blocks that an engine serves, makes parts of them, and runs stateless calls in bounded pieces.

Callers may ask for a part of the span, which shares the weights of the whole. A span is not re-entrant, so each
computing thread has parts of its own.

A piece of a call costs at most as much as `piece_tokens` through the whole span (a backward counts three times). It
costs less if recent pieces predict that it would take longer than a game may wait, but has at least one row and one
block. Calls are cut between blocks rather than between rows, because that changes no number.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import part_of
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.passes import (
    CallInputs,
    ForwardPiece,
    Gradients,
    KeptPasses,
    PassKey,
    backward_of,
    record_pass,
    run_pass,
)
from potluck_engine.compute.steps import longest_piece_s

T = TypeVar("T")

BACKWARD_COST = 3  # the forward again, and twice its work for the gradients
_KEPT_BYTES = 256 << 20
"""How many intermediate results all calls together keep from forwards to gradients; others are computed twice."""

_FIRST_TOKENS = 64  # the size of a piece through the whole span before any was measured
_SMOOTHING = 0.5  # the newest piece's weight; large, because the pace changes when sessions begin or end
_MAX_PARTS = 64  # kept besides single blocks; a part costs some 50 KB of module objects a block


class LoadedBlocks:
    """A loaded span and its parts, which runs forwards and backwards in pieces. For one computing thread."""

    def __init__(self, whole: BlockSpan, *, piece_tokens: int) -> None:
        self.whole = whole
        self.hidden_size = whole.hidden_size
        self.dtype = whole.dtype
        self._piece_tokens = piece_tokens
        self._token_block_s: float | None = None  # the pace of recent forwards
        self._stream: torch.cuda.Stream | None = None
        if whole.device.type == "cuda":
            self._stream = torch.cuda.Stream(whole.device)  # type: ignore[no-untyped-call]
        self._parts: OrderedDict[tuple[Span, bool], BlockSpan] = OrderedDict()  # key: blocks, and whether they are open
        self.kept = KeptPasses()
        self._turn, self._busy = threading.Lock(), threading.Lock()

    @property
    def span(self) -> Span:
        return self.whole.span

    def change(self, whole: BlockSpan) -> None:
        """Use this span, which shares weights with the one before, from now on. Any thread may call it.

        It waits for a call's running piece; the call's next piece raises DRAINING if its blocks are gone.
        """
        with self._in_turn():
            self.whole = whole
            self.forget()

    def forget(self) -> None:
        """Drop the parts and what they keep on the device. Nothing may compute with them."""
        self._parts = OrderedDict()
        self.kept.forget()

    def restored(self) -> BlockSpan:
        """Restore the weights, which must be restorable, and return the span.

        Raises:
            UsageError: other programs took the memory.
            CheckpointError: files changed.
        """
        try:
            self.whole.weights.restore()
        except torch.OutOfMemoryError as error:
            self.whole.free()
            raise UsageError("the device has no room for the layers any more", hint="see what took it") from error
        except CheckpointError:
            self.whole.free()
            raise
        return self.whole

    @property
    def is_restorable(self) -> bool:
        """True if the weights can be restored; if not, the span has to be loaded anew."""
        return self.whole.weights.is_restorable

    def part(self, span: Span, *, is_open: bool = False) -> BlockSpan:
        """Return the blocks of `span`. Open ones accept private adapters, and have slower linear layers.

        Raises RemoteError DRAINING if they are not served any more.
        """
        whole, parts, key = self.whole, self._parts, (span, is_open)
        if span == whole.span and not is_open:
            return whole
        part = parts.get(key)
        if part is None:
            part = parts[key] = self.new_part(span)
            if is_open:
                part.adapters.open(part.layers, span.start)
            while len(parts) > _MAX_PARTS + len(whole.span):
                parts.popitem(last=False)
        parts.move_to_end(key)
        return part

    def new_part(self, span: Span) -> BlockSpan:
        whole = self.whole
        if not whole.span.covers(span):
            raise RemoteError(Code.DRAINING, f"blocks {span} are not served here any more")
        return part_of(whole, span)

    def adapted(self, adapter: str | None, pieces: Generator[int, None, T]) -> Generator[None, None, T]:
        """Run a call's pieces with an adapter; between them the thread may work for other callers.

        Args:
            pieces: yields for each piece the token-blocks of a forward that costs as much.
        """
        while True:
            with self._in_turn():
                begin = time.monotonic()
                with self._aside(), self.whole.adapters.using(adapter):
                    try:
                        token_blocks = next(pieces)
                    except StopIteration as done:
                        result: T = done.value
                        return result
                self._learn(token_blocks, time.monotonic() - begin)
            yield

    def _learn(self, token_blocks: int, seconds: float) -> None:
        found, before = seconds / max(token_blocks, 1), self._token_block_s
        self._token_block_s = found if before is None else before + _SMOOTHING * (found - before)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Hold both locks, so that a change of blocks waits for one piece at most: `_turn` is taken before `_busy`."""
        with self._turn:
            self._busy.acquire()
        try:
            yield
        finally:
            self._busy.release()

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """On a GPU, run the body in another stream than the steps of sessions, and wait for its end."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield
        self._stream.synchronize()

    def forward(self, inputs: CallInputs, keep_as: PassKey | None = None) -> Generator[int, None, Tensor]:
        """Run a stateless forward in pieces; with `keep_as`, keep what a later `backward` of that name needs.

        Return hidden states in the shape of the input, in the blocks' dtype, on the CPU.
        """
        inputs, epoch, room = self._here(inputs), self.kept.epoch, 0 if keep_as is None else self._room()
        cost = BACKWARD_COST if room > 0 else 1  # the gradients of a piece have to fit into one
        outputs, passes, num_bytes = [], [], 0
        for rows in inputs.row_groups(self._row_budget // cost):
            some = inputs.of_rows(rows)
            pieces: list[ForwardPiece] = []
            for piece in self._passed(some, self._groups(some, cost), room - num_bytes):
                if room <= 0:
                    pieces.clear()
                pieces.append(piece)
                yield piece.inputs.token_blocks
            outputs.append(pieces[-1].output.detach())
            if room > 0:
                num_bytes += sum(piece.num_bytes for piece in pieces)
                passes.append((rows, pieces))
        output = (outputs[0] if len(outputs) == 1 else torch.cat(outputs)).cpu()
        if keep_as is not None and num_bytes:
            self.kept.add(keep_as, inputs.hidden, inputs.prompts, passes, num_bytes=num_bytes, epoch=epoch)
        return output

    def backward(
        self, inputs: CallInputs, grad: Tensor, kept_as: PassKey | None = None
    ) -> Generator[int, None, Gradients]:
        """Run a stateless backward in pieces: the forward again, unless it was kept, and then the gradients.

        Return gradients in the shapes of the inputs, on the CPU. `grad` has the shape of the hidden states.
        """
        inputs = self._here(inputs)
        grad = grad.to(inputs.hidden)
        passes = None if kept_as is None else self.kept.pop(kept_as, inputs.hidden, inputs.prompts)
        found: list[Gradients] = []
        for rows, pieces in passes or [(rows, []) for rows in inputs.row_groups(self._row_budget // BACKWARD_COST)]:
            if not pieces:
                some = inputs.of_rows(rows)
                *first, last = self._groups(some, BACKWARD_COST)
                for piece in self._passed(some, first, self._room()):
                    pieces.append(piece)
                    yield piece.inputs.token_blocks
                current = pieces[-1].output.detach() if pieces else some.hidden
                pieces.append(ForwardPiece(some.of_blocks(last, current), current))  # is run with its gradients
            of_output = grad[rows]
            of_prompts: list[Tensor | None] = []
            of_adapter: list[Tensor | None] = []
            while pieces:
                piece = pieces.pop()
                # Raises DRAINING if these blocks left since the forward.
                self.part(piece.inputs.span, is_open=piece.inputs.private is not None)
                gained = piece.gradients(of_output) if piece.leaves else self.backward_piece(piece.inputs, of_output)
                of_output = gained.hidden
                of_prompts.insert(0, gained.prompts)
                of_adapter.insert(0, gained.adapter)
                yield BACKWARD_COST * piece.inputs.token_blocks
            found.append(Gradients(of_output, _joined(of_prompts, torch.cat), _joined(of_adapter, torch.cat)))
        is_shared = inputs.prompts is not None and inputs.prompts.shape[1] != inputs.hidden.shape[0]
        return Gradients(
            torch.cat([each.hidden for each in found]).cpu(),
            _joined([each.prompts for each in found], _total if is_shared else partial(torch.cat, dim=1)),
            _joined([each.adapter for each in found], _total),
        )

    def _passed(self, inputs: CallInputs, groups: Iterable[Span], room: int) -> Iterator[ForwardPiece]:
        """Run the forward of some rows, and keep at most `room` bytes for their gradients."""
        current, given = inputs.hidden, inputs.given
        for blocks in groups:
            piece = self._run_piece(inputs.of_blocks(blocks, current), room)
            room -= piece.num_bytes
            current = piece.output.detach()
            if given is not None and piece.inputs.given is not None:
                given.gap = max(given.gap, piece.inputs.given.gap)
            yield piece

    def _run_piece(self, inputs: CallInputs, room: int) -> ForwardPiece:
        """Run a piece, and keep what its gradients need if that takes at most `room` bytes."""
        part = self.part(inputs.span, is_open=inputs.private is not None)
        if room <= 0:
            # Tensors made in inference_mode can't take part in autograd later.
            with torch.no_grad(), part.routers.repeating(inputs.given):
                return ForwardPiece(inputs, run_pass(part, inputs))
        weights = {each.untyped_storage().data_ptr() for each in part.layers.parameters()}
        sizes: dict[int, int] = {}

        def measure(saved: Tensor) -> Tensor:
            storage = saved.untyped_storage()
            if storage.data_ptr() not in weights:
                sizes[storage.data_ptr()] = storage.nbytes()
            return saved.detach()  # an output that its own node saved would keep itself alive

        with torch.autograd.graph.saved_tensors_hooks(measure, lambda saved: saved):
            piece = record_pass(part, inputs)
        piece.num_bytes = sum(sizes.values())
        return piece if piece.num_bytes <= room else ForwardPiece(inputs, piece.output.detach())

    def backward_piece(self, inputs: CallInputs, grad: Tensor) -> Gradients:
        """Run a piece's forward again, and return the gradients of its inputs."""
        return backward_of(self.part(inputs.span, is_open=inputs.private is not None), inputs, grad)

    def _room(self) -> int:
        """Return how many more bytes of intermediate results may be kept."""
        return 0 if self.whole.weights.stream is not None else _KEPT_BYTES - self.kept.num_bytes

    @property
    def _budget(self) -> int:
        """Return the token-blocks of the largest piece of a forward; few, until some were measured."""
        if self._token_block_s is None:
            return min(_FIRST_TOKENS, self._piece_tokens) * len(self.span)
        in_time = longest_piece_s(self.whole.device.type) / max(self._token_block_s, 1e-9)
        return min(int(in_time), self._piece_tokens * len(self.span))

    @property
    def _row_budget(self) -> int:
        """Return the token-blocks of the largest group of rows; each group fetches streamed weights again."""
        return self._budget if self.whole.weights.stream is None else self._piece_tokens * len(self.span)

    def _groups(self, inputs: CallInputs, cost: int) -> Iterator[Span]:
        """Yield consecutive groups of blocks, each within the budget, or single blocks."""
        start, end = inputs.span.start, inputs.span.end
        tokens = max(inputs.hidden.shape[0] * inputs.hidden.shape[1], 1)
        while start < end:
            blocks = Span(start, min(start + max(self._budget // cost // tokens, 1), end))
            yield blocks
            start = blocks.end

    def _here(self, inputs: CallInputs) -> CallInputs:
        """Return the inputs in the blocks' dtype and on their device."""
        to, prompts = (self.whole.device, self.dtype), inputs.prompts
        return replace(inputs, hidden=inputs.hidden.to(*to), prompts=None if prompts is None else prompts.to(*to))


def _joined(parts: Sequence[Tensor | None], join: Callable[[list[Tensor]], Tensor]) -> Tensor | None:
    """Join the gradients of several pieces on the CPU; None if there are none."""
    known = [each for each in parts if each is not None]
    return join(known).cpu() if known else None


def _total(parts: list[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0])
