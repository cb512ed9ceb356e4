"""Successors of servers that say they will leave, or are too slow: found and fed while the old ones still serve.

A successor is given what the old server was given so far, in the background; the session changes over between two
steps. Inputs are sent, not keys and values: over a network they are several times fewer bytes.

Source: the pre-copy migration of Llumnix (arXiv 2406.03243), with inputs in the place of the cache.
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

Heirs = list[Hop]


class Successions:
    """At most one attempt for each hop: what fails is left to the replay when the server is gone."""

    def __init__(self, prepare: Callable[[Hop], Awaitable[Heirs | None]]) -> None:
        """`prepare` returns the heirs of a hop, each with all that the hop had when it was called; may raise. None: it
        is better to stay."""
        self._prepare = prepare
        self._tasks: dict[Hop, asyncio.Task[Heirs | None]] = {}
        self._leaving: set[Hop] = set()  # for whom there was an attempt because they leave
        self._goodbyes = BackgroundTasks()

    def begin(self, hops: Sequence[Hop]) -> None:
        """Look for successors of those that are leaving, and of those for which it is time to compare."""
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

    def take(self, hop: Hop) -> Heirs | None:
        """The heirs of `hop` if they are ready; they belong to the caller then."""
        task = self._tasks.get(hop)
        heirs = task.result() if task is not None and task.done() else None
        if heirs is not None:
            del self._tasks[hop]
        return heirs

    def call_off(self) -> None:
        """What the heirs were given no longer holds, or nobody needs them any more."""
        for task in self._tasks.values():
            if not task.cancel() and not task.cancelled():
                _abandon(task.result())
        self._tasks.clear()

    def dismiss(self, hop: Hop) -> None:
        """Say goodbye to a server that was replaced, without waiting for it."""
        self._goodbyes.start(hop.close())

    async def close(self) -> None:
        self.call_off()
        await self._goodbyes.wait()

    async def _attempt(self, hop: Hop) -> Heirs | None:
        try:
            return await self._prepare(hop)
        except PotluckError as error:
            _log.warning("no successor for blocks %s: %s", hop.span, error.message)
            return None


def _abandon(heirs: Heirs | None) -> None:
    for heir in heirs or ():
        heir.abandon()
