"""Changes the span of an engine while it serves: blocks come one at a time, others go, the rest is not touched.

    grow:   file on the disk -> block in memory and tried out, beside the steps of sessions -> served -> announced
    shrink: announced -> sessions over these blocks leave, or are ended -> no longer served -> memory given back

Everything that waits may be cancelled; an exchange of blocks that has begun is carried to its end (`settle`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from potluck_control.engine_messages import OnEvent, Reshaped

from potluck.blocks import BlockSpan
from potluck.blocks.reshaping import NotReshapableError, reshaped
from potluck.protocol.blocks import Span
from potluck_engine.announcing import Announcements
from potluck_engine.in_thread import in_thread
from potluck_engine.loaded_blocks import trim_memory
from potluck_engine.loading import check
from potluck_engine.span_state import SpanState

log = logging.getLogger(__name__)

HAND_OVER_S = 10.0  # for sessions to go on elsewhere; clients that decode need about one
HURRIED_S = 2.0  # while others wait for blocks that nobody serves: sessions stuck there never hear of it


class LiveSpan:
    """Changes what `state` serves, one change at a time. `state` is set whenever a span is brought up.

    Args:
        load: loads some blocks; called in a thread.
    """

    state: SpanState

    def __init__(self, announcements: Announcements, load: Callable[[Span], BlockSpan], on_event: OnEvent) -> None:
        self._announcements = announcements
        self._load = load
        self._on_event = on_event
        self._exchange: asyncio.Task[None] | None = None

    @property
    def span(self) -> Span:
        return self.state.blocks.span

    async def grow(self, block: int) -> None:
        """Serve one more block, at either end. Raises PotluckError; then nothing has changed."""
        old = self.state.blocks.whole
        if not old.is_reshapable:
            raise NotReshapableError("they are streamed, on several devices, or have adapters")
        new = await self._loaded(Span(block, block + 1))
        pieces = [new, old] if block < old.span.start else [old, new]
        span = Span(pieces[0].span.start, pieces[1].span.end)
        whole = await in_thread(lambda: reshaped(pieces, span))
        await self._carry_out(whole)
        log.info("block %d is served, all together %s", block, span)
        await self._announcements.tell()

    async def shrink(self, kept: Span, *, patience_s: float) -> None:
        """Serve only `kept` after sessions had `patience_s` to leave. Raises PotluckError; then nothing has changed."""
        old = self.state.blocks.whole
        whole = await in_thread(lambda: reshaped([old], kept))
        self.state.admission.kept = kept
        await self._announcements.tell()
        await self.state.hand_over(kept, patience_s=patience_s)
        await self._carry_out(whole)
        log.info("blocks %s are served, of %s", kept, old.span)

    async def settle(self) -> None:
        """Finish an exchange that had begun before a change was cancelled, and call the rest of the change off."""
        if self._exchange is not None:
            await asyncio.wait({self._exchange})
        whole = self.state.blocks.whole
        self.state.admission.serve(whole.span, whole.digests)

    async def _loaded(self, span: Span) -> BlockSpan:
        loading = asyncio.create_task(in_thread(lambda: _load_and_check(self._load, span)))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            loading.add_done_callback(_discard)
            raise

    async def _carry_out(self, whole: BlockSpan) -> None:
        self._exchange = asyncio.create_task(self._swap(whole))
        await asyncio.shield(self._exchange)

    async def _swap(self, whole: BlockSpan) -> None:
        old = self.state.blocks.whole
        await self.state.change(whole)
        gone = [block for block in old.span if block not in whole.span]
        if gone:
            await asyncio.to_thread(_free, old, gone)
        self._on_event(Reshaped(whole.span, self._announcements.target))


def _load_and_check(load: Callable[[Span], BlockSpan], span: Span) -> BlockSpan:
    blocks = load(span)
    check(blocks)
    return blocks


def _free(blocks: BlockSpan, gone: list[int]) -> None:
    for block in gone:
        blocks.weights.let_go(Span(block, block + 1))
    trim_memory(blocks.device)


def _discard(loading: asyncio.Task[BlockSpan]) -> None:
    """Free blocks that nobody waits for any more."""
    if not loading.cancelled() and loading.exception() is None:
        loading.result().weights.free()
