"""Runs the ledger beside the daemon's loop: in a thread of its own, with receipts in batches.

    the engine sends a signed receipt       ->  one transaction for many      ->  Booked to the engine
    an engine ended, or the daemon started  ->  the same for its outbox
    the engine serves other accounts        ->  look up their credit's worth  ->  Worth to the engine

It sleeps while no receipts come.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from potluck_control import engine_messages as messages
from potluck_control.outbox import Booking, left_behind

from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId
from potluck.protocol.receipts import ReceiptError, swarm_id
from potluck.protocol.swarm import Swarm
from potluck.tasks import BackgroundTasks, cancel_and_wait
from potluck_daemon.ledger.bookkeeping import Outcome
from potluck_daemon.ledger.ledger import Ledger
from potluck_daemon.ledger.tables import LedgerError

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH_S = 0.2  # between transactions, each of which waits for the disk
VALUE_S = 5.0  # between two looks at what credit is worth
UPKEEP_S = 6 * 3600.0
SETTLE_S = 600.0  # between two copies of the file while somebody earns
_RETRY_S = 30.0  # after a full disk
MAX_WAITING = 20_000  # receipts; more stay in the outbox


class Clerk:
    """The ledger's thread. Call `start()` first and `close()` last, and everything in between from the loop."""

    def __init__(
        self,
        ledger_file: Path,
        identity_file: Path,
        outbox: Path,
        tell: Callable[[messages.Booked | messages.Worth], None],
    ) -> None:
        self._ledger_file = ledger_file
        self._identity_file = identity_file
        self._outbox = outbox
        self._tell = tell
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        self._ledger: Ledger | None = None
        self._waiting: list[Booking] = []
        self._has_work = asyncio.Event()
        self._is_outbox_due = False
        self._tasks: list[asyncio.Task[None]] = []
        self._valuing: asyncio.Task[None] | None = None
        self._valued: tuple[PeerId, ...] = ()
        self._valued_at = 0.0
        self._background = BackgroundTasks()
        self.notice: str | None = None  # why nothing is booked; None: all is well

    async def start(self) -> None:
        """Open the ledger. Never raises: without it the daemon goes on serving and receipts wait in the outbox."""
        try:
            identity = await asyncio.to_thread(Identity.load_or_create, self._identity_file)
            self._ledger = await self._run(lambda: Ledger(self._ledger_file, identity))
        except PotluckError as error:
            self.notice = f"earnings are not booked: {error.message}"
            log.error("%s", self.notice)
            return
        self.look_into_outbox()
        self._tasks = [asyncio.create_task(self._keep_booking()), asyncio.create_task(self._keep_in_order())]

    async def close(self) -> None:
        """Book what is waiting and close the file."""
        await cancel_and_wait(*self._tasks, self._valuing)
        await self._background.cancel()
        if self._ledger is not None:
            self.look_into_outbox()
            with contextlib.suppress(LedgerError):
                await self._book_all()
            await self._run(self._ledger.close)
        self._thread.shutdown()

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    # --- messages of the engine ---------------------------------------------------------------------------------------

    def hear(self, message: messages.SignedReceipt | messages.Vouched) -> None:
        if self._ledger is None:
            return
        try:
            if isinstance(message, messages.Vouched):
                vouchers = [bytes.fromhex(text) for text in message.vouchers]
                self._background.start(self._do(lambda ledger: ledger.keep_vouchers(vouchers, time.time())))
            elif len(self._waiting) < MAX_WAITING:
                delegation = bytes.fromhex(message.delegation) or None
                self._waiting.append(Booking(bytes.fromhex(message.receipt), delegation))
                self._has_work.set()
        except ValueError:
            log.error("the engine sent a receipt that is not hexadecimal")

    def look_into_outbox(self) -> None:
        """Book the outbox soon: an engine ended, or may have while no daemon ran."""
        self._is_outbox_due = True
        self._has_work.set()

    def serve(self, swarm: Swarm) -> None:
        """Remember the name of the model that coming receipts are about."""
        if self._ledger is not None:
            self._background.start(self._do(lambda ledger: ledger.name_model(swarm_id(swarm), swarm.model)))

    def value(self, accounts: Sequence[str]) -> None:
        """Tell the engine what the credit of these accounts is worth, but not too often."""
        served = tuple(PeerId(account) for account in accounts)
        is_due = served != self._valued or time.monotonic() - self._valued_at > VALUE_S
        if self._ledger is None or not served or not is_due or (self._valuing and not self._valuing.done()):
            return
        self._valued, self._valued_at = served, time.monotonic()
        self._valuing = asyncio.create_task(self._value(served))

    # --- questions of commands ----------------------------------------------------------------------------------------

    async def ask(self, question: Callable[[Ledger], T]) -> T:
        """Run `question` in the ledger's thread. Raises LedgerError if there is no ledger, or it cannot be read."""
        ledger = self._ledger
        if ledger is None:
            raise LedgerError(self.notice or "the ledger is not open yet")
        try:
            return await self._run(lambda: question(ledger))
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger cannot be read: {error}", hint="see: potluck ledger check") from error

    async def book(self, bookings: Sequence[Booking], model: str) -> list[Outcome]:
        """Book receipts that this donor's own client sends; `model` is what people call it."""

        def book(ledger: Ledger) -> list[Outcome]:
            with contextlib.suppress(ReceiptError):
                for booking in bookings:
                    ledger.name_model(booking.receipt.swarm, model)
            return ledger.book(bookings, time.time())

        return await self.ask(book)

    # --- in the background --------------------------------------------------------------------------------------------

    async def _keep_booking(self) -> None:
        while True:
            await self._has_work.wait()
            try:
                await self._book_all()
                await asyncio.sleep(BATCH_S)
            except LedgerError as error:
                log.error("%s; trying again", error.message)
                self.notice = f"earnings are not booked: {error.message}"
                await asyncio.sleep(_RETRY_S)

    async def _book_all(self) -> None:
        """Book everything that waits. Raises LedgerError; then everything still waits."""
        assert self._ledger is not None
        ledger, batch, is_outbox_due = self._ledger, list(self._waiting), self._is_outbox_due
        self._has_work.clear()
        self._is_outbox_due = False
        try:
            await self._run(lambda: _book(ledger, batch, self._outbox if is_outbox_due else None))
        except BaseException:
            self._is_outbox_due |= is_outbox_due
            self._has_work.set()
            raise
        del self._waiting[: len(batch)]
        self.notice = None
        last = {booking.receipt.tab.hex(): booking.receipt.seq for booking in batch if _is_genuine(booking)}
        if last:
            self._tell(messages.Booked(tuple(last.items())))

    async def _keep_in_order(self) -> None:
        while True:
            with contextlib.suppress(LedgerError):
                await self.ask(lambda ledger: ledger.add_up_old(time.time()))
            until = time.monotonic() + UPKEEP_S
            while time.monotonic() < until:
                await asyncio.sleep(SETTLE_S)
                with contextlib.suppress(LedgerError):
                    await self.ask(Ledger.settle)

    async def _value(self, accounts: Collection[PeerId]) -> None:
        try:
            worths = await self.ask(lambda ledger: ledger.worths(accounts))
        except LedgerError as error:
            log.error("%s", error.message)
        else:
            self._tell(messages.Worth(tuple(worths.items())))

    async def _do(self, work: Callable[[Ledger], object]) -> None:
        """Do what nobody waits for; a failure is logged."""
        try:
            await self.ask(work)
        except LedgerError as error:
            log.error("%s", error.message)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _book(ledger: Ledger, batch: Sequence[Booking], outbox: Path | None) -> None:
    if outbox is None:
        ledger.book(batch, time.time())
        return
    with left_behind(outbox) as found:
        ledger.book([*found, *batch], time.time())


def _is_genuine(booking: Booking) -> bool:
    try:
        return bool(booking.receipt)
    except ReceiptError:
        return False
