"""The ledger beside a loop: what the engine is told, and that nothing is lost between the two."""

import asyncio
import fcntl
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from helpers.receipts import Session
from potluck_control.methods.earnings import Period
from potluck_control.places import Places
from potluck_control.processes.engine_messages import SignedReceipt, Worth
from potluck_control.processes.receipt_outbox import ReceiptOutbox, empty_outbox
from potluck_daemon.accounting import clerk as module
from potluck_daemon.accounting.checked_database import close_checked, open_checked
from potluck_daemon.accounting.clerk import Clerk
from potluck_daemon.accounting.ledger import Ledger
from potluck_daemon.accounting.usage import Amounts, period_starts

from potluck import tasks
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PersonId

NOW = time.time()


class Desk:
    """A clerk with a note of what it tells the engine."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder, folder, folder, folder)
        self.identity = Identity.load_or_create(self.places.identity_file)
        self.outbox = self.places.receipts
        self.told: asyncio.Queue[Worth] = asyncio.Queue()
        self.clerk = Clerk(self.places, self.told.put_nowait)

    async def earned(self) -> int:
        return await self.clerk.run(lambda ledger: ledger.summary(time.time() + 1).total.earned)

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
    outbox = ReceiptOutbox(desk.outbox)
    session = Session(desk.identity, opened=NOW)
    for amount in (3, 8):
        outbox.append(session.booking(amount))
    desk.clerk.catch_up()
    desk.clerk.book_soon(signed(Session(desk.identity, opened=NOW), 1))
    await desk.clerk.book_all()
    assert await desk.earned() == 1  # its engine lives: the file is its own
    outbox.close()
    desk.clerk.catch_up()
    desk.clerk.book_soon(signed(Session(desk.identity, opened=NOW), 1))
    await desk.clerk.book_all()
    assert await desk.earned() == 10
    assert list(desk.outbox.iterdir()) == []


async def test_what_waits_is_booked_before_the_end(tmp_path: Path) -> None:
    first, second = Desk(tmp_path), Desk(tmp_path)
    await first.clerk.start()
    first.clerk.book_soon(signed(Session(first.identity, opened=NOW), 5))
    await first.clerk.close()
    await second.clerk.start()
    assert await second.earned() == 5
    await second.clerk.close()


async def test_the_engine_is_told_what_work_is_worth_when_it_begins_and_when_that_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SUMS_S", 0.0)
    ana = PersonId("a" * 64)
    desk.clerk.catch_up()
    assert await desk.hear() == Worth(())
    received = Session(Identity.generate(), person=ana, opened=NOW).booking(10)
    await desk.clerk.record([received], "a-model")
    assert await desk.hear() == Worth(((ana, 10),))


async def test_the_sum_of_today_is_not_read_for_each_receipt(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = asyncio.Event()
    monkeypatch.setattr(module, "SUMS_S", 3600.0)
    read = Ledger.series
    monkeypatch.setattr(Ledger, "series", lambda *asked: looks.set() or read(*asked))
    desk.clerk.book_soon(signed(Session(desk.identity, opened=NOW), 5))
    async with asyncio.timeout(60):
        await looks.wait()
    looks.clear()
    desk.clerk.book_soon(signed(Session(desk.identity, opened=NOW), 5))
    await desk.clerk.book_all()
    assert not looks.is_set()


HOUR = Amounts(served_s=3600.0, energy_wh=100.0, sent_bytes=5, received_bytes=7)


async def test_hours_are_counted_once_over_ends_and_kills(tmp_path: Path) -> None:
    first = Desk(tmp_path)
    await first.clerk.start()
    for _ in range(2):
        first.clerk.hours.add(NOW, HOUR)
        await first.clerk.save_hours()
    first.clerk.hours.add(NOW, HOUR)  # a kill loses this
    killed = Desk(tmp_path)
    await killed.clerk.start()
    assert killed.clerk.hours.use(NOW).month.sent_bytes == 10
    await killed.clerk.close()
    await first.clerk.close()
    last = Desk(tmp_path)
    await last.clerk.start()
    assert last.clerk.hours.use(NOW).today == Amounts(*(3 * amount for amount in HOUR))
    await last.clerk.close()


async def test_what_serving_takes_is_written_every_minute(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HOURS_S", 0.01)
    written = asyncio.Event()
    monkeypatch.setattr(desk.clerk.hours, "confirm", lambda _: written.set())
    writing = asyncio.create_task(desk.clerk._keep_hours())
    desk.clerk.hours.add(NOW, HOUR)
    async with asyncio.timeout(60):
        await written.wait()
    writing.cancel()
    assert list((await desk.clerk.run(lambda ledger: ledger.hours(since=0.0))).values()) == [HOUR]


async def test_hours_that_cannot_be_written_become_a_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(Ledger, "write_hours", refuse)
    monkeypatch.setattr(module, "HOURS_S", 0.05)
    monkeypatch.setattr(tasks, "_STABLE_S", 0.05)  # as long, as it is for users
    monkeypatch.setattr(tasks, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(tasks, "_LONGEST_PAUSE_S", 0.05)
    desk = Desk(tmp_path)
    await desk.clerk.start()
    desk.clerk.hours.add(NOW, HOUR)
    async with asyncio.timeout(10):
        while not any("writing what serving takes" in str(what) for what in tasks.failing()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await desk.clerk.close()


def former(path: Path) -> sqlite3.Connection:
    """Open the file as earlier versions made it."""
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    columns = "start, served_s, tokens, energy_wh, sent_bytes, received_bytes"
    database.execute(f"CREATE TABLE IF NOT EXISTS hour ({columns})")
    return database


def in_folder(folder: Path, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in folder.glob(pattern)]


@pytest.mark.parametrize("is_interrupted", [False, True])
async def test_hours_of_an_earlier_version_are_taken_over_once(
    tmp_path: Path, is_interrupted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Places(*[tmp_path] * 4).contribution_file
    start = int(period_starts(Period.HOUR, 1, NOW)[0])
    database = open_checked(file, former)
    database.execute("INSERT INTO hour VALUES (?, 3600.0, 9, 100.0, 5, 7)", (start,))
    close_checked(database, file)
    if is_interrupted:  # between the ledger's commit and the end of the file
        killed = Desk(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(module, "remove_copies", lambda _: None)
            unlink = Path.unlink
            patched.setattr(Path, "unlink", lambda path, **how: None if path == file else unlink(path, **how))
            await killed.clerk.start()
        killed.clerk.hours.add(NOW, HOUR)
        await killed.clerk.close()
        assert in_folder(tmp_path, "contribution.sqlite") != []
    desk = Desk(tmp_path)
    await desk.clerk.start()
    assert desk.clerk.hours.use(NOW).today.sent_bytes == (10 if is_interrupted else 5)
    await desk.clerk.close()
    assert in_folder(tmp_path, "contribution*") == []


async def test_a_damaged_file_of_hours_stops_nothing_and_stays(tmp_path: Path) -> None:
    (tmp_path / "contribution.sqlite").write_bytes(b"not a database" * 100)
    desk = Desk(tmp_path)
    await desk.clerk.start()
    assert await desk.earned() == 0
    await desk.clerk.close()
    assert in_folder(tmp_path, "contribution.sqlite") == [b"not a database" * 100]


async def test_a_ledger_that_cannot_be_opened_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"something else" * 100)
    desk = Desk(tmp_path)
    await desk.clerk.start()
    assert "earnings are not booked" in str(desk.clerk.notice)
    assert "restore a backup: potluck ledger restore FILE" in str(desk.clerk.notice)
    used = desk.clerk.hours.use(time.time())
    assert (used.is_today_known, used.is_month_known) == (False, False)
    desk.clerk.book_soon(signed(Session(desk.identity, opened=NOW), 5))
    await desk.clerk.close()


def left_in(folder: Path) -> list[Booking]:
    found: list[Booking] = []
    empty_outbox(folder, found.extend)
    return found


def test_an_outbox_keeps_what_is_not_booked_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    outbox = ReceiptOutbox(tmp_path)
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
    outbox = ReceiptOutbox(tmp_path)
    booking = Session(Identity.generate()).booking(3)
    outbox.append(booking)
    outbox.close()
    assert left_in(tmp_path) == [booking]


def test_a_long_outbox_goes_on_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_control.processes.receipt_outbox._MUCH_BYTES", 1000)
    session = Session(Identity.generate())
    bookings = [session.booking(amount) for amount in range(1, 6)]
    outbox = ReceiptOutbox(tmp_path)
    for booking in bookings:
        outbox.append(booking)
    assert left_in(tmp_path) == bookings[:3]
    outbox.close()
    assert left_in(tmp_path) == bookings[3:]
