"""Fetches the files of blocks: those of a move first, others in advance, so that a later move takes seconds.

In advance only within the disk space that the user gave to downloads, one block at a time, the rarest first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial

from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import PotluckError
from potluck.tasks import cancel_and_wait, start_task
from potluck_engine.announcing import Announcements
from potluck_engine.in_thread import in_thread
from potluck_engine.placement.choose import prefetch_order
from potluck_engine.placement.swarm_map import SwarmMap

log = logging.getLogger(__name__)


class BlockFetching:
    """Keeps `announcements.stored` up to date with the files on the disk.

    Args:
        disk_bytes: what the files of the model may take; 0: nothing is fetched in advance.
    """

    def __init__(self, announcements: Announcements, files: BlockFiles, disk_bytes: int) -> None:
        self._announcements = announcements
        self._files = files
        self._disk_bytes = disk_bytes
        self._in_advance: asyncio.Task[None] | None = None

    async def fetch(self, blocks: Iterable[int]) -> None:
        """Return when the files of these blocks are on the disk. Raises PotluckError."""
        for block in blocks:
            if block not in self._announcements.stored:
                await in_thread(partial(self._files.fetch, block))
                self._announcements.stored = await in_thread(self._files.stored)

    def go_on(self, swarm_map: SwarmMap) -> None:
        """Begin with the next block if none is being fetched, there is room, and the network is free for it."""
        if self._in_advance is not None and not self._in_advance.done():
            return
        wanted = prefetch_order(swarm_map)
        taken_bytes = (len(self._announcements.stored) + 1) * self._files.block_bytes
        if wanted and taken_bytes <= self._disk_bytes and self._announcements.node.speed.may_exchange:
            self._in_advance = start_task(self._fetch_in_advance(wanted[0]))

    async def stop(self) -> None:
        """Stop waiting. The download goes on in its thread, and its file is there when it is needed."""
        await cancel_and_wait(self._in_advance)

    async def _fetch_in_advance(self, block: int) -> None:
        try:
            await self.fetch([block])
            await self._announcements.tell()
        except PotluckError as error:
            log.info("layer %d is not fetched in advance: %s", block + 1, error.message)
