"""Fetches the files of blocks, and changes the span of a service while it serves. The other blocks are not touched.

    fetch:  the files of a move at once; others in advance, so that a later move takes seconds
    grow:   a file on the disk -> a block in memory, tried out beside the steps of sessions -> served
    shrink: announced -> sessions over these blocks leave, or are ended -> no longer served -> memory given back

Files are fetched in advance one block at a time, the rarest first, within the disk space that the user allows.
Everything that waits may be cancelled; an exchange of blocks that has begun is carried to its end. The caller holds the
lock around everything that loads or frees weights.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from potluck.blocks.accelerators import trim_memory
from potluck.blocks.span.block_span import BlockSpan
from potluck.blocks.span.reshaping import NotReshapableError, reshape_span
from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span
from potluck.tasks import cancel_and_wait, in_own_thread, run_to_end, start_task
from potluck_engine.life.announcements import Announcements
from potluck_engine.placement.choose import prefetch_order
from potluck_engine.placement.swarm_map import SwarmMap
from potluck_engine.serving.service import Service

log = logging.getLogger(__name__)

HAND_OVER_S = 10.0  # lets sessions continue elsewhere; clients that decode need about one
HURRIED_S = 2.0  # the same while blocks are served by nobody: sessions that are stuck there never learn of the move

LoadBlocks = Callable[[Span], Awaitable[BlockSpan]]
"""Loads some blocks and tries them out. Raises PotluckError."""


async def grow(service: Service, block: int, load: LoadBlocks) -> None:
    """Serve one more block, at either end. Raises PotluckError; then nothing has changed."""
    old = service.blocks.whole
    if not old.is_reshapable:
        raise NotReshapableError("they are not all on one device, or have adapters")
    new = await load(Span(block, block + 1))
    pieces = [new, old] if block < old.span.start else [old, new]
    span = Span(pieces[0].span.start, pieces[1].span.end)
    try:
        await _exchange(service, await in_own_thread(lambda: reshape_span(pieces, span)))
    finally:
        if service.blocks.span != span:
            await asyncio.to_thread(new.free)
    log.info("layer %d is served, all together %s", block + 1, span.layers)


async def shrink(service: Service, kept: Span, announce: Callable[[], Awaitable[None]], *, patience_s: float) -> None:
    """Serve only `kept` after sessions had `patience_s` to leave. Raises PotluckError; then nothing has changed.

    Args:
        announce: tells the swarm which blocks are kept.
    """
    old = service.blocks.whole
    whole = await in_own_thread(lambda: reshape_span([old], kept))
    service.admission.kept = kept
    try:
        await announce()
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

    await run_to_end(exchange())


def _free(blocks: BlockSpan, gone: list[int]) -> None:
    for block in gone:
        blocks.weights.free_blocks(Span(block, block + 1))
    trim_memory(blocks.device)


class BlockFetching:
    """Fetches files of blocks, and keeps `announcements.stored` up to date with the files on the disk.

    Args:
        disk_bytes: how much the files of the model may take; 0: nothing is fetched in advance.
    """

    def __init__(self, announcements: Announcements, files: BlockFiles, disk_bytes: int) -> None:
        self._announcements = announcements
        self._files = files
        self._disk_bytes = disk_bytes
        self._in_advance: asyncio.Task[None] | None = None

    async def fetch(self, blocks: Iterable[int]) -> None:
        """Fetch the files of these blocks that are not on the disk. Raises PotluckError."""
        for block in blocks:
            if block not in self._announcements.stored:
                await in_own_thread(partial(self._files.fetch, block))
                self._announcements.stored = await in_own_thread(self._files.stored)

    def prefetch(self, swarm_map: SwarmMap) -> None:
        """Begin to fetch one more block if none is being fetched, there is room, and the network is free for it."""
        if self._in_advance is not None and not self._in_advance.done():
            return
        wanted = prefetch_order(swarm_map)
        taken_bytes = (len(self._announcements.stored) + 1) * self._files.block_bytes
        if wanted and taken_bytes <= self._disk_bytes and self._announcements.node.speed.may_exchange:
            self._in_advance = start_task(self._fetch_in_advance(wanted[0]))

    async def stop(self) -> None:
        """Stop waiting. A download goes on in its thread, so that its file is there when it is needed."""
        await cancel_and_wait(self._in_advance)

    async def _fetch_in_advance(self, block: int) -> None:
        try:
            await self.fetch([block])
            await self._announcements.announce()
        except PotluckError as error:
            log.info("layer %d is not fetched in advance: %s", block + 1, error.message)
