"""The announcer keeps a server in the directory, whatever the DHT does meanwhile."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from helpers.fake_network import FakeNetwork
from helpers.server_records import beat_of, record_of

from potluck.directory.announcer import Announcer
from potluck.directory.directory import Directory
from potluck.errors import NetworkError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Span
from potluck.protocol.records import Heartbeat, ServerRecord, ServerState
from potluck.protocol.swarm import new_swarm

SWARM, ME = new_swarm("home", "m", 8), Identity.generate()


class CountingDirectory:
    """Remembers what was announced, and fails as often as told."""

    stretch = 1.0

    def __init__(self, failures: list[BaseException] | None = None) -> None:
        self.records: list[ServerRecord] = []
        self.beats: list[Heartbeat] = []
        self.has_left = False
        self.beaten = asyncio.Event()
        self._failures = failures or []

    async def announce(self, record: ServerRecord) -> None:
        if self._failures:
            raise self._failures.pop()
        self.records.append(record)

    async def heartbeat(self, beat: Heartbeat) -> None:
        self.beats.append(beat)
        self.beaten.set()

    async def leave(self) -> None:
        self.has_left = True

    async def until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.beaten.clear()
            await self.beaten.wait()


def make(directory: Any, **intervals: float) -> Announcer:
    return Announcer(directory, record_of(ME.peer_id, 0, 4), beat_of(ME.peer_id, ServerState.JOINING), **intervals)


async def started(directory: Any, **intervals: float) -> Announcer:
    announcer = make(directory, **intervals)
    announcer.start()
    await announcer.wait_announced()
    return announcer


async def test_it_announces_updates_and_leaves() -> None:
    network = FakeNetwork()
    announcer = await started(Directory(network.start(ME), SWARM, ME))
    reader = Directory(network.start(), SWARM)
    assert [server.heartbeat.state for server in await reader.fetch()] == [ServerState.JOINING]
    announcer.update(heartbeat=beat_of(ME.peer_id), record=record_of(ME.peer_id, 4, 8))
    await announcer.wait_announced()
    [server] = await reader.fetch()
    assert (server.heartbeat.state, server.span) == (ServerState.ONLINE, Span(4, 8))
    await announcer.stop()
    await announcer.stop()
    assert await reader.fetch() == ()


async def test_beats_repeat_and_carry_the_newest_figures_while_the_record_stays() -> None:
    directory = CountingDirectory()
    announcer = await started(directory, heartbeat_interval_s=0.01)
    announcer.update(heartbeat=beat_of(ME.peer_id, ServerState.JOINING, queued_tokens=9))
    await directory.until(lambda: directory.beats[-1].queued_tokens == 9)
    assert len(directory.records) == 1
    await announcer.stop()
    assert directory.has_left


async def test_the_record_is_stored_again_in_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = CountingDirectory()
    monkeypatch.setattr("potluck.directory.announcer.RECORD_INTERVAL_S", 0.01)
    announcer = make(directory, heartbeat_interval_s=0.005)
    announcer.start()
    await directory.until(lambda: len(directory.records) == 3)
    await announcer.stop()


async def test_only_a_new_state_or_record_is_urgent() -> None:
    directory = CountingDirectory()
    announcer = await started(directory, heartbeat_interval_s=3600)
    announcer.update(heartbeat=beat_of(ME.peer_id, ServerState.JOINING, queued_tokens=5))
    announcer.update(record=record_of(ME.peer_id, 0, 4))
    await announcer.wait_announced()
    assert (len(directory.records), len(directory.beats)) == (1, 1)
    announcer.update(heartbeat=beat_of(ME.peer_id))
    await announcer.wait_announced()
    assert (len(directory.records), len(directory.beats)) == (1, 2)
    await announcer.stop()


async def test_new_speeds_wait_for_their_time_and_small_ones_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck.directory.announcer._DETAILS_INTERVAL_S", 0.0)
    directory = CountingDirectory()
    announcer = await started(directory, heartbeat_interval_s=0.01)
    announcer.update(record=record_of(ME.peer_id, 0, 4, inference_tps=105.0))
    announcer.update(record=record_of(ME.peer_id, 0, 4, inference_tps=120.0))
    await directory.until(lambda: len(directory.records) == 2)
    announcer.update(record=record_of(ME.peer_id, 0, 4, inference_tps=125.0))
    beats = len(directory.beats)
    await directory.until(lambda: len(directory.beats) > beats)
    await announcer.stop()
    assert [record.inference_tps for record in directory.records] == [100.0, 120.0]


async def test_failures_are_survived_with_one_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    directory = CountingDirectory([NetworkError("no answer"), RuntimeError("a bug"), NetworkError("no answer")])
    announcer = await started(directory, heartbeat_interval_s=0.01)
    await announcer.stop()
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1
    assert directory.records


async def test_stopping_does_not_wait_for_a_dht_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(CountingDirectory):
        async def announce(self, record: ServerRecord) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr("potluck.directory.announcer._LEAVE_TIMEOUT_S", 0.01)
    directory = Hanging()
    directory.leave = lambda: directory.announce(record_of(ME.peer_id, 0, 4))  # type: ignore[method-assign]
    announcer = make(directory)
    announcer.start()
    await asyncio.sleep(0)
    await announcer.stop()
