"""Prepares successors of leaving or slow servers while the old ones still serve.

A successor gets the inputs of the old server in the background, and the session changes over between two steps. Inputs
are several times fewer bytes than keys and values.

Source: the pre-copy migration of Llumnix (arXiv 2406.03243), with inputs instead of the cache.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence

from potluck.client.hop import Hop
from potluck.errors import PotluckError
from potluck.tasks import BackgroundTasks

_log = logging.getLogger(__name__)


class Successions:
    """The attempts to find successors, at most one for each hop. After a failure, the replay replaces a lost server."""

    def __init__(self, prepare: Callable[[Hop], Awaitable[list[Hop] | None]]) -> None:
        """`prepare` returns the successors of a hop with all inputs that the hop had, or None to stay; it may raise."""
        self._prepare = prepare
        self._tasks: dict[Hop, asyncio.Task[list[Hop] | None]] = {}
        self._kept: dict[Hop, int] = {}  # tokens of the session that never changed since the attempt began
        self._leaving: set[Hop] = set()  # leaving hops for which there was an attempt
        self._goodbyes = BackgroundTasks()

    def begin(self, hops: Sequence[Hop]) -> None:
        """Look for successors of hops that are leaving or due for a comparison."""
        now = time.monotonic()
        for hop in hops:
            task = self._tasks.get(hop)
            if task is not None and task.done() and task.result() is None and hop not in self._leaving:
                del self._tasks[hop]  # it stayed
            if hop in self._tasks:
                continue
            if hop.is_leaving:
                _log.info("the server of blocks %s is leaving; preparing another", hop.span)
                self._leaving.add(hop)
            elif not hop.pace.is_due(now):
                continue
            self._tasks[hop] = asyncio.create_task(self._attempt(hop))
            self._kept[hop] = hop.history.length

    def take(self, hop: Hop) -> list[Hop] | None:
        """Hand over the successors of `hop` if they are ready, without the inputs that were taken back meanwhile."""
        task = self._tasks.get(hop)
        successors = task.result() if task is not None and task.done() else None
        if successors is not None:
            del self._tasks[hop]
            for successor in successors:
                successor.roll_back(self._kept[hop])
        return successors

    def roll_back(self, position: int) -> None:
        """Note that the inputs from `position` on have changed."""
        self._kept = {hop: min(kept, position) for hop, kept in self._kept.items() if hop in self._tasks}

    def call_off(self) -> None:
        """Drop all successors, because their inputs have changed or the session ends."""
        for task in self._tasks.values():
            if not task.cancel() and not task.cancelled():
                _abandon(task.result())
        self._tasks.clear()

    def dismiss(self, hop: Hop) -> None:
        """End the session at a replaced server in the background."""
        self._goodbyes.start(hop.close())

    async def close(self) -> None:
        self.call_off()
        await self._goodbyes.wait()

    async def _attempt(self, hop: Hop) -> list[Hop] | None:
        try:
            return await self._prepare(hop)
        except PotluckError as error:
            _log.warning("no successor for blocks %s: %s", hop.span, error.message)
            return None


def _abandon(successors: list[Hop] | None) -> None:
    for successor in successors or ():
        successor.abandon()
