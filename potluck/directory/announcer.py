"""Keeps one server in the directory: re-stores its record, beats, and survives a DHT that fails for a while."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from potluck.directory.directory import HEARTBEAT_INTERVAL_S, RECORD_INTERVAL_S, Directory
from potluck.errors import PotluckError
from potluck.protocol.records import Heartbeat, ServerRecord

log = logging.getLogger(__name__)

_RETRY_S = 2.0
_LEAVE_TIMEOUT_S = 5.0


class Announcer:
    """`start()`, then `update(...)` whenever something changed, finally `await stop()`, which says OFFLINE."""

    def __init__(
        self,
        directory: Directory,
        record: ServerRecord,
        heartbeat: Heartbeat,
        *,
        record_interval_s: float = RECORD_INTERVAL_S,
        heartbeat_interval_s: float = HEARTBEAT_INTERVAL_S,
    ) -> None:
        self._directory = directory
        self._record = record
        self._heartbeat = heartbeat
        self._record_interval_s = record_interval_s
        self._heartbeat_interval_s = heartbeat_interval_s
        self._record_due_s = 0.0  # of the loop's clock
        self._version = 1  # of what was asked to be announced
        self._announced = asyncio.Condition()
        self._announced_version = 0
        self._wake = asyncio.Event()
        self._is_failing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    def update(self, *, record: ServerRecord | None = None, heartbeat: Heartbeat | None = None) -> None:
        """A new record or a new state goes out at once, other figures of a heartbeat with the next beat."""
        is_urgent = False
        if record is not None and record != self._record:
            self._record, self._record_due_s, is_urgent = record, 0.0, True
        if heartbeat is not None:
            is_urgent = is_urgent or heartbeat.state is not self._heartbeat.state
            self._heartbeat = heartbeat
        if is_urgent:
            self._version += 1
            self._wake.set()

    async def wait_announced(self) -> None:
        """Return once the directory took everything that was urgent until now."""
        version = self._version
        async with self._announced:
            await self._announced.wait_for(lambda: self._announced_version >= version)

    async def stop(self) -> None:
        """End announcing and say OFFLINE, as far as the directory answers. Idempotent."""
        if self._task is None:
            return
        task, self._task = self._task, None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        with contextlib.suppress(PotluckError, TimeoutError):
            async with asyncio.timeout(_LEAVE_TIMEOUT_S):
                await self._directory.leave()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            version = self._version
            if await self._announce():
                async with self._announced:
                    self._announced_version = version
                    self._announced.notify_all()
                pause_s = self._heartbeat_interval_s
            else:
                pause_s = min(_RETRY_S, self._heartbeat_interval_s)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s):
                    await self._wake.wait()

    async def _announce(self) -> bool:
        loop = asyncio.get_running_loop()
        try:
            if loop.time() >= self._record_due_s:
                due_s, self._record_due_s = loop.time() + self._record_interval_s, float("inf")
                try:
                    await self._directory.announce(self._record)
                except BaseException:
                    due_s = 0.0
                    raise
                finally:
                    self._record_due_s = min(self._record_due_s, due_s)
            await self._directory.heartbeat(self._heartbeat)
        except Exception as error:  # whatever it is, the next attempt may succeed; without one the server disappears
            if not self._is_failing:
                log.warning("this server cannot announce itself, trying again: %s", error)
            self._is_failing = True
            return False
        if self._is_failing:
            log.info("this server announces itself again")
        self._is_failing = False
        return True
