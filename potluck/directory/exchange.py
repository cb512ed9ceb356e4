"""The messages in which nodes tell each other what they know of the swarm.

`Compare`: digests of all records the asker has, and of which servers it wants news; answered by the buckets that differ
and newer heartbeats and links. `Fetch`: what it has in such buckets; answered by the records it lacks, and by which of
its own the other lacks. `Push`: announcements for whom they may be new. `Report`: a server that failed a client.
Every announcement is signed by its author, so whoever passes it on can hold it back but not change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from potluck.directory.seal import Sealed
from potluck.protocol.blocks import PeerId

COMPARE: Final = "PotluckDirectory.rpc_compare"  # unary, as all of these
FETCH: Final = "PotluckDirectory.rpc_fetch"
PUSH: Final = "PotluckDirectory.rpc_push"
REPORT: Final = "PotluckDirectory.rpc_report"
MAX_PUSHED: Final = 256
SHORT_BYTES: Final = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """News of one server are wanted, if they are newer than these sequence numbers; 0: nothing is known."""

    tag: bytes
    beat: int = 0  # shortened by `short`
    links: int = 0


@dataclass(frozen=True, slots=True)
class Compare:
    proof: bytes | None
    digests: tuple[bytes, ...]
    wanted: tuple[Wanted, ...] = ()
    max_links: int = 0  # of servers, in the answer


@dataclass(frozen=True, slots=True)
class Compared:
    differing: tuple[int, ...]  # numbers of buckets
    news: tuple[tuple[int, Sealed], ...] = ()  # with the place of its server in `wanted`


@dataclass(frozen=True, slots=True)
class Fetch:
    proof: bytes | None
    num_buckets: int
    buckets: tuple[int, ...]
    entries: tuple[bytes, ...] = ()  # of the asker's records in these buckets


@dataclass(frozen=True, slots=True)
class Fetched:
    num_done: int  # of the buckets asked for; the others did not fit
    records: tuple[Sealed, ...] = ()
    absent: tuple[int, ...] = ()  # places of entries that the other does not have


@dataclass(frozen=True, slots=True)
class Push:
    proof: bytes | None
    announcements: tuple[Sealed, ...]


@dataclass(frozen=True, slots=True)
class Report:
    proof: bytes | None
    suspect: PeerId


def short(sequence: float) -> int:
    """A sequence number in four bytes: unequal for announcements less than 49 days apart."""
    return round(sequence * 1000) % (1 << 8 * SHORT_BYTES)
