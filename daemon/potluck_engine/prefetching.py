"""Files of blocks that are not served yet, fetched while nobody is: then a move is a matter of seconds.

Only within the disk space that the user gave to downloads, one block at a time, what the swarm has least of first.
"""

from __future__ import annotations

import asyncio
import logging

from potluck.checkpoint.block_files import BlockFiles
from potluck.errors import PotluckError
from potluck_engine.announcing import Announcements
from potluck_engine.in_thread import in_thread
from potluck_engine.placement.choose import prefetch_order
from potluck_engine.placement.swarm_map import SwarmMap

log = logging.getLogger(__name__)


class Prefetching:
    """Fetches one block at a time.

    Args:
        disk_bytes: what the files of the model may take; 0: nothing is fetched that is not served.
    """

    def __init__(self, announcements: Announcements, files: BlockFiles, disk_bytes: int) -> None:
        self._announcements = announcements
        self._files = files
        self._disk_bytes = disk_bytes
        self._fetching: asyncio.Task[None] | None = None

    def go_on(self, swarm_map: SwarmMap) -> None:
        """Begin with the next block if none is being fetched, there is room, and the network is free for it."""
        if self._fetching is not None and not self._fetching.done():
            return
        wanted = prefetch_order(swarm_map)
        taken_bytes = (len(self._announcements.stored) + 1) * self._files.block_bytes
        if wanted and taken_bytes <= self._disk_bytes and self._announcements.network.may_exchange:
            self._fetching = asyncio.create_task(self._fetch(wanted[0]))

    async def stop(self) -> None:
        """What is being fetched goes on in its thread, and is there when it is needed."""
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)

    async def _fetch(self, block: int) -> None:
        try:
            await in_thread(lambda: self._files.fetch(block))
            self._announcements.stored = await in_thread(self._files.stored)
            await self._announcements.tell()
        except PotluckError as error:
            log.info("block %d is not fetched in advance: %s", block, error.message)
