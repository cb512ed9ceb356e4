"""An engine that others report reloads its weights: once for each report, and while somebody else serves the blocks."""

import asyncio
import math
import time
from pathlib import Path

import pytest
from helpers.client_world import world
from helpers.lone_engine import start_engine
from potluck_control.processes.engine_messages import Examined
from potluck_engine.life.engine import Engine

from potluck.membership.identity import Identity
from potluck.membership.records import WrongResults, write_report
from potluck.protocol.blocks import Span

SPAN = Span(2, 4)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_engine.serving.audits._MAX_EXAMINATION_DELAY_S", 0.0)


async def report(engine: Engine, at_s: float) -> None:
    """Tell an engine that somebody reports it, and wait until it has done what follows from that."""
    reporter, own = Identity.generate(), engine.node.host.identity.public_key
    found = WrongResults(engine.node.peer_id, (2, 4), (0, 32), (), 0.5, 0.002)
    record = write_report(bytes(32), reporter.public_key, own, found, reporter.private_key, at_s)
    for _ in range(2):  # a node tells its engine all that it knows now and then
        engine._receive_records([record.data])
        if engine._examiner.examination is not None:
            await engine._examiner.examination
        if engine._examiner._examined_s > -math.inf:
            engine._examiner._examined_s = -1e9  # long ago


def test_a_report_makes_an_engine_reload_its_weights_once(tmp_path: Path) -> None:
    with world("0:4") as there:
        events: list[object] = []
        engine = there.client.run(start_engine(there, tmp_path, SPAN, events.append))
        there.client.run(report(engine, time.time()))
        assert [each for each in events if isinstance(each, Examined)] == [Examined("")]
        there.client.run(report(engine, time.time() + 1))
        assert len([each for each in events if isinstance(each, Examined)]) == 2
        there.client.run(engine.stop())


def test_an_engine_that_is_drained_while_it_reloads_stays_away_afterwards(tmp_path: Path) -> None:
    async def drained(engine: Engine) -> list[object]:
        return await asyncio.gather(engine._examine(), engine.drain())

    with world("0:4") as there:
        engine = there.client.run(start_engine(there, tmp_path, SPAN))
        assert there.client.run(drained(engine))[0]
        assert engine.service.admission.leaving
        there.client.run(engine.stop())


def test_nobody_leaves_blocks_without_a_server_because_of_a_report(tmp_path: Path) -> None:
    with world("0:2") as there:
        events: list[object] = []
        engine = there.client.run(start_engine(there, tmp_path, SPAN, events.append))
        there.client.run(report(engine, time.time()))
        assert not [each for each in events if isinstance(each, Examined)]
        other = there.client.run(start_engine(there, tmp_path / "other", SPAN))
        there.client.run(report(engine, time.time() + 1))
        assert [each for each in events if isinstance(each, Examined)] == [Examined("")]
        for each in (engine, other):
            there.client.run(each.stop())
