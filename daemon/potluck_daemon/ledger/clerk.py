"""Runs the ledger beside the daemon's loop: in a thread of its own, with receipts in batches.

    the engine sends a signed receipt          ->  one transaction for many
    an engine began or ended, and now and then ->  the same for its outbox
    an engine began, or the owner's programs   ->  Worth to the engine
    recorded work of others

It sleeps while no receipts come.
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

from potluck_control import engine_messages as messages
from potluck_control.methods.earnings import Earned
from potluck_control.outbox import empty_outbox

from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PersonId
from potluck.protocol.receipts import swarm_id
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, sentence
from potluck.tasks import BackgroundTasks, keep_running
from potluck_daemon.ledger.history import midnight
from potluck_daemon.ledger.ledger import Ledger
from potluck_daemon.ledger.tables import LedgerError

log = logging.getLogger(__name__)

T = TypeVar("T")

BATCH_S = 0.2  # between transactions, each of which waits for the disk
TODAY_S = 5.0  # between two looks at the sum of a day, which may have hundreds of thousands of entries
WORTH_S = 5.0  # between two messages about what people's work is worth
UPKEEP_S = 600.0  # between two looks at the outbox and copies of the file while somebody earns
_RETRY_S = 30.0  # after a full disk
MAX_WAITING = 20_000  # receipts; more stay in the outbox


class Clerk:
    """The ledger's thread. Call `start()` first and `close()` last, and everything in between from the loop."""

    def __init__(
        self, ledger_file: Path, identity_file: Path, outbox: Path, tell: Callable[[messages.Worth], None]
    ) -> None:
        self._ledger_file = ledger_file
        self._identity_file = identity_file
        self._outbox = outbox
        self._tell = tell
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        self._ledger: Ledger | None = None
        self._waiting: list[Booking] = []
        self._has_work, self._is_worth_due, self._is_today_due = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._is_outbox_due = False
        self._background = BackgroundTasks()
        self._today = Earned(0.0, 0.0)
        self.notice = NOTHING  # why nothing is booked; nothing: all is well

    async def start(self) -> None:
        """Open the ledger. Never raises: without it the daemon goes on serving and receipts wait in the outbox."""
        try:
            identity = await asyncio.to_thread(Identity.load_or_create, self._identity_file)
            self._ledger = await self._run(lambda: Ledger(self._ledger_file, identity))
        except PotluckError as error:
            self.notice = sentence("earnings are not booked: {why}", why=error.sentence)
            log.error("%s", self.notice)
            return
        for what, work in (
            ("booking receipts", self._keep_booking),
            ("counting today's tokens", self._keep_counting),
            ("telling the engine what people's work is worth", self._keep_telling),
            ("adding up old receipts", self._keep_in_order),
        ):
            self._background.start(keep_running(what, work))

    async def close(self) -> None:
        """Book what is waiting and close the file."""
        await self._background.cancel()
        if self._ledger is not None:
            self._is_outbox_due = True
            with contextlib.suppress(LedgerError, OSError):
                await self.book_all()
            await self._run(self._ledger.close)
        self._thread.shutdown()

    def hear(self, message: messages.SignedReceipt | None) -> None:
        """Book a receipt soon. None: an engine began or ended, so book the outbox and tell it what work is worth."""
        if message is None:
            self._is_outbox_due = True
            self._has_work.set()
            self._is_worth_due.set()
        elif self._ledger is not None and len(self._waiting) < MAX_WAITING:
            self._waiting.append(Booking(message.receipt, PersonId(message.person)))
            self._has_work.set()

    def serve(self, swarm: Swarm) -> None:
        """Remember the name of the model that coming receipts are about."""
        if self._ledger is not None:
            self._background.start(self.ask(lambda ledger: ledger.name_model(swarm_id(swarm), swarm.model)))

    def tokens_today(self, now: float) -> int:
        """Return the tokens that others have signed for since midnight, as of a few seconds ago."""
        return self._today.tokens if self._today.start == midnight(now) else 0

    async def ask(self, question: Callable[[Ledger], T]) -> T:
        """Run `question` in the ledger's thread. Raises LedgerError if there is no ledger, or it cannot be read."""
        ledger = self._ledger
        if ledger is None:
            raise LedgerError(self.notice or sentence("the ledger is not open yet"))
        try:
            return await self._run(lambda: question(ledger))
        except sqlite3.Error as error:
            raise LedgerError(
                sentence("the ledger cannot be read: {why}", why=str(error)), hint="potluck ledger check"
            ) from error

    async def record(self, bookings: Sequence[Booking], model: str) -> None:
        """Book what this donor's own programs received; `model` is what people call it. Raises LedgerError."""
        await self.ask(lambda ledger: ledger.record(bookings, model, time.time()))
        self._is_worth_due.set()

    async def _keep_booking(self) -> None:
        self._is_outbox_due = True
        self._has_work.set()
        while True:
            await self._has_work.wait()
            try:
                await self.book_all()
                await asyncio.sleep(BATCH_S)
            except (LedgerError, OSError) as error:
                self.notice = sentence(
                    "earnings are not booked: {why}",
                    why=error.sentence if isinstance(error, LedgerError) else str(error),
                )
                log.error("%s; trying again", self.notice)
                await asyncio.sleep(_RETRY_S)

    async def book_all(self) -> None:
        """Book everything that waits. Raises LedgerError or OSError; then everything still waits."""
        batch, is_outbox_due = list(self._waiting), self._is_outbox_due
        self._has_work.clear()
        self._is_outbox_due = False

        def book(ledger: Ledger) -> None:
            if is_outbox_due:
                empty_outbox(self._outbox, lambda found: ledger.book(found, time.time()))
            ledger.book(batch, time.time())

        try:
            await self.ask(book)
        except BaseException:
            self._is_outbox_due |= is_outbox_due
            self._has_work.set()
            raise
        del self._waiting[: len(batch)]
        self.notice = NOTHING
        self._is_today_due.set()

    async def _keep_counting(self) -> None:
        while True:
            await self._is_today_due.wait()
            self._is_today_due.clear()
            with contextlib.suppress(LedgerError):
                self._today = await self.ask(lambda ledger: ledger.history.today(time.time()))
            await asyncio.sleep(TODAY_S)

    async def _keep_telling(self) -> None:
        while True:
            await self._is_worth_due.wait()
            self._is_worth_due.clear()
            with contextlib.suppress(LedgerError):
                self._tell(messages.Worth(await self.ask(Ledger.worth)))
            await asyncio.sleep(WORTH_S)

    async def _keep_in_order(self) -> None:
        while True:
            with contextlib.suppress(LedgerError):
                await self.ask(lambda ledger: ledger.add_up_old(time.time()))
                await self.ask(Ledger.settle)
            await asyncio.sleep(UPKEEP_S)
            self._is_outbox_due = True
            self._has_work.set()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)
