"""The ledger of one donor: every operation on its file, for one thread at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from potluck_control.methods.earnings import LedgerCheck
from potluck_control.outbox import Booking

from potluck.checked_files import DamagedError
from potluck.membership.identity import Identity, peer_id_of, public_key_of
from potluck.protocol.blocks import PeerId
from potluck.protocol.receipts import delegate
from potluck_daemon.checked_database import close_checked, open_checked, settle, settle_if_large
from potluck_daemon.ledger import upkeep, vouchers
from potluck_daemon.ledger.bookkeeping import Books, Outcome
from potluck_daemon.ledger.history import LedgerHistory
from potluck_daemon.ledger.tables import LedgerError, connect
from potluck_daemon.ledger.trust import worths

DELEGATED_S = 90 * 86400
"""How long a delegation lets a client spend; the client's key never leaves its process."""


class Ledger:
    """One open ledger. The constructor opens it; it and everything that writes raise LedgerError."""

    def __init__(self, path: Path, identity: Identity) -> None:
        self._identity = identity
        self._path = path
        try:
            self._database = open_checked(path, connect)
        except DamagedError as error:
            raise LedgerError(error.message, hint="restore a backup: potluck ledger restore FILE") from error
        except OSError as error:
            raise LedgerError(f"cannot use the ledger {path}: {error.strerror}") from error
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger {path} cannot be used: {error}") from error
        self._books = Books(self._database, identity.public_key)
        self.history = LedgerHistory(self._database, identity.public_key)

    def close(self) -> None:
        close_checked(self._database, self._path)

    def settle(self) -> None:
        """Bring the checked copy up to date."""
        settle(self._database, self._path)

    def book(self, bookings: Sequence[Booking], now: float) -> list[Outcome]:
        """Book receipts to the disk and return the outcome of each."""
        outcomes = self._books.book(bookings, now)
        settle_if_large(self._database, self._path)
        return outcomes

    def name_model(self, swarm: bytes, model: str) -> None:
        self._books.name_model(swarm, model)

    def keep_vouchers(self, shown: Sequence[bytes], now: float) -> int:
        """Remember vouchers that were shown to us and return how many of them were new."""
        return vouchers.keep(self._database, shown, self._identity.public_key, now)

    def delegate(self, client: bytes, now: float) -> tuple[bytes, tuple[bytes, ...]]:
        """Return a delegation for a client of this donor, and vouchers that it can show."""
        paper = delegate(self._identity.public_key, client, int(now + DELEGATED_S), self._identity.sign)
        return paper, vouchers.to_show(self._database, self._identity)

    def worths(self, clients: Collection[PeerId]) -> dict[PeerId, int]:
        """Return what the credit of these donors is worth here, in microcredits; our own is worth most."""
        me = self._identity.peer_id
        rows = self._database.execute("SELECT key, credits, debits FROM account").fetchall()
        credits = {key: credit for key, credit, _ in rows if key != self._identity.public_key}
        debits = {key: debit for key, _, debit in rows if key != self._identity.public_key}
        keys = [key for client in clients if client != me and (key := public_key_of(client)) is not None]
        vouched = vouchers.vouched(self._database)
        found = worths(self._identity.public_key, credits, debits, vouched, keys)
        worth = {peer_id_of(key): amount for key, amount in found.items()}
        if me in clients:
            worth[me] = max(sum(worth.values()), 1)
        return worth

    def add_up_old(self, now: float) -> None:
        upkeep.add_up_old(self._database, now)

    def check(self) -> LedgerCheck:
        return upkeep.check(self._database)
