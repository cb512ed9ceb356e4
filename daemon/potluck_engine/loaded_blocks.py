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
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from potluck.blocks import BlockSpan
from potluck.blocks.accelerators import empty_cache
from potluck.blocks.adapters import PrivateAdapter
from potluck.blocks.cache import DifferentiableCache
from potluck.blocks.heap import trim_heap
from potluck.blocks.reshaping import part_of
from potluck.blocks.routing import Given
from potluck.errors import CheckpointError, UsageError
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck_engine.kept_passes import KeptPasses, PassKey

T = TypeVar("T")

BACKWARD_COST = 3  # the forward again, and twice its work for the gradients
_KEPT_BYTES = 256 << 20
"""Of intermediate results that all calls together keep from forwards to gradients; more are computed twice."""

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
        self._parts: OrderedDict[tuple[Span, bool], BlockSpan] = OrderedDict()  # by blocks, and whether it is open
        self.kept: KeptPasses[list[_Recording]] = KeptPasses()

    @property
    def span(self) -> Span:
        return self.whole.span

    def change(self, whole: BlockSpan) -> None:
        """Use this span from now on, which shares weights with the one before. Any thread may call it."""
        self.whole, self._parts = whole, OrderedDict()
        self.kept.forget()

    def free(self) -> None:
        """Give the memory of all weights back at once, to the system and to the device.

        Nothing can be computed before `restore`. Parts are freed and restored with the whole.
        """
        self.whole.weights.free()
        self.whole.adapters.unload()
        trim_memory(self.whole.device)

    def restored(self) -> BlockSpan:
        """Take the weights again, if `is_restorable`, and return the span.

        Raises:
            UsageError: others took the memory.
            CheckpointError: files changed.
        """
        try:
            self.whole.weights.restore()
        except torch.OutOfMemoryError as error:
            self.free()
            raise UsageError("the device has no room for the blocks any more", hint="see what took it") from error
        except CheckpointError:
            self.free()
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

    def forward(
        self,
        span: Span,
        hidden: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None = None,
        *,
        keep_as: PassKey | None = None,
        given: Given | None = None,
    ) -> Generator[None, None, Tensor]:
        """Run a stateless forward. With `keep_as`, keep what the gradients need for a `backward` that names it.

        Args:
            given: the experts to choose for the tokens of the only row.

        Shapes: hidden [batch, tokens, hidden_size] any float, on the CPU; prompts [blocks, batch or 1, p, hidden_size];
        returns as hidden, in the blocks' dtype, on the CPU.
        """
        hidden, prompts = self._enter(hidden, prompts)
        if keep_as is not None and self.kept.num_bytes < self.kept_bytes:
            return (yield from self._forward_to_keep(keep_as, hidden, prompts, private))
        outputs = []
        for rows in _row_groups(hidden, len(span), self._budget()):
            current, some_prompts = hidden[rows], _rows_of(prompts, rows)
            for blocks in self._block_groups(current, span, self._budget()):
                with torch.inference_mode():
                    current = self._apply(blocks, span, current, _blocks_of(some_prompts, blocks, span), private, given)
                yield
            outputs.append(current)
        with torch.inference_mode():
            return (outputs[0] if len(outputs) == 1 else torch.cat(outputs)).cpu()

    def _forward_to_keep(
        self, key: PassKey, hidden: Tensor, prompts: Tensor | None, private: PrivateAdapter | None
    ) -> Generator[None, None, Tensor]:
        epoch, budget, num_bytes = self.kept.epoch, self._budget() // BACKWARD_COST, 0
        recordings: list[_Recording] = []
        for rows in _row_groups(hidden, len(key.span), budget):
            room = self.kept_bytes - self.kept.num_bytes - num_bytes
            pieces = self._recorded(key.span, hidden[rows], _rows_of(prompts, rows), private, budget, room, is_all=True)
            recordings.append((yield from pieces))
            num_bytes += recordings[-1].num_bytes
        output = torch.cat([each.output for each in recordings]).cpu()
        if num_bytes:
            self.kept.add(key, hidden, prompts, recordings, num_bytes=num_bytes, epoch=epoch)
        return output

    def backward(
        self,
        span: Span,
        hidden: Tensor,
        grad: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None = None,
        *,
        kept_as: PassKey | None = None,
    ) -> Generator[None, None, Gradients]:
        """Run a stateless backward: the forward again, unless it was kept, then gradients, in pieces of some blocks.

        Shapes: hidden, grad and prompts as in `forward`; returns gradients shaped as what they belong to, on the CPU.
        """
        hidden, prompts = self._enter(hidden, prompts)
        grad, _ = self._enter(grad, None)
        budget = self._budget() // BACKWARD_COST
        kept = None if kept_as is None else self.kept.take(kept_as, hidden, prompts)
        found: list[Gradients] = []
        for index, rows in enumerate(_row_groups(hidden, len(span), budget)):
            some = _rows_of(prompts, rows)
            if kept is None:
                room = self.kept_bytes - self.kept.num_bytes
                recording = yield from self._recorded(span, hidden[rows], some, private, budget, room)
            else:
                recording = kept[index]
            found.append((yield from self._gradients(span, recording, grad[rows], some, private)))
        of_prompts = [each.prompts for each in found if each.prompts is not None]
        of_adapter = [each.adapter for each in found if each.adapter is not None]
        prompt_grad = None
        if prompts is not None:  # one prompt for all rows: its gradient is their sum
            shared = prompts.shape[1] != hidden.shape[0]
            prompt_grad = (sum(of_prompts[1:], of_prompts[0]) if shared else torch.cat(of_prompts, dim=1)).cpu()
        adapter_grad = sum(of_adapter[1:], of_adapter[0]).cpu() if of_adapter else None
        return Gradients(torch.cat([each.hidden for each in found]).cpu(), prompt_grad, adapter_grad)

    def _recorded(
        self,
        span: Span,
        hidden: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None,
        budget: int,
        room: int,
        *,
        is_all: bool = False,
    ) -> Generator[None, None, _Recording]:
        """Run the forward of some rows, and keep at most `room` bytes for their gradients.

        Args:
            is_all: whether the last group of blocks runs too, whose forward a backward runs with its gradients.
        """
        groups = list(self._block_groups(hidden, span, budget))
        recording = _Recording(groups, [], hidden)
        for blocks in groups if is_all else groups[:-1]:
            own = None if private is None else private.cut(blocks)
            part, current = self.part(blocks, is_open=own is not None), recording.output
            passed = _run_forward(part, current, _blocks_of(prompts, blocks, span), own, room - recording.num_bytes)
            recording.inputs.append(passed if passed.num_bytes else current)
            recording.num_bytes += passed.num_bytes
            recording.output = passed.output.detach()
            del passed
            yield
        if not is_all:
            recording.inputs.append(recording.output)
        return recording

    def _gradients(
        self,
        span: Span,
        recording: _Recording,
        grad: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None,
    ) -> Generator[None, None, Gradients]:
        prompt_grads: list[Tensor] = []
        adapter_grads: list[Tensor] = []
        for blocks in reversed(recording.groups):
            before = recording.inputs.pop()
            if isinstance(before, _Recorded):
                found = before.gradients(grad)
            else:
                own = None if private is None else private.cut(blocks)
                found = self.backward_piece(blocks, before, grad, _blocks_of(prompts, blocks, span), own)
            grad = found.hidden
            if found.prompts is not None:
                prompt_grads.insert(0, found.prompts)
            if found.adapter is not None:
                adapter_grads.insert(0, found.adapter)
            yield
        return Gradients(
            grad,
            torch.cat(prompt_grads) if prompt_grads else None,
            torch.cat(adapter_grads) if adapter_grads else None,
        )

    def _apply(
        self,
        blocks: Span,
        whole: Span,
        hidden: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None,
        given: Given | None,
    ) -> Tensor:
        own = None if private is None else private.cut(blocks)
        part = self.part(blocks, is_open=own is not None)
        some = None if given is None else given.cut(blocks.start - whole.start, blocks.end - whole.start)
        with part.repeating(some):
            output = _run(part, hidden, prompts, own)
        if given is not None and some is not None:
            given.gap = max(given.gap, some.gap)
        return output

    @property
    def kept_bytes(self) -> int:
        """Return how many bytes of intermediate results may be kept for gradients."""
        return 0 if self.whole.weights.stream is not None else _KEPT_BYTES

    def backward_piece(
        self,
        blocks: Span,
        hidden: Tensor,
        grad: Tensor,
        prompts: Tensor | None,
        private: PrivateAdapter | None = None,
    ) -> Gradients:
        """Return the gradients of what a piece was given, given that of its output."""
        return backward_of(self.part(blocks, is_open=private is not None), hidden, grad, prompts, private)

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


class Gradients(NamedTuple):
    """Gradients in the shapes of what they belong to: hidden states, prompts, the values of a private adapter."""

    hidden: Tensor
    prompts: Tensor | None = None
    adapter: Tensor | None = None


@dataclass(slots=True)
class _Recorded:
    """A forward of some blocks, and what its gradients need.

    Attributes:
        leaves: hidden states, prompts and the adapter's values; None for what was not given.
        num_bytes: of intermediate results, weights not counted; 0: none are kept.
    """

    leaves: tuple[Tensor | None, ...]
    output: Tensor
    num_bytes: int

    def gradients(self, grad: Tensor) -> Gradients:
        given = [leaf for leaf in self.leaves if leaf is not None]
        found = iter(torch.autograd.grad(self.output, given, grad))
        hidden, prompts, adapter = (None if leaf is None else next(found) for leaf in self.leaves)
        assert hidden is not None
        return Gradients(hidden, prompts, adapter)


@dataclass(slots=True)
class _Recording:
    """The forward of some rows, group of blocks by group.

    Attributes:
        inputs: for each group what its gradients need: what was recorded, or its input.
        output: of the last group that ran.
    """

    groups: list[Span]
    inputs: list[Tensor | _Recorded]
    output: Tensor
    num_bytes: int = 0


def backward_of(
    part: BlockSpan,
    hidden: Tensor,
    grad: Tensor,
    prompts: Tensor | None,
    private: PrivateAdapter | None = None,
) -> Gradients:
    """Run the forward again and return the gradients of what was given."""
    return _record(part, hidden, prompts, private).gradients(grad)


def _run_forward(
    part: BlockSpan, hidden: Tensor, prompts: Tensor | None, private: PrivateAdapter | None, room: int
) -> _Recorded:
    """Run the forward of a backward's piece; keep what its gradients need if that takes no more than `room` bytes."""
    if room <= 0:
        with torch.no_grad():  # not inference_mode: its tensors cannot take part in autograd later
            return _Recorded((), _run(part, hidden, prompts, private), 0)
    weights = {each.untyped_storage().data_ptr() for each in part.layers.parameters()}
    sizes: dict[int, int] = {}

    def note(saved: Tensor) -> Tensor:
        storage = saved.untyped_storage()
        if storage.data_ptr() not in weights:
            sizes[storage.data_ptr()] = storage.nbytes()
        return saved.detach()  # an output that its own node saved would keep itself alive

    with torch.autograd.graph.saved_tensors_hooks(note, _as_it_is):
        recorded = _record(part, hidden, prompts, private)
    recorded.num_bytes = sum(sizes.values())
    return recorded if recorded.num_bytes <= room else _Recorded((), recorded.output.detach(), 0)


def _record(part: BlockSpan, hidden: Tensor, prompts: Tensor | None, private: PrivateAdapter | None) -> _Recorded:
    with torch.enable_grad():
        own_hidden = hidden.detach().requires_grad_()
        own_prompts = None if prompts is None else prompts.detach().requires_grad_()
        values = None
        if private is not None and private.layout.places:
            values = private.values.detach().requires_grad_()
            private = PrivateAdapter(private.layout, values)
        output = _run(part, own_hidden, own_prompts, private)
        return _Recorded((own_hidden, own_prompts, values), output, 0)


def _run(part: BlockSpan, hidden: Tensor, prompts: Tensor | None, private: PrivateAdapter | None) -> Tensor:
    """Run a part, with a private adapter if there is one; else a served adapter that is in use stays so."""
    if private is None:
        return part.forward(hidden, None, prompts)
    cache = None
    if private.layout.prefix_tokens:
        cache = private.fill(DifferentiableCache(part.decoder.config), hidden.shape[0], hidden.dtype)
    with part.adapters.using(private):
        return part.forward(hidden, cache, prompts)


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
