"""Keeps what the web page of a swarm shows besides the present: a week of readings, and the secret of its address.

A reading is added up with the others of its hour, so the file stays small however often the swarm is read. Pure but for
`kept_page`, which opens the file.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from msgspec import Struct

from potluck.checked_files import CheckedFile, state_file

HOUR_S = 3600
HOURS = 7 * 24


class Hour(Struct, frozen=True):
    """The readings of one hour, which began at `start` (Unix seconds). `servers` and `answer_tps` are sums."""

    start: int
    readings: int = 0
    complete: int = 0  # readings in which every block was served
    servers: int = 0
    answer_tps: float = 0.0
    timed: int = 0  # readings that knew the speed of an answer

    @property
    def mean_servers(self) -> float:
        return self.servers / max(self.readings, 1)

    @property
    def mean_answer_tps(self) -> float:
        return self.answer_tps / max(self.timed, 1)


class PageHistory(Struct, frozen=True):
    """`secret`: the part of the address that only members know. `hours`: those with a reading, oldest first."""

    secret: str
    hours: tuple[Hour, ...] = ()

    def __post_init__(self) -> None:
        if not self.secret.isalnum() or not self.secret.isascii() or len(self.secret) < 32:
            raise ValueError("the page has no secret")

    def with_reading(self, now: float, *, servers: int, is_complete: bool, answer_tps: float) -> PageHistory:
        """Return the history with one more reading and without hours that are older than a week.

        `answer_tps`: 0 if the speed of an answer is not known.
        """
        start = int(now) // HOUR_S * HOUR_S
        hour = next((hour for hour in self.hours if hour.start == start), Hour(start))
        added = Hour(
            start,
            hour.readings + 1,
            hour.complete + is_complete,
            hour.servers + servers,
            hour.answer_tps + answer_tps,
            hour.timed + (answer_tps > 0),
        )
        others = (hour for hour in self.hours if start - HOURS * HOUR_S < hour.start < start)
        return PageHistory(self.secret, (*others, added))


def kept_page(folder: Path, prefix: str) -> CheckedFile[PageHistory]:
    """Return the file of the swarm with this prefix, which peers of an open swarm chose, so it names no file itself."""
    name = hashlib.sha256(prefix.encode()).hexdigest()[:16]
    return state_file(folder / f"page-{name}.json", PageHistory)
