"""What a probe reports while it runs in a test."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from potluck_daemon.presence.probe import Probe, Sighting, Situation

from potluck.sentences import Sentence

WAIT_S = 60.0


class Reports:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[Sighting, ...]] = asyncio.Queue()
        self.task: asyncio.Task[None]
        self.situation = Situation()

    async def next(self) -> tuple[Sighting, ...]:
        """Raises what the probe raises, if it ends instead."""
        getting = asyncio.create_task(self.queue.get())
        async with asyncio.timeout(WAIT_S):
            await asyncio.wait((getting, self.task), return_when=asyncio.FIRST_COMPLETED)
        if not getting.done():
            getting.cancel()
            self.task.result()
            raise AssertionError("the probe ended without a reason")
        return getting.result()

    async def until_seen(self, *sightings: Sighting) -> None:
        """The first report of exactly these."""
        while await self.next() != sightings:
            pass

    async def until_named(self, *who: str | Sentence) -> tuple[Sighting, ...]:
        """The first report that names exactly these."""
        while True:
            report = await self.next()
            if tuple(str(sighting.who) for sighting in report) == tuple(map(str, who)):
                return report


@asynccontextmanager
async def watching(probe: Probe) -> AsyncIterator[Reports]:
    reports = Reports()
    reports.task = asyncio.create_task(probe.watch(reports.queue.put_nowait, reports.situation))
    try:
        yield reports
    finally:
        reports.task.cancel()
        await asyncio.gather(reports.task, return_exceptions=True)


async def gives_up(probe: Probe, error: type[Exception], why: str) -> None:
    """Fail unless the probe ends with this error and a text like `why`."""
    with pytest.raises(error, match=why):
        await probe.watch(lambda _: None, Situation())
