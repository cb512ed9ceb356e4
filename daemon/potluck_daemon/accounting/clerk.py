"""Runs the ledger beside the daemon's loop: in a thread of its own, with receipts in batches.

    the engine sends a signed receipt          ->  one transaction books many, and what ended engines left in their
    an engine begins or ends, and now and then     outboxes
    serving takes time, energy and traffic     ->  the hours that changed are written, once a minute
    an engine begins, or the owner's programs  ->  the engine learns the worth of people's work
    record work of others

Without receipts and serving, the clerk wakes once a minute and finds nothing to write.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from potluck_control.methods.earnings import Period, Sums
from potluck_control.places import Places
from potluck_control.processes import engine_messages
from potluck_control.processes.receipt_outbox import empty_outbox

from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PersonId
from potluck.protocol.receipts import swarm_id
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, sentence
from potluck.tasks import BackgroundTasks, keep_running
from potluck_daemon.accounting.checked_database import close_checked, open_checked, remove_copies
from potluck_daemon.accounting.ledger import Ledger
from potluck_daemon.accounting.tables import LedgerError, unusable_error
from potluck_daemon.accounting.usage import Amounts, ServingHours, period_starts

log = logging.getLogger(__name__)

_HOURS = "SELECT start, served_s, energy_wh, sent_bytes, received_bytes FROM hour"
T = TypeVar("T")
BATCH_S = 0.2  # the pause between transactions, each of which waits for the disk
SUMS_S = 5.0  # the pause between sums over many entries: today's tokens, and the worth of people's work
HOURS_S = 60.0  # the pause between writes of the hours; a crash loses what was counted since the last one
UPKEEP_S = 3600.0  # the pause between copies of the file while something is written
_RETRY_S = 30.0  # the pause after a full disk
MAX_WAITING = 20_000  # receipts; more stay in the outbox


def import_former_hours(file: Path, ledger: Ledger) -> None:
    """Move hours that earlier versions kept in `file` to the ledger, which keeps those that it has. Log failures.

    The file is deleted last, so a crash in between repeats the import and counts nothing twice.
    """
    if not file.exists():
        return
    try:
        database = open_checked(file, sqlite3.connect)
        try:
            found = {start: Amounts(*amounts) for start, *amounts in database.execute(_HOURS)}
        finally:
            close_checked(database, file)
        ledger.write_hours(found, are_new=False)
        file.unlink()
        remove_copies(file)
    except (OSError, sqlite3.Error, PotluckError) as error:
        log.warning("cannot import the hours of %s: %s", file, error)


class Clerk:
    """The keeper of the ledger. Call `start()` first and `close()` last, and everything in between from the loop.

    Args:
        on_worth: sends the worth of people's work to the engine.

    Attributes:
        hours: what serving takes; the account adds to it.
        notice: why nothing is booked; empty if all is well.
    """

    def __init__(self, places: Places, on_worth: Callable[[engine_messages.Worth], None]) -> None:
        self._places = places
        self._on_worth = on_worth
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        self._ledger: Ledger | None = None
        self._waiting: list[Booking] = []
        self._has_work, self._is_sum_due = asyncio.Event(), asyncio.Event()
        self._is_worth_due = False
        self._background = BackgroundTasks()
        self._today = Sums(0.0, 0.0)
        self.hours = ServingHours()
        self.notice = NOTHING

    async def start(self) -> None:
        """Open the ledger. Never raises: without it the daemon goes on serving and receipts wait in the outbox."""
        try:
            identity = await asyncio.to_thread(Identity.load_or_create, self._places.identity_file)
            self._ledger = await self._run(lambda: self._open(identity))
        except (PotluckError, sqlite3.Error) as error:
            self._report(error)
            self.hours.known_since = time.time()
            return
        for what, work in (
            ("booking receipts", self._keep_booking),
            ("adding up entries", self._keep_adding),
            ("adding up old receipts", self._keep_tidy),
            ("writing what serving takes", self._keep_hours),
        ):
            self._background.start(keep_running(what, work))

    async def close(self) -> None:
        """Book what is waiting and close the file."""
        await self._background.cancel()
        if self._ledger is not None:
            with contextlib.suppress(LedgerError, OSError):
                await self.book_all()
                await self.save_hours()
            await self._run(self._ledger.close)
        self._thread.shutdown()

    def book_soon(self, message: engine_messages.SignedReceipt) -> None:
        """Book a receipt with the next batch. One too many stays in the engine's outbox."""
        if self._ledger is not None and len(self._waiting) < MAX_WAITING:
            self._waiting.append(Booking(message.receipt, PersonId(message.person)))
            self._has_work.set()

    def catch_up(self) -> None:
        """Book the outbox and send the worth of people's work, because an engine has begun or ended."""
        self._has_work.set()
        self._send_worth()

    def name_model(self, swarm: Swarm) -> None:
        """Remember the name of the model that coming receipts are about."""
        if self._ledger is not None:
            self._background.start(self.run(lambda ledger: ledger.name_model(swarm_id(swarm), swarm.model)))

    def tokens_today(self, now: float) -> int:
        """Return the tokens that others have signed for since midnight, as of a few seconds ago."""
        return self._today.tokens if self._today.start <= now < self._today.end else 0

    async def run(self, work: Callable[[Ledger], T]) -> T:
        """Run `work` in the ledger's thread. Raises LedgerError if there is no ledger, or it cannot be used."""
        ledger = self._ledger
        if ledger is None:
            raise LedgerError(self.notice or sentence("the ledger is not open yet"))
        try:
            return await self._run(lambda: work(ledger))
        except sqlite3.Error as error:
            raise unusable_error(self._places.ledger_file, error) from error

    async def record(self, bookings: Sequence[Booking], model: str) -> None:
        """Book what this donor's own programs received; `model` is what people call it. Raises LedgerError."""
        await self.run(lambda ledger: ledger.record(bookings, model, time.time()))
        self._send_worth()

    async def book_all(self) -> None:
        """Book everything that waits. If this raises LedgerError or OSError, everything still waits."""
        batch = list(self._waiting)
        self._has_work.clear()

        def book(ledger: Ledger) -> None:
            empty_outbox(self._places.receipts, lambda found: ledger.book(found, time.time()))
            ledger.book(batch, time.time())

        await self.run(book)
        del self._waiting[: len(batch)]
        self.notice = NOTHING
        self._is_sum_due.set()

    async def save_hours(self) -> None:
        """Write the hours that changed. If this raises LedgerError, they stay to be written."""
        if changed := self.hours.unsaved():
            await self.run(lambda ledger: ledger.write_hours(changed))
            self.hours.confirm(changed)

    def _open(self, identity: Identity) -> Ledger:
        ledger = Ledger(self._places.ledger_file, identity)
        import_former_hours(self._places.contribution_file, ledger)
        self.hours.load(ledger.hours(since=period_starts(Period.MONTH, 1, time.time())[0]))
        return ledger

    def _report(self, error: Exception) -> None:
        why = error.whole if isinstance(error, PotluckError) else str(error)
        self.notice = sentence("earnings are not booked: {why}", why=why)
        log.error("%s", self.notice)

    def _send_worth(self) -> None:
        self._is_worth_due = True
        self._is_sum_due.set()

    async def _keep_booking(self) -> None:
        self._has_work.set()
        while True:
            await self._has_work.wait()
            try:
                await self.book_all()
                await asyncio.sleep(BATCH_S)
            except (LedgerError, OSError) as error:
                self._report(error)
                self._has_work.set()
                await asyncio.sleep(_RETRY_S)

    async def _keep_adding(self) -> None:
        while True:
            await self._is_sum_due.wait()
            self._is_sum_due.clear()
            today = await self.run(lambda ledger: ledger.series(Period.DAY, 1, time.time()))
            (self._today,) = today.periods
            if self._is_worth_due:
                self._is_worth_due = False
                self._on_worth(engine_messages.Worth(await self.run(Ledger.worth)))
            await asyncio.sleep(SUMS_S)

    async def _keep_tidy(self) -> None:
        while True:
            await self.run(lambda ledger: ledger.add_up_old(time.time()))
            await asyncio.sleep(UPKEEP_S)
            self._has_work.set()

    async def _keep_hours(self) -> None:
        while True:
            await self.save_hours()  # Save before the sleep: a retry then fails at once and becomes a notice.
            await asyncio.sleep(HOURS_S)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
