"""The span of an engine while it serves: new blocks come one at a time, others go, what stays is not touched.

    grow:   file on the disk -> block in memory and tried out, beside the steps of sessions -> served -> announced
    shrink: announced -> who uses these blocks leaves, in time or sent away -> not served -> memory given back

Whatever waits may be cancelled; a change that has begun is carried to its end (`settle`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from potluck.blocks import BlockSpan
from potluck.blocks.reshaping import NotReshapableError, reshaped
from potluck.protocol.blocks import Span
from potluck_engine.announcing import Announcements
from potluck_engine.blocks import trim_memory
from potluck_engine.in_thread import in_thread
from potluck_engine.loading import check
from potluck_engine.serving import Serving

log = logging.getLogger(__name__)

HAND_OVER_S = 10.0  # for sessions to go on elsewhere; clients that decode need about one
HURRIED_S = 2.0  # where others wait for blocks that nobody serves: sessions that hang there never hear of it


class LiveSpan:
    """Changes what `serving` serves, which is set whenever something is. One change at a time.

    Args:
        load: loads some blocks; called in a thread.
        on_change: called when other blocks are served, with all that are.
    """

    serving: Serving

    def __init__(
        self, announcements: Announcements, load: Callable[[Span], BlockSpan], on_change: Callable[[Span], None]
    ) -> None:
        self._announcements = announcements
        self._load = load
        self._on_change = on_change
        self._change: asyncio.Task[None] | None = None

    @property
    def span(self) -> Span:
        return self.serving.blocks.span

    async def grow(self, block: int) -> None:
        """Serve one more block, at either end. Raises PotluckError; then nothing has changed."""
        old = self.serving.blocks.whole
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
        """Serve no more than `kept`; others have so long to leave. Raises PotluckError; then nothing has changed."""
        old = self.serving.blocks.whole
        whole = await in_thread(lambda: reshaped([old], kept))
        self.serving.admission.kept = kept
        await self._announcements.tell()
        await self.serving.hand_over(kept, patience_s=patience_s)
        await self._carry_out(whole)
        log.info("blocks %s are served, of %s", kept, old.span)

    async def settle(self) -> None:
        """After a cancelled change: what had begun is done, what had not is called off."""
        if self._change is not None:
            await asyncio.wait({self._change})
        whole = self.serving.blocks.whole
        self.serving.admission.serve(whole.span, whole.digests)

    async def _loaded(self, span: Span) -> BlockSpan:
        loading = asyncio.create_task(in_thread(lambda: _load_and_check(self._load, span)))
        try:
            return await asyncio.shield(loading)
        except asyncio.CancelledError:
            loading.add_done_callback(_discard)
            raise

    async def _carry_out(self, whole: BlockSpan) -> None:
        self._change = asyncio.create_task(self._swap(whole))
        await asyncio.shield(self._change)

    async def _swap(self, whole: BlockSpan) -> None:
        old = self.serving.blocks.whole
        await self.serving.change(whole)
        gone = [block for block in old.span if block not in whole.span]
        if gone:
            await asyncio.to_thread(_free, old, gone)
        self._on_change(whole.span)


def _load_and_check(load: Callable[[Span], BlockSpan], span: Span) -> BlockSpan:
    blocks = load(span)
    check(blocks)
    return blocks


def _free(blocks: BlockSpan, gone: list[int]) -> None:
    for block in gone:
        blocks.weights.let_go(Span(block, block + 1))
    trim_memory(blocks.device)


def _discard(loading: asyncio.Task[BlockSpan]) -> None:
    """Nobody waits for these blocks any more, and their memory may be wanted."""
    if not loading.cancelled() and loading.exception() is None:
        loading.result().weights.free()
