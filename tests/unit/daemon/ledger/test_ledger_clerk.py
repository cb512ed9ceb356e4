"""The ledger beside a loop: what the engine is told, and that nothing is lost between the two."""

import asyncio
import contextlib
import fcntl
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from helpers.receipts import Session
from potluck_control.engine_messages import Booked, SignedReceipt, Vouched, Worth
from potluck_control.outbox import Outbox, left_behind
from potluck_daemon.ledger.clerk import Clerk

from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId

NOW = time.time()


class Desk:
    """A clerk with a note of what it tells the engine."""

    def __init__(self, folder: Path) -> None:
        self.identity = Identity.load_or_create(folder / "identity.key")
        self.outbox = folder / "receipts"
        self.told: asyncio.Queue[Booked | Worth] = asyncio.Queue()
        self.clerk = Clerk(folder / "ledger.sqlite", folder / "identity.key", self.outbox, self.told.put_nowait)

    async def earned(self) -> int:
        return await self.clerk.ask(lambda ledger: ledger.history.summary(time.time() + 1).total.earned)

    async def hear(self) -> Booked | Worth:
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
    return SignedReceipt(booking.data.hex(), booking.delegation.hex() if booking.delegation else "")


async def test_the_engine_hears_what_is_on_disk(desk: Desk) -> None:
    session = Session(desk.identity, opened=NOW)
    desk.clerk.hear(signed(session, 4))
    desk.clerk.hear(signed(session, 9))
    told = await desk.hear()
    if told == Booked(((session.tab.hex(), 1),)):
        told = await desk.hear()
    assert told == Booked(((session.tab.hex(), 2),))
    assert await desk.earned() == 9


async def test_what_a_dead_engine_left_is_booked_once_and_its_file_goes(desk: Desk) -> None:
    outbox = Outbox(desk.outbox)
    session = Session(desk.identity, owner=Identity.generate(), opened=NOW)
    for amount in (3, 8):
        outbox.append(session.booking(amount))
    desk.clerk.look_into_outbox()
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 1))
    await desk.hear()
    assert await desk.earned() == 1  # its engine lives: the file is its own
    outbox.close()
    desk.clerk.look_into_outbox()
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 1))
    await desk.hear()
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


async def test_the_engine_is_told_what_credit_is_worth(desk: Desk) -> None:
    helper, friend = Identity.generate(), Identity.generate()
    ours = Session(helper, owner=desk.identity, opened=NOW)
    await desk.clerk.book([ours.booking(10, is_countersigned=True)], "a-model")
    voucher = Session(friend, owner=helper, opened=NOW).voucher(6)
    desk.clerk.hear(Vouched((voucher.hex(), voucher.hex()[:-2] + "00")))
    desk.clerk.value([friend.peer_id, PeerId("nobody"), desk.identity.peer_id])
    told = await desk.hear()
    assert isinstance(told, Worth)
    assert dict(told.accounts) == {friend.peer_id: 6, desk.identity.peer_id: 6}


async def test_a_ledger_that_cannot_be_opened_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"something else" * 100)
    desk = Desk(tmp_path)
    await desk.clerk.start()
    assert desk.clerk.notice is not None
    desk.clerk.hear(signed(Session(desk.identity, opened=NOW), 5))
    await desk.clerk.close()


def test_an_outbox_keeps_what_is_not_booked_and_a_cut_record_is_left_out(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path)
    booking = Session(Identity.generate()).booking(3)
    outbox.append(booking)
    outbox.keep_only([booking])
    outbox.close()
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes() + b"\1cut")
    with contextlib.suppress(OSError), left_behind(tmp_path) as found:
        assert found == [booking]
        raise OSError("the disk is full")
    with left_behind(tmp_path) as found:
        assert found == [booking]
    assert list(tmp_path.iterdir()) == []


def test_nobody_takes_away_an_outbox_that_is_just_being_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = fcntl.flock

    def look_first(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        with left_behind(tmp_path) as found:
            assert found == []
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", look_first)
    outbox = Outbox(tmp_path)
    booking = Session(Identity.generate()).booking(3)
    outbox.append(booking)
    outbox.close()
    with left_behind(tmp_path) as found:
        assert found == [booking]


def test_a_long_outbox_is_rewritten_with_what_is_still_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("potluck_control.outbox._MUCH_BYTES", 1000)
    session = Session(Identity.generate())
    bookings = [session.booking(amount) for amount in range(1, 6)]
    for waiting in ([], bookings[4:]):
        outbox = Outbox(tmp_path)
        for booking in bookings:
            outbox.append(booking)
        outbox.keep_only(waiting)
        outbox.close()
        assert len(list(tmp_path.iterdir())) == len(waiting)
        with left_behind(tmp_path) as found:
            assert found == waiting
