"""Holds the blocks that an engine serves, makes parts of them, and runs stateless calls in bounded pieces.

Callers may ask for a part of the span; a part shares the weights of the whole. A span is not re-entrant, so each
computing thread has parts of its own. A piece costs at most what `piece_tokens` cost through the whole span (backward
counts three times), and less where recent pieces foretell that it would take longer than a game may wait, but one row
through one block at least. A call is cut between blocks rather than between rows, because that changes no number.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache.session_cache import DifferentiableCache
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.expert_choices import GivenChoices
from potluck.blocks.span.reshaping import part_of
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.compute.passes import KeptPasses, PassKey
from potluck_engine.compute.steps import longest_piece_s

T = TypeVar("T")

BACKWARD_COST = 3  # the forward again, and twice its work for the gradients
_KEPT_BYTES = 256 << 20
"""Of intermediate results that all calls together keep from forwards to gradients; more are computed twice."""

_FIRST_TOKENS = 64  # through the whole span, of a piece before any was measured
_SMOOTHING = 0.5  # weight of the newest piece: their time changes when sessions begin or end
_MAX_PARTS = 64  # kept besides single blocks; a part costs some 50 KB of module objects a block


@dataclass(frozen=True, slots=True)
class CallInputs:
    """What a stateless call runs through the blocks of `span`.

    Shapes: hidden [batch, tokens, hidden_size]; prompts [blocks, batch or 1, p, hidden_size].

    Attributes:
        given: the experts to choose for the tokens of the only row; it learns the largest gap.
    """

    span: Span
    hidden: Tensor
    prompts: Tensor | None = None
    private: PrivateAdapter | None = None
    given: GivenChoices | None = None

    def row_groups(self, budget: int) -> list[slice]:
        """Return groups of rows, each within `budget` token-blocks for one block, or one row."""
        rows, tokens = self.hidden.shape[:2]
        size = rows if rows * tokens <= budget else max(budget // tokens, 1)
        return [slice(start, start + size) for start in range(0, rows, size)]

    def of_rows(self, some: slice) -> CallInputs:
        """Return what some of the rows are given."""
        prompts = self.prompts
        if prompts is not None and prompts.shape[1] > 1:
            prompts = prompts[:, some]
        return replace(self, hidden=self.hidden[some], prompts=prompts)

    @property
    def token_blocks(self) -> int:
        """Return how many tokens these are, each counted for each block."""
        return self.hidden.shape[0] * self.hidden.shape[1] * len(self.span)

    def of_blocks(self, blocks: Span, hidden: Tensor) -> CallInputs:
        """Return what some of the blocks are given, `hidden` being the output of those before them."""
        first, end = blocks.start - self.span.start, blocks.end - self.span.start
        return CallInputs(
            blocks,
            hidden,
            None if self.prompts is None else self.prompts[first:end],
            None if self.private is None else self.private.cut(blocks),
            None if self.given is None else self.given.cut(first, end),
        )


class LoadedBlocks:
    """A loaded span with its parts, and forward and backward in pieces; one thread uses it."""

    def __init__(self, whole: BlockSpan, *, piece_tokens: int) -> None:
        self.whole = whole
        self.hidden_size = whole.hidden_size
        self.dtype = whole.dtype
        self._piece_tokens = piece_tokens
        self._token_block_s: float | None = None  # of forwards, from recent pieces
        self._stream: torch.cuda.Stream | None = None
        if whole.device.type == "cuda":
            self._stream = torch.cuda.Stream(whole.device)  # type: ignore[no-untyped-call]
        self._parts: OrderedDict[tuple[Span, bool], BlockSpan] = OrderedDict()  # by blocks, and whether it is open
        self.kept: KeptPasses[list[tuple[slice, list[_Piece]]]] = KeptPasses()
        self._turn, self._busy = threading.Lock(), threading.Lock()

    @property
    def span(self) -> Span:
        return self.whole.span

    def change(self, whole: BlockSpan) -> None:
        """Use this span from now on, which shares weights with the one before. Any thread may call it.

        It waits for the running piece of a call; the next one raises DRAINING if its blocks are gone.
        """
        with self._in_turn():
            self.whole = whole
            self.forget()

    def forget(self) -> None:
        """Drop the parts and what they keep of the device. Nothing may compute with them."""
        self._parts = OrderedDict()
        self.kept.forget()

    def restored(self) -> BlockSpan:
        """Take the weights again, if `is_restorable`, and return the span.

        Raises:
            UsageError: others took the memory.
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
        """True if the weights can be restored; if not, the span must be loaded anew."""
        return self.whole.weights.is_restorable

    def part(self, span: Span, *, is_open: bool = False) -> BlockSpan:
        """Return the blocks of `span`; open ones take private adapters, at the price of slower linear layers.

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
        """Run `pieces` of a call with an adapter; between them the thread may work for other callers.

        Args:
            pieces: each yields the token-blocks of a forward that costs as much.
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
        """Let a change of blocks wait for one piece at most: who waits for `_busy` has `_turn`."""
        with self._turn:
            self._busy.acquire()
        try:
            yield
        finally:
            self._busy.release()

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """On a GPU, run the body in a stream beside the steps of sessions, and wait for its end."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield
        self._stream.synchronize()

    def forward(self, inputs: CallInputs, keep_as: PassKey | None = None) -> Generator[int, None, Tensor]:
        """Run a stateless forward. With `keep_as`, keep what the gradients need for a `backward` that names it.

        Return hidden states as those of `inputs`, in the blocks' dtype, on the CPU.
        """
        inputs, epoch, room = self._here(inputs), self.kept.epoch, 0 if keep_as is None else self._room()
        cost = BACKWARD_COST if room > 0 else 1  # so that its gradients fit into a piece
        outputs, passes, num_bytes = [], [], 0
        for rows in inputs.row_groups(self._row_budget // cost):
            some = inputs.of_rows(rows)
            pieces: list[_Piece] = []
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
        """Run a stateless backward: the forward again, unless it was kept, then gradients, in pieces of some blocks.

        Return gradients shaped as what they belong to, on the CPU; `grad` is as the hidden states.
        """
        inputs = self._here(inputs)
        grad = grad.to(inputs.hidden)
        passes = None if kept_as is None else self.kept.take(kept_as, inputs.hidden, inputs.prompts)
        found: list[Gradients] = []
        for rows, pieces in passes or [(rows, []) for rows in inputs.row_groups(self._row_budget // BACKWARD_COST)]:
            if not pieces:
                some = inputs.of_rows(rows)
                *first, last = self._groups(some, BACKWARD_COST)
                for piece in self._passed(some, first, self._room()):
                    pieces.append(piece)
                    yield piece.inputs.token_blocks
                current = pieces[-1].output.detach() if pieces else some.hidden
                pieces.append(_Piece(some.of_blocks(last, current), current))  # is run with its gradients
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

    def _passed(self, inputs: CallInputs, groups: Iterable[Span], room: int) -> Iterator[_Piece]:
        """Run the forward of some rows, and keep at most `room` bytes for their gradients."""
        current, given = inputs.hidden, inputs.given
        for blocks in groups:
            piece = self._run(inputs.of_blocks(blocks, current), room)
            room -= piece.num_bytes
            current = piece.output.detach()
            if given is not None and piece.inputs.given is not None:
                given.gap = max(given.gap, piece.inputs.given.gap)
            yield piece

    def _run(self, inputs: CallInputs, room: int) -> _Piece:
        """Run a piece; keep what its gradients need if that takes no more than `room` bytes."""
        part = self.part(inputs.span, is_open=inputs.private is not None)
        if room <= 0:
            # Not inference_mode: its tensors can't take part in autograd later.
            with torch.no_grad(), part.routers.repeating(inputs.given):
                return _Piece(inputs, _run(part, inputs))
        weights = {each.untyped_storage().data_ptr() for each in part.layers.parameters()}
        sizes: dict[int, int] = {}

        def note(saved: Tensor) -> Tensor:
            storage = saved.untyped_storage()
            if storage.data_ptr() not in weights:
                sizes[storage.data_ptr()] = storage.nbytes()
            return saved.detach()  # an output that its own node saved would keep itself alive

        with torch.autograd.graph.saved_tensors_hooks(note, lambda saved: saved):
            piece = _record(part, inputs)
        piece.num_bytes = sum(sizes.values())
        return piece if piece.num_bytes <= room else _Piece(inputs, piece.output.detach())

    def backward_piece(self, inputs: CallInputs, grad: Tensor) -> Gradients:
        """Return the gradients of what a piece is given, given that of its output."""
        return backward_of(self.part(inputs.span, is_open=inputs.private is not None), inputs, grad)

    def _room(self) -> int:
        """Return how many more bytes of intermediate results may be kept for gradients."""
        return 0 if self.whole.weights.stream is not None else _KEPT_BYTES - self.kept.num_bytes

    @property
    def _budget(self) -> int:
        """Return the token-blocks of the largest piece of a forward; few until some were measured."""
        if self._token_block_s is None:
            return min(_FIRST_TOKENS, self._piece_tokens) * len(self.span)
        in_time = longest_piece_s(self.whole.device.type) / max(self._token_block_s, 1e-9)
        return min(int(in_time), self._piece_tokens * len(self.span))

    @property
    def _row_budget(self) -> int:
        """Return the token-blocks of the largest group of rows. Each group fetches all weights that are streamed."""
        return self._budget if self.whole.weights.stream is None else self._piece_tokens * len(self.span)

    def _groups(self, inputs: CallInputs, cost: int) -> Iterator[Span]:
        """Yield consecutive groups of blocks, each within the budget of its time, or single blocks."""
        start, end = inputs.span.start, inputs.span.end
        tokens = max(inputs.hidden.shape[0] * inputs.hidden.shape[1], 1)
        while start < end:
            blocks = Span(start, min(start + max(self._budget // cost // tokens, 1), end))
            yield blocks
            start = blocks.end

    def _here(self, inputs: CallInputs) -> CallInputs:
        """Move tensors to the blocks' dtype and device."""
        to, prompts = (self.whole.device, self.dtype), inputs.prompts
        return replace(inputs, hidden=inputs.hidden.to(*to), prompts=None if prompts is None else prompts.to(*to))


class Gradients(NamedTuple):
    """Gradients in the shapes of what they belong to: hidden states, prompts, the values of a private adapter."""

    hidden: Tensor
    prompts: Tensor | None = None
    adapter: Tensor | None = None


@dataclass(slots=True)
class _Piece:
    """A forward of some rows through some blocks, and what its gradients need.

    Attributes:
        leaves: hidden states, prompts and the adapter's values, None for what was not given; empty: nothing was kept,
            and the forward is run again.
        num_bytes: of intermediate results that are kept, weights not counted.
    """

    inputs: CallInputs
    output: Tensor
    leaves: tuple[Tensor | None, ...] = ()
    num_bytes: int = 0

    def gradients(self, grad: Tensor) -> Gradients:
        _, prompts, values = self.leaves
        found = torch.autograd.grad(self.output, [leaf for leaf in self.leaves if leaf is not None], grad)
        return Gradients(found[0], None if prompts is None else found[1], None if values is None else found[-1])


def backward_of(part: BlockSpan, inputs: CallInputs, grad: Tensor) -> Gradients:
    """Run the forward again and return the gradients of what was given."""
    return _record(part, inputs).gradients(grad)


def _record(part: BlockSpan, inputs: CallInputs) -> _Piece:
    prompts, private, values = inputs.prompts, inputs.private, None
    with torch.enable_grad():
        hidden = inputs.hidden.detach().requires_grad_()
        if prompts is not None:
            prompts = prompts.detach().requires_grad_()
        if private is not None and private.layout.places:
            values = private.values.detach().requires_grad_()
            private = PrivateAdapter(private.layout, values)
        output = _run(part, replace(inputs, hidden=hidden, prompts=prompts, private=private))
        return _Piece(inputs, output, (hidden, prompts, values))


def _run(part: BlockSpan, inputs: CallInputs) -> Tensor:
    """Run a part, with a private adapter if there is one; else a served adapter that is in use stays so."""
    hidden, private = inputs.hidden, inputs.private
    if private is None:
        return part.forward(hidden, None, inputs.prompts)
    cache = None
    if private.layout.prefix_tokens:
        cache = private.fill(DifferentiableCache(part.decoder.config), hidden.shape[0], hidden.dtype)
    with part.adapters.using(private):
        return part.forward(hidden, cache, inputs.prompts)


def _joined(parts: Sequence[Tensor | None], join: Callable[[list[Tensor]], Tensor]) -> Tensor | None:
    """Return gradients of several pieces as one, on the CPU; None if there are none."""
    known = [each for each in parts if each is not None]
    return join(known).cpu() if known else None


def _total(parts: list[Tensor]) -> Tensor:
    return sum(parts[1:], parts[0])
