"""Keeps receipts on their way from an engine to the ledger in files, so that no crash of either loses one.

The engine appends each receipt that it accepts, one line each, before it sends it to the daemon. It locks the file that
it writes, and begins another one once that is large. The daemon books what it finds in files that nobody has locked.
Booking a receipt twice does no harm, so it deletes a file only afterwards. Writes survive the death of the process; a
power cut loses what was received in the moment before.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from potluck.locks import open_locked
from potluck.protocol.blocks import Booking, PersonId

log = logging.getLogger(__name__)

_SUFFIX = ".receipts"
_MUCH_BYTES = 1 << 18  # five hundred receipts, which the daemon books again in a tenth of a second


class ReceiptOutbox:
    """The engine's file of receipts. Raises OSError if the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._file = self._open()

    def append(self, booking: Booking) -> None:
        """Write a receipt, to a new file if the present one is large. Raises OSError."""
        if os.fstat(self._file).st_size >= _MUCH_BYTES:
            full, self._file = self._file, self._open()
            os.close(full)
        os.write(self._file, f"{booking.receipt.hex()} {booking.person}\n".encode())

    def close(self) -> None:
        """Close the file, so that the daemon can read it."""
        os.close(self._file)

    def _open(self) -> int:
        """Create a file that is locked before it gets the name by which the daemon finds it."""
        path = self._folder / f"{os.urandom(8).hex()}{_SUFFIX}"
        hidden = path.with_suffix(".new")
        file = open_locked(hidden)
        hidden.rename(path)
        return file


def empty_outbox(folder: Path, book: Callable[[Sequence[Booking]], object]) -> None:
    """Pass the receipts of each file that no engine writes any more to `book`, and delete the file unless it raises."""
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            handle = open_locked(path)
        except BlockingIOError:
            continue  # the engine still runs
        with open(handle, "rb") as file:
            book(list(_bookings(file.read())))
            path.unlink(missing_ok=True)


def _bookings(data: bytes) -> Iterator[Booking]:
    """Yield the bookings in all whole lines; a crash may have cut one off."""
    for line in data.splitlines():
        try:
            receipt, person = line.decode().split(" ")
            yield Booking(bytes.fromhex(receipt), PersonId(person))
        except ValueError:
            log.warning("%d bytes of the outbox are no receipt", len(line))
