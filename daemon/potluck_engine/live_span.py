"""Changes the span of a service while it serves: blocks come one at a time, others go, the rest is not touched.

    grow:   file on the disk -> block in memory and tried out, beside the steps of sessions -> served
    shrink: announced -> sessions over these blocks leave, or are ended -> no longer served -> memory given back

Everything that waits may be cancelled; an exchange of blocks that has begun is carried to its end. The caller holds
the lock around all that loads or frees weights.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from potluck.blocks.accelerators import trim_memory
from potluck.blocks.reshaping import NotReshapableError, reshaped
from potluck.blocks.span import BlockSpan
from potluck.protocol.blocks import Span
from potluck.tasks import to_the_end
from potluck_engine.in_thread import in_thread
from potluck_engine.service import Service

log = logging.getLogger(__name__)

HAND_OVER_S = 10.0  # for sessions to go on elsewhere; clients that decode need about one
HURRIED_S = 2.0  # while others wait for blocks that nobody serves: sessions stuck there never hear of it

LoadBlocks = Callable[[Span], Awaitable[BlockSpan]]
"""Loads some blocks and tries them out."""


async def grow(service: Service, block: int, load: LoadBlocks) -> None:
    """Serve one more block, at either end. Raises PotluckError; then nothing has changed."""
    old = service.blocks.whole
    if not old.is_reshapable:
        raise NotReshapableError("they are not all on one device, or have adapters")
    new = await load(Span(block, block + 1))
    pieces = [new, old] if block < old.span.start else [old, new]
    span = Span(pieces[0].span.start, pieces[1].span.end)
    try:
        await _exchange(service, await in_thread(lambda: reshaped(pieces, span)))
    finally:
        if service.blocks.span != span:
            await asyncio.to_thread(new.free)
    log.info("layer %d is served, all together %s", block + 1, span.layers)


async def shrink(service: Service, kept: Span, tell: Callable[[], Awaitable[None]], *, patience_s: float) -> None:
    """Serve only `kept` after sessions had `patience_s` to leave. Raises PotluckError; then nothing has changed.

    Args:
        tell: announces which blocks are kept.
    """
    old = service.blocks.whole
    whole = await in_thread(lambda: reshaped([old], kept))
    service.admission.kept = kept
    try:
        await tell()
        await service.hand_over(kept, patience_s=patience_s)
        await _exchange(service, whole)
    finally:
        service.admission.kept = service.blocks.span
    log.info("layers %s are served, of %s", kept.layers, old.span.layers)


async def _exchange(service: Service, whole: BlockSpan) -> None:
    async def exchange() -> None:
        old = service.blocks.whole
        await service.change(whole)
        gone = [block for block in old.span if block not in whole.span]
        if gone:
            await asyncio.to_thread(_free, old, gone)

    await to_the_end(exchange())


def _free(blocks: BlockSpan, gone: list[int]) -> None:
    for block in gone:
        blocks.weights.let_go(Span(block, block + 1))
    trim_memory(blocks.device)
