"""Keeps receipts on their way from an engine to the ledger in a file, so that neither's sudden death loses one.

The engine appends each receipt that it accepts before it sends it to the daemon, and the daemon books what it finds in
the files of engines that have ended. Each engine has one file and locks it while it runs. Booking a receipt twice does
no harm, so files are deleted after the booking. Writes survive the death of the process but not a power cut; receipts
lost that way were not countersigned yet.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from potluck.protocol.receipts import (
    COUNTERSIGNED_BYTES,
    DELEGATION_BYTES,
    RECEIPT_BYTES,
    Receipt,
    ReceiptError,
    opened_at,
    read_countersigned,
    read_delegation,
    read_receipt,
)

_SUFFIX = ".receipts"
_RECORD_BYTES = 1 + RECEIPT_BYTES + DELEGATION_BYTES
_MUCH_BYTES = 1 << 20


@dataclass(frozen=True)
class Booking:
    """A receipt as received, with its delegation: signed by our client, or countersigned by a server we used."""

    data: bytes
    delegation: bytes | None = None

    @cached_property
    def receipt(self) -> Receipt:
        """The receipt itself. Raises ReceiptError unless all signatures hold."""
        if len(self.data) == COUNTERSIGNED_BYTES:
            return read_countersigned(self.data).receipt
        return read_receipt(self.data).receipt

    @cached_property
    def payer(self) -> bytes:
        """The donor for whom the client spends, or the client itself. Raises ReceiptError."""
        if self.delegation is None:
            return self.receipt.client
        delegation = read_delegation(self.delegation)
        if delegation.client != self.receipt.client:
            raise ReceiptError("the delegation is about another client than the receipt")
        if delegation.expires_at < opened_at(self.receipt.tab):
            raise ReceiptError("the delegation had expired when the session began")
        return delegation.owner


class Outbox:
    """The engine's file of receipts. Raises OSError if the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._path, self._file = self._open()

    def append(self, booking: Booking) -> None:
        os.write(self._file, _pack(booking))

    def keep_only(self, waiting: Sequence[Booking]) -> None:
        """Drop booked receipts from the file when it can be emptied, or has grown large."""
        if not waiting:
            os.ftruncate(self._file, 0)
        elif os.fstat(self._file).st_size >= _MUCH_BYTES:
            old_path, old = self._path, self._file
            self._path, self._file = self._open()
            os.write(self._file, b"".join(map(_pack, waiting)))
            old_path.unlink(missing_ok=True)
            os.close(old)

    def close(self) -> None:
        """Close the file. Receipts that are not booked stay in it for the daemon."""
        if not os.fstat(self._file).st_size:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _open(self) -> tuple[Path, int]:
        """Create a file that is locked before it gets the name by which the daemon finds it."""
        path = self._folder / f"{os.urandom(8).hex()}{_SUFFIX}"
        hidden = path.with_suffix(".new")
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        hidden.rename(path)
        return path, file


@contextlib.contextmanager
def left_behind(folder: Path) -> Iterator[list[Booking]]:
    """Yield the receipts of engines that have ended; delete their files afterwards unless the body raised."""
    with contextlib.ExitStack() as stack:
        paths, found = [], []
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            file = os.open(path, os.O_RDONLY)
            stack.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # the engine still runs
            found += _unpack(path.read_bytes())
            paths.append(path)
        yield found
        for path in paths:
            path.unlink(missing_ok=True)


def _pack(booking: Booking) -> bytes:
    return bytes([booking.delegation is not None]) + booking.data + (booking.delegation or bytes(DELEGATION_BYTES))


def _unpack(data: bytes) -> list[Booking]:
    """Read all whole records; the last one may have been cut off by a crash."""
    whole = len(data) - len(data) % _RECORD_BYTES
    records = (data[start : start + _RECORD_BYTES] for start in range(0, whole, _RECORD_BYTES))
    return [
        Booking(record[1 : 1 + RECEIPT_BYTES], record[1 + RECEIPT_BYTES :] if record[0] else None) for record in records
    ]
