"""Receipts on their way from an engine to the ledger, in a file, so that neither's sudden death loses one.

The engine appends each receipt that it accepts, before it tells the daemon; the daemon books what it finds in the files
of engines that are gone. One file an engine, locked by it while it lives. Booking a receipt again moves nothing, so
files are deleted after the booking, whatever else happened. Writes survive the death of the process, not of the power:
what a power cut takes was not countersigned yet.
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
    """A receipt as it came: signed where we served, countersigned where we were served; with its delegation."""

    data: bytes
    delegation: bytes | None = None

    @cached_property
    def receipt(self) -> Receipt:
        """Raises ReceiptError unless all signatures hold."""
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
    """The engine's end. Raises OSError if the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._path, self._file = self._open()

    def append(self, booking: Booking) -> None:
        os.write(self._file, _pack(booking))

    def keep_only(self, waiting: Sequence[Booking]) -> None:
        """Forget what was booked, if that is easy or has become much."""
        if not waiting:
            os.ftruncate(self._file, 0)
        elif os.fstat(self._file).st_size >= _MUCH_BYTES:
            old_path, old = self._path, self._file
            self._path, self._file = self._open()
            os.write(self._file, b"".join(map(_pack, waiting)))
            old_path.unlink(missing_ok=True)
            os.close(old)

    def close(self) -> None:
        """What is not booked stays for the daemon."""
        if not os.fstat(self._file).st_size:
            self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _open(self) -> tuple[Path, int]:
        """A file that is locked before it has the name by which others find it."""
        path = self._folder / f"{os.urandom(8).hex()}{_SUFFIX}"
        hidden = path.with_suffix(".new")
        file = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX)
        hidden.rename(path)
        return path, file


@contextlib.contextmanager
def left_behind(folder: Path) -> Iterator[list[Booking]]:
    """What engines that are gone left; their files are deleted at the end unless the body raised."""
    with contextlib.ExitStack() as stack:
        paths, found = [], []
        for path in sorted(folder.glob(f"*{_SUFFIX}")):
            file = os.open(path, os.O_RDONLY)
            stack.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its engine lives
            found += _unpack(path.read_bytes())
            paths.append(path)
        yield found
        for path in paths:
            path.unlink(missing_ok=True)


def _pack(booking: Booking) -> bytes:
    return bytes([booking.delegation is not None]) + booking.data + (booking.delegation or bytes(DELEGATION_BYTES))


def _unpack(data: bytes) -> list[Booking]:
    """A last record that was cut off by a crash is left out."""
    whole = len(data) - len(data) % _RECORD_BYTES
    records = (data[start : start + _RECORD_BYTES] for start in range(0, whole, _RECORD_BYTES))
    return [
        Booking(record[1 : 1 + RECEIPT_BYTES], record[1 + RECEIPT_BYTES :] if record[0] else None) for record in records
    ]
