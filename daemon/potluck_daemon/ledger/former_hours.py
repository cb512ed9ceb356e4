"""Takes over the hours that earlier versions kept in a file of their own, `contribution.sqlite`."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

from potluck.errors import PotluckError
from potluck_daemon.checked_database import close_checked, forget_copies, open_checked
from potluck_daemon.ledger.ledger import Ledger
from potluck_daemon.metering.usage import Amounts

log = logging.getLogger(__name__)

_HOURS = "SELECT start, served_s, energy_wh, sent_bytes, received_bytes FROM hour"


def take_over(file: Path, ledger: Ledger) -> None:
    """Move the hours of the file to the ledger, which keeps those that it has. Failures are logged.

    Only then is the file deleted, so a crash in between repeats this and counts nothing twice.
    """
    if not file.exists():
        return
    try:
        database = open_checked(file, sqlite3.connect)
        try:
            found = {start: Amounts(*amounts) for start, *amounts in database.execute(_HOURS)}
        finally:
            close_checked(database, file)
        ledger.keep_hours(found, are_new=False)
        file.unlink()
        forget_copies(file)
    except (OSError, sqlite3.Error, PotluckError) as error:
        log.warning("cannot take over %s: %s", file, error)
