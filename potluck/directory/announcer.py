"""Keeps one server in the directory: stores its record again, sends heartbeats and outlasts failures of the DHT."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from msgspec.structs import replace

from potluck.directory.directory import HEARTBEAT_INTERVAL_S, RECORD_INTERVAL_S, Directory
from potluck.errors import PotluckError
from potluck.protocol.records import Heartbeat, ServerRecord
from potluck.tasks import cancel_and_wait, keep_running, start_task, within

log = logging.getLogger(__name__)

_RETRY_S = 2.0
_DETAILS_INTERVAL_S = 30.0  # this and the next grow with the swarm, because every reader pays for every change
_SPACING_S = 3.0  # pause between two records, times `stretch` - 1: a small swarm needs none
_WORTH_TELLING = 1.1  # factor by which a speed must have changed
_SPEEDS = ("inference_tps", "forward_tps", "network_tps", "throughput_tps", "download_bps")
_LEAVE_TIMEOUT_S = 5.0


class Announcer:
    """Announces one server. Call `start()`, then `update(...)` on each change, finally `await stop()`."""

    def __init__(
        self,
        directory: Directory,
        record: ServerRecord,
        heartbeat: Heartbeat,
        *,
        heartbeat_interval_s: float = HEARTBEAT_INTERVAL_S,
    ) -> None:
        self._directory = directory
        self._record = record
        self._heartbeat = heartbeat
        self._heartbeat_interval_s = heartbeat_interval_s
        self._details: ServerRecord | None = None  # differs from the record by details only
        self._details_due_s = 0.0
        self._record_due_s = 0.0  # these times are those of the event loop's clock
        self._record_sent_s = 0.0
        self._version = 1  # version of the state to be announced
        self._announced = asyncio.Condition()
        self._announced_version = 0
        self._wake = asyncio.Event()
        self._is_failing = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = start_task(keep_running("announcing this server", self._run))

    def update(self, *, record: ServerRecord | None = None, heartbeat: Heartbeat | None = None) -> None:
        """Announce a new state or other blocks at once, and other figures of a heartbeat with the next one.

        Speeds and stored blocks are announced every half minute, if they changed enough.
        """
        is_urgent = False
        if record is not None and record != self._record:
            if serves_the_same(self._record, record):
                self._details = record if is_worth_telling(self._record, record) else None
            else:
                self._record, self._details, is_urgent = record, None, True
                self._record_due_s = self._record_sent_s + _SPACING_S * (self._directory.stretch - 1)
        if heartbeat is not None:
            is_urgent = is_urgent or heartbeat.state is not self._heartbeat.state
            self._heartbeat = heartbeat
        if is_urgent:
            self._version += 1
            self._wake.set()

    async def wait_announced(self) -> None:
        """Wait until the directory has taken all urgent changes; in a large swarm records may follow a bit later."""
        version = self._version
        async with self._announced:
            await self._announced.wait_for(lambda: self._announced_version >= version)

    async def stop(self) -> None:
        """Stop announcing and say OFFLINE, if the directory answers. Idempotent."""
        if self._task is None:
            return
        task, self._task = self._task, None
        await cancel_and_wait(task)
        with contextlib.suppress(PotluckError):
            await within(_LEAVE_TIMEOUT_S, self._directory.leave())

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            version = self._version
            if await self._announce():
                async with self._announced:
                    self._announced_version = version
                    self._announced.notify_all()
                pause_s = self._pause_s()
            else:
                pause_s = min(_RETRY_S, self._heartbeat_interval_s)
            await within(pause_s, self._wake.wait())

    def _pause_s(self) -> float:
        """Return the time until the next heartbeat, or until the next record may follow."""
        until_record_s = max(self._record_due_s - asyncio.get_running_loop().time(), 0.0)
        return min(self._heartbeat_interval_s * self._directory.stretch, until_record_s)

    async def _announce(self) -> bool:
        loop = asyncio.get_running_loop()
        if self._details is not None and loop.time() >= self._details_due_s:
            self._record, self._details, self._record_due_s = self._details, None, 0.0
        try:
            if loop.time() >= self._record_due_s:
                self._record_sent_s = loop.time()
                self._details_due_s = self._record_sent_s + _DETAILS_INTERVAL_S * self._directory.stretch
                due_s, self._record_due_s = loop.time() + RECORD_INTERVAL_S, float("inf")
                try:
                    await self._directory.announce(self._record)
                except BaseException:
                    due_s = 0.0
                    raise
                finally:
                    self._record_due_s = min(self._record_due_s, due_s)
            await self._directory.heartbeat(self._heartbeat)
        except Exception as error:  # keep trying: without announcements the server disappears
            if not self._is_failing:
                log.warning("this server cannot announce itself, trying again: %s", error)
            self._is_failing = True
            return False
        if self._is_failing:
            log.info("this server announces itself again")
        self._is_failing = False
        return True


def serves_the_same(old: ServerRecord, new: ServerRecord) -> bool:
    """Return whether two records of a server are equal but for its speeds and the blocks on its disk."""
    return replace(new, stored=old.stored, **{name: getattr(old, name) for name in _SPEEDS}) == old


def is_worth_telling(old: ServerRecord, new: ServerRecord) -> bool:
    """Return whether such details differ by more than measurements usually vary."""
    pairs = ((getattr(old, name), getattr(new, name)) for name in _SPEEDS)
    return old.stored != new.stored or any(max(pair) > _WORTH_TELLING * min(pair) for pair in pairs)
