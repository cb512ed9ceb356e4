"""Defines the messages in which nodes exchange what they know of the swarm.

`Compare` holds digests of the asker's records and the servers it wants news of; the answer names the buckets that
differ and has newer heartbeats and links. `Fetch` lists the asker's entries in such buckets; the answer has a page of
the records it lacks, with the place where the next page begins, and the last page names those that the other lacks.
A push passes on announcements. A report names a server that failed a client. Authors sign their announcements, so nodes
that pass them on can hold them back but cannot change them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from potluck.directory.seal import Sealed

COMPARE: Final = "PotluckDirectory.rpc_compare"  # unary, as all of these
FETCH: Final = "PotluckDirectory.rpc_fetch"
PUSH: Final = "PotluckDirectory.rpc_push"
REPORT: Final = "PotluckDirectory.rpc_report"
MAX_PUSHED: Final = 256
MAX_PUSHED_BYTES: Final = 1 << 19
SHORT_BYTES: Final = 4
PAGE_BYTES: Final = 8  # of the place where a page begins


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request for news of one server that are newer than these sequence numbers; 0 if nothing is known."""

    tag: bytes
    beat: int = 0  # shortened by `short`
    links: int = 0


@dataclass(frozen=True, slots=True)
class Compare:
    digests: tuple[bytes, ...]
    wanted: tuple[Wanted, ...] = ()
    max_links: int = 0  # that the answer may have


@dataclass(frozen=True, slots=True)
class Compared:
    differing: tuple[int, ...]  # numbers of buckets
    news: tuple[tuple[int, Sealed], ...] = ()  # each with the place of its server in `wanted`


@dataclass(frozen=True, slots=True)
class Fetch:
    num_buckets: int
    buckets: tuple[int, ...]
    entries: tuple[bytes, ...] = ()  # of the asker's records in these buckets
    after: bytes = b""  # `next` of the page before


@dataclass(frozen=True, slots=True)
class Fetched:
    records: tuple[Sealed, ...] = ()
    absent: tuple[int, ...] = ()  # places of entries that the other does not have; on the last page
    next: bytes = b""  # grows from page to page; empty: this is the last one


def short(sequence: float) -> int:
    """Shorten a sequence number to four bytes, unequal for announcements less than 49 days apart."""
    return round(sequence * 1000) % (1 << 8 * SHORT_BYTES)
