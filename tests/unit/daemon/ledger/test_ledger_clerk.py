"""The ledger beside a loop: what the engine is told, and that nothing is lost between the two."""

import asyncio
import fcntl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from helpers.receipts import Session
from potluck_control.engine_messages import SignedReceipt, Worth
from potluck_control.outbox import Outbox, empty_outbox
from potluck_daemon.ledger import clerk as module
from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.ledger.history import LedgerHistory

from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PersonId

NOW = time.time()


class Desk:
    """A clerk with a note of what it tells the engine."""

    def __init__(self, folder: Path) -> None:
        self.identity = Identity.load_or_create(folder / "identity.key")
        self.outbox = folder / "receipts"
        self.told: asyncio.Queue[Worth] = asyncio.Queue()
        self.clerk = Clerk(folder / "ledger.sqlite", folder / "identity.key", self.outbox, self.told.put_nowait)

    async def earned(self) -> int:
        return await self.clerk.ask(lambda ledger: ledger.history.summary(time.time() + 1).total.earned)

    async def hear(self) -> Worth:
        async with asyncio.timeout(60):
            return await self.told.get()


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    made = Desk(tmp_path)
    await made.clerk.start()
    yield made
    await made.clerk.close()


def signed(session: Session, points: int) -> SignedReceipt:
    booking = session.booking(points)
    return SignedReceipt(booking.receipt, booking.person)


async def test_what_a_dead_engine_left_is_booked_once_and_its_file_goes(desk: Desk) -> None:
    outbox = Outbox(desk.outbox)
    session = Session(desk.identity, opened=NOW)
    for amount in (3, 8):
        outbox.append(session.booking(amount))
    desk.clerk.hear(None)
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 1))
    await desk.clerk.book_all()
    assert await desk.earned() == 1  # its engine lives: the file is its own
    outbox.close()
    desk.clerk.hear(None)
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 1))
    await desk.clerk.book_all()
    assert await desk.earned() == 10
    assert list(desk.outbox.iterdir()) == []


async def test_what_waits_is_booked_before_the_end(tmp_path: Path) -> None:
    first, second = Desk(tmp_path), Desk(tmp_path)
    await first.clerk.start()
    first.clerk.hear(signed(Session(first.identity, opened=NOW), 5))
    await first.clerk.close()
    await second.clerk.start()
    assert await second.earned() == 5
    await second.clerk.close()


async def test_the_engine_is_told_what_work_is_worth_when_it_begins_and_when_that_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "WORTH_S", 0.0)
    ana = PersonId("a" * 64)
    desk.clerk.hear(None)
    assert await desk.hear() == Worth(())
    received = Session(Identity.generate(), person=ana, opened=NOW).booking(10)
    await desk.clerk.record([received], "a-model")
    assert await desk.hear() == Worth(((ana, 10),))


async def test_the_sum_of_today_is_not_read_for_each_receipt(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = asyncio.Event()
    monkeypatch.setattr(module, "TODAY_S", 3600.0)
    read = LedgerHistory.today
    monkeypatch.setattr(LedgerHistory, "today", lambda self, now: looks.set() or read(self, now))
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 5))
    async with asyncio.timeout(60):
        await looks.wait()
    looks.clear()
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 5))
    await desk.clerk.book_all()
    assert not looks.is_set()


async def test_a_ledger_that_cannot_be_opened_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"something else" * 100)
    desk = Desk(tmp_path)
    await desk.clerk.start()
    assert desk.clerk.notice is not None
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 5))
    await desk.clerk.close()


def left_in(folder: Path) -> list[Booking]:
    found: list[Booking] = []
    empty_outbox(folder, found.extend)
    return found


def test_an_outbox_keeps_what_is_not_booked_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    booking = Session(Identity.generate()).booking(3)
    outbox.append(booking)
    assert left_in(tmp_path) == []  # its engine lives
    outbox.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b"\1cut")

    def fail(found: object) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        empty_outbox(tmp_path, fail)
    assert left_in(tmp_path) == [booking]
    assert list(tmp_path.iterdir()) == []


def test_nobody_takes_away_an_outbox_that_is_just_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock

    def look_first(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        assert left_in(tmp_path) == []
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", look_first)
    outbox = Outbox(tmp_path)
    booking = Session(Identity.generate()).booking(3)
    outbox.append(booking)
    outbox.close()
    assert left_in(tmp_path) == [booking]


def test_a_long_outbox_goes_on_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_control.outbox._MUCH_BYTES", 1000)
    session = Session(Identity.generate())
    bookings = [session.booking(amount) for amount in range(1, 6)]
    outbox = Outbox(tmp_path)
    for booking in bookings:
        outbox.append(booking)
    assert left_in(tmp_path) == bookings[:3]
    outbox.close()
    assert left_in(tmp_path) == bookings[3:]
