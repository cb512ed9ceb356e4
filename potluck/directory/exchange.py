"""Defines the messages in which nodes exchange what they know of the swarm, and their bytes.

`Compare` holds digests of the asker's records and the servers it wants news of; the answer names the buckets that
differ and has newer heartbeats and links. `Fetch` lists the asker's entries in such buckets; the answer has a page of
the records it lacks, with the place where the next page begins, and the last page names those that the other lacks.
`Push` passes on announcements. `FailureReport` names a server that failed a client. Authors sign their announcements,
so nodes that pass them on can hold them back but cannot change them. Many parts of one length travel as one value.

Records fall into buckets by the tag of their peer. The digest of a bucket is the sum of its entries, one for each
record. Nodes compare digests and then only the buckets that differ (Dynamo's Merkle trees with two levels).
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from potluck.directory.fields import TAG_BYTES, tag_of
from potluck.directory.seal import KEY_BYTES, Body, Key, Kind, Sealed, Signature, Ticket
from potluck.membership.identity import SIGNATURE_BYTES
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code
from potluck.wire.errors import refusing

ENTRY_BYTES: Final = 6
DIGEST_BYTES: Final = 4
MIN_BUCKETS: Final = 16
MAX_BUCKETS: Final = 4096
_BUCKET_SERVERS: Final = 16  # entries sent for one changed record; an unchanged bucket costs one digest


def num_buckets_for(num_servers: int) -> int:
    """Return a power of two that suits this number of servers."""
    buckets = MIN_BUCKETS
    while buckets * _BUCKET_SERVERS < num_servers and buckets < MAX_BUCKETS:
        buckets *= 2
    return buckets


@lru_cache(maxsize=1 << 15)
def entry_of(peer: PeerId, sequence: float) -> bytes:
    """Return the entry of one record, derived from its peer and sequence number."""
    return hashlib.sha256(b"%d:%b" % (round(sequence * 1000), peer.encode())).digest()[:ENTRY_BYTES]


def bucket_of(peer: PeerId, of: int) -> int:
    """Return the number of the bucket of `peer` among `of` buckets, a power of two."""
    return int.from_bytes(tag_of(peer)[:2], "big") * of >> 16


class Listing:
    """A listing of records, given as peer and sequence number."""

    def __init__(self, records: Iterable[tuple[PeerId, float]]) -> None:
        self._buckets: list[dict[bytes, PeerId]] = [{} for _ in range(MAX_BUCKETS)]
        for peer, sequence in records:
            self._buckets[bucket_of(peer, MAX_BUCKETS)][entry_of(peer, sequence)] = peer

    def bucket(self, number: int, of: int) -> dict[bytes, PeerId]:
        """Return the peers by entry in bucket `number` of `of` buckets, a power of two."""
        each = MAX_BUCKETS // of
        return {
            entry: peer
            for bucket in self._buckets[number * each : (number + 1) * each]
            for entry, peer in bucket.items()
        }

    def digests(self, num_buckets: int) -> list[bytes]:
        return [_digest(self.bucket(number, num_buckets)) for number in range(num_buckets)]


def _digest(entries: Iterable[bytes]) -> bytes:
    total = sum(int.from_bytes(entry, "big") for entry in entries)
    return (total % (1 << 8 * DIGEST_BYTES)).to_bytes(DIGEST_BYTES, "big")


COMPARE: Final = "PotluckDirectory.rpc_compare"  # unary, as all of these
FETCH: Final = "PotluckDirectory.rpc_fetch"
PUSH: Final = "PotluckDirectory.rpc_push"
REPORT: Final = "PotluckDirectory.rpc_report"
MAX_PUSHED: Final = 256
MAX_PUSHED_BYTES: Final = 1 << 19
MAX_REQUEST_BYTES: Final = 1 << 20
MAX_ANSWER_BYTES: Final = 4 << 20
PAGE_BYTES: Final = 8  # length of the position at which a page begins
SHORT_BYTES: Final = 4
WANTED_BYTES: Final = TAG_BYTES + 2 * SHORT_BYTES
_NUMBER_BYTES: Final = 2
_MAX_WANTED: Final = 20_000
_MAX_ENTRIES: Final = 40_000
_MAX_RECORDS: Final = 20_000

UNKNOWN: Final = bytes(SHORT_BYTES)
"""Stands for the sequence number of an announcement that the asker does not have."""

T = TypeVar("T", bound=Struct)
_Numbers = Annotated[bytes, Meta(max_length=_NUMBER_BYTES << 16)]


_WHAT: Final = "the directory of a peer"
_UNREADABLE: Final = (msgspec.MsgspecError, zlib.error, ValueError, RecursionError)


class Compare(Struct, frozen=True, array_like=True):
    """A question for differences. `digests`: of all buckets; `max_links`: how many the answer may have."""

    digests: Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=MAX_BUCKETS * DIGEST_BYTES)]
    wanted: Annotated[bytes, Meta(max_length=_MAX_WANTED * WANTED_BYTES)] = b""
    max_links: Annotated[int, Meta(ge=0, lt=1 << 32)] = 0

    def __post_init__(self) -> None:
        _check_length(self.digests, DIGEST_BYTES)
        _check_length(self.wanted, WANTED_BYTES)
        _check_buckets(self.num_buckets)

    @property
    def num_buckets(self) -> int:
        return len(self.digests) // DIGEST_BYTES

    @refusing(Code.BAD_REPLY, *_UNREADABLE, what=_WHAT)
    def read(self, body: bytes) -> Compared:
        """Decode the answer. Raises RemoteError BAD_REPLY."""
        answer, num_wanted = _inflate(Compared, body), len(self.wanted) // WANTED_BYTES
        _check_numbers(answer.differing, self.num_buckets)
        if len(answer.news) > 2 * num_wanted or any(each.place >= num_wanted for each in answer.news):
            raise ValueError("more news than wanted")
        return answer


class News(Struct, frozen=True, array_like=True):
    """An announcement in an answer. `place`: of its server in the question's `wanted`."""

    place: Annotated[int, Meta(ge=0)]
    kind: Kind
    body: Body
    signature: Signature
    ticket: Ticket


class Compared(Struct, frozen=True, array_like=True):
    """The answer to `Compare`. `differing`: numbers of buckets."""

    differing: _Numbers
    news: list[News] = []


class Fetch(Struct, frozen=True, array_like=True):
    """A question for records. `entries`: of the asker's in these buckets; `after`: `next` of the page before."""

    num_buckets: Annotated[int, Meta(ge=1, le=MAX_BUCKETS)]
    buckets: _Numbers
    entries: Annotated[bytes, Meta(max_length=_MAX_ENTRIES * ENTRY_BYTES)] = b""
    after: Annotated[bytes, Meta(max_length=PAGE_BYTES)] = b""

    def __post_init__(self) -> None:
        _check_buckets(self.num_buckets)
        _check_numbers(self.buckets, self.num_buckets)
        _check_length(self.entries, ENTRY_BYTES)
        _check_length(self.after, PAGE_BYTES)

    @refusing(Code.BAD_REPLY, *_UNREADABLE, what=_WHAT)
    def read(self, body: bytes) -> Fetched:
        """Decode the answer. Raises RemoteError BAD_REPLY."""
        answer = _inflate(Fetched, body)
        _check_numbers(answer.absent, len(self.entries) // ENTRY_BYTES)
        if answer.next and answer.next <= self.after:
            raise ValueError("no progress")
        return answer


class Fetched(Struct, frozen=True, array_like=True):
    """The answer to `Fetch`. Similar bodies lie apart from keys and signatures, which do not compress.

    Attributes:
        next: grows from page to page; empty: this is the last one.
        absent: places of entries that the other does not have; on the last page.
    """

    next: Annotated[bytes, Meta(max_length=PAGE_BYTES)] = b""
    keys: Annotated[bytes, Meta(max_length=KEY_BYTES * _MAX_RECORDS)] = b""
    signatures: Annotated[bytes, Meta(max_length=SIGNATURE_BYTES * _MAX_RECORDS)] = b""
    tickets: Annotated[list[Ticket], Meta(max_length=_MAX_RECORDS)] = []
    bodies: Annotated[list[Body], Meta(max_length=_MAX_RECORDS)] = []
    absent: _Numbers = b""

    def __post_init__(self) -> None:
        _check_length(self.next, PAGE_BYTES)
        keys, signatures = len(self.keys) / KEY_BYTES, len(self.signatures) / SIGNATURE_BYTES
        if not keys == signatures == len(self.tickets) == len(self.bodies):
            raise ValueError("keys without records")

    @classmethod
    def of(cls, records: Sequence[Sealed], *, absent: bytes = b"", following: bytes = b"") -> Fetched:
        return cls(
            next=following,
            keys=b"".join(record.author for record in records),
            signatures=b"".join(record.signature for record in records),
            tickets=[record.ticket for record in records],
            bodies=[record.body for record in records],
            absent=absent,
        )

    @property
    def records(self) -> list[Sealed]:
        keys, signatures = split(self.keys, KEY_BYTES), split(self.signatures, SIGNATURE_BYTES)
        rows = zip(keys, self.bodies, signatures, self.tickets, strict=True)
        return [Sealed(key, Kind.RECORD, *others) for key, *others in rows]


class Push(Struct, frozen=True, array_like=True):
    """Announcements that are passed on."""

    announcements: Annotated[list[Sealed], Meta(max_length=MAX_PUSHED)]


class FailureReport(Struct, frozen=True, array_like=True):
    """A report that a server did not answer a client."""

    suspect: Key


@refusing(Code.BAD_REQUEST, *_UNREADABLE, what=_WHAT)
def decode(kind: type[T], body: bytes) -> T:
    """Decode a question. Raises RemoteError BAD_REQUEST."""
    if len(body) > MAX_REQUEST_BYTES:
        raise ValueError("too long")
    return msgspec.msgpack.decode(body, type=kind)


def encode(message: Struct) -> bytes:
    """Return the bytes of a question."""
    return msgspec.msgpack.encode(message)


def encode_answer(answer: Compared | Fetched) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(answer), 6)


def short(sequence: float) -> bytes:
    """Shorten a sequence number to four bytes, unequal for announcements less than 49 days apart."""
    return (round(sequence * 1000) % (1 << 8 * SHORT_BYTES)).to_bytes(SHORT_BYTES, "big")


def split(data: bytes, size: int) -> list[bytes]:
    """Return the parts of a value."""
    return [data[start : start + size] for start in range(0, len(data), size)]


def pack_numbers(numbers: Iterable[int]) -> bytes:
    return b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in numbers)


def read_numbers(data: bytes) -> list[int]:
    return [int.from_bytes(part, "big") for part in split(data, _NUMBER_BYTES)]


def _inflate(kind: type[T], body: bytes) -> T:
    inflater = zlib.decompressobj()
    data = inflater.decompress(body, MAX_ANSWER_BYTES)
    if inflater.unconsumed_tail or not inflater.eof:
        raise ValueError("too long, or cut off")
    return msgspec.msgpack.decode(data, type=kind)


def _check_buckets(number: int) -> None:
    if not number or MAX_BUCKETS % number:
        raise ValueError("a power of two of buckets")


def _check_length(data: bytes, size: int) -> None:
    if len(data) % size:
        raise ValueError(f"not parts of {size} bytes")


def _check_numbers(data: bytes, below: int) -> None:
    _check_length(data, _NUMBER_BYTES)
    if any(number >= below for number in read_numbers(data)):
        raise ValueError("a number above the last one")
