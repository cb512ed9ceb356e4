"""Signs announcements and checks those of others.

The signed body is a msgpack list: sequence number and expiry, both in milliseconds of the author's clock, then the
values. A record keeps its sequence number while its content stays the same and only its expiry moves. The signature
covers purpose, swarm and body. In the DHT an announcement is a map {body, signature, ticket}.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache, partial
from typing import Annotated, Final

import msgpack
import msgspec
from msgspec import Meta, Struct

from potluck.directory.fields import (
    NUM_HEARTBEAT_VALUES,
    NUM_RECORD_VALUES,
    Links,
    convert_bytes,
    heartbeat_values,
    read_heartbeat,
    read_record,
    record_values,
)
from potluck.membership.identity import SIGNATURE_BYTES, Identity, is_signed_by, peer_id_of, public_key_of
from potluck.p2p.network import DhtKey, RecordCheck
from potluck.protocol.blocks import PeerId, PersonOf
from potluck.protocol.records import Heartbeat, ServerRecord
from potluck.protocol.swarm import Swarm

RECORD_TTL_S = 300.0  # similar to the 240 s of Petals; a record is stored again after a third of it
HEARTBEAT_TTL_S = 30.0  # three heartbeats: two may get lost, and a crash shows within half a minute
MAX_STRETCH = 10.0  # factor by which heartbeats of a large swarm are rarer and valid for longer, at most
KEY_BYTES: Final = 32
MAX_ANNOUNCEMENT_BYTES: Final = 16_384  # a record of 1,000 blocks has 8.5 kB
_MAX_PASS_BYTES: Final = 256
_MOST_BYTES_BESIDE_BLOCKS = 8192  # the longest texts and names of adapters in a record
_BYTES_A_BLOCK = 9  # a digest and a bit in a record
_MOST_UNKNOWN_BYTES = 256  # room for values that newer versions may add
MAX_SKEW_S = 6.0  # clocks may differ so much: the DHT admits no node that is off by more than 3 s from its neighbour

Key = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Body = Annotated[bytes, Meta(max_length=MAX_ANNOUNCEMENT_BYTES)]
Signature = Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]
Ticket = Annotated[bytes, Meta(max_length=_MAX_PASS_BYTES)]
Value = ServerRecord | Heartbeat | Links
_Ms = Annotated[int, Meta(ge=0, lt=1 << 53)]
_peer_of = lru_cache(maxsize=1 << 15)(peer_id_of)


class Kind(IntEnum):
    """A kind of announcement: its number between servers, its name in the DHT key, lifetime, bytes and known values."""

    RECORD = 0, "servers", RECORD_TTL_S, _MOST_BYTES_BESIDE_BLOCKS, NUM_RECORD_VALUES
    HEARTBEAT = 1, "heartbeats", HEARTBEAT_TTL_S, 512, NUM_HEARTBEAT_VALUES + 1
    LINKS = 2, "links", RECORD_TTL_S, 2048, 1

    label: str
    ttl_s: float
    most_bytes: int
    num_values: int

    def __new__(cls, number: int, label: str, ttl_s: float, most_bytes: int, num_values: int) -> Kind:
        kind = int.__new__(cls, number)
        kind._value_, kind.label, kind.ttl_s = number, label, ttl_s
        kind.most_bytes, kind.num_values = most_bytes, num_values
        return kind

    @classmethod
    def of(cls, value: Value) -> Kind:
        if isinstance(value, ServerRecord):
            return cls.RECORD
        return cls.HEARTBEAT if isinstance(value, Heartbeat) else cls.LINKS

    def key(self, swarm: Swarm) -> DhtKey:
        return f"potluck.{swarm.prefix}.{self.label}"

    @property
    def longest_s(self) -> float:
        """Return the longest lifetime that is accepted."""
        return self.ttl_s * MAX_STRETCH


class Sealed(Struct, frozen=True, array_like=True):
    """An announcement in the form in which nodes pass it on."""

    author: Key
    kind: Kind
    body: Body
    signature: Signature
    ticket: Ticket = b""  # pass of a node whose key is made for one run; in records only

    @property
    def peer_id(self) -> PeerId:
        return _peer_of(self.author)

    def to_bytes(self) -> bytes:
        """Return the value that is stored in the DHT."""
        return msgspec.msgpack.encode(_Stored(self.body, self.signature, self.ticket))


class _Stored(Struct, frozen=True):
    """An announcement in the DHT, under its key and the peer id of its author."""

    body: Body
    signature: Signature
    ticket: Ticket = b""


_stored = msgspec.msgpack.Decoder(_Stored)
_bodies = msgspec.msgpack.Decoder(list[object])


@dataclass(frozen=True, slots=True)
class Announcement:
    """A checked announcement.

    Attributes:
        sequence: grows with each change by the same author; Unix seconds, like `expiration`.
        record: for a heartbeat, the sequence number of the record that it belongs to.
    """

    value: Value
    sequence: float
    expiration: float
    sealed: Sealed
    record: float = 0.0

    @property
    def peer_id(self) -> PeerId:
        return self.sealed.peer_id


class BadAnnouncementError(ValueError):
    """An announcement is malformed, too far ahead, or not signed by its author; the text says which."""


def seal(
    swarm: Swarm,
    identity: Identity,
    value: Value,
    *,
    sequence: float,
    expiration: float,
    record: float = 0.0,
    ticket: bytes = b"",
) -> Sealed:
    """Sign a value. `record`: of a heartbeat, the sequence number of the record that it belongs to."""
    match value:
        case ServerRecord():
            values = record_values(value, swarm)
        case Heartbeat():
            values = [*heartbeat_values(value), _ms(record)]
        case Links():
            values = [value.rates]
    # Floats of signed bodies have four bytes, which msgspec does not write.
    body = msgpack.packb([_ms(sequence), _ms(expiration), *values], use_single_float=True)
    kind = Kind.of(value)
    return Sealed(identity.public_key, kind, body, identity.sign(_signed(swarm, kind, body)), ticket)


def unseal(swarm: Swarm, sealed: Sealed, *, now: float) -> Announcement:
    """Check everything about an announcement except whether it has expired. Raises BadAnnouncementError."""
    kind = sealed.kind
    if len(sealed.body) > kind.most_bytes + (_BYTES_A_BLOCK * swarm.num_blocks if kind is Kind.RECORD else 0):
        raise BadAnnouncementError("too long")
    if not is_signed_by(sealed.peer_id, _signed(swarm, kind, sealed.body), sealed.signature):
        raise BadAnnouncementError("not signed by the peer it is about")
    try:
        values = _bodies.decode(sealed.body)
        unknown = values[2 + kind.num_values :]
        if unknown and len(msgspec.msgpack.encode(unknown)) > _MOST_UNKNOWN_BYTES:
            raise ValueError("padded")
        value, record_ms = _read(swarm, sealed, values[2:])
        times = msgspec.convert((*values[:2], record_ms), tuple[_Ms, _Ms, _Ms])
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadAnnouncementError(f"an impossible value: {error}") from error
    sequence, end, record = (each / 1000 for each in times)
    if end > now + kind.longest_s + MAX_SKEW_S:
        raise BadAnnouncementError("it ends too far ahead")
    if sequence > min(end, now + MAX_SKEW_S):
        raise BadAnnouncementError("its sequence number is too far ahead")
    return Announcement(value, sequence, end, sealed, record)


def unseal_stored(
    swarm: Swarm, kind: Kind, subkey: object, value: object, expiration: float, *, now: float
) -> Announcement:
    """Check an announcement that was found in the DHT, including its expiry. Raises BadAnnouncementError."""
    author = public_key_of(subkey) if isinstance(subkey, str) else None
    if author is None:
        raise BadAnnouncementError("not signed by a peer")
    if not isinstance(value, bytes) or len(value) > MAX_ANNOUNCEMENT_BYTES:
        raise BadAnnouncementError("not an announcement")
    try:
        stored = _stored.decode(value)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise BadAnnouncementError("malformed") from error
    sealed = Sealed(author, kind, stored.body, stored.signature, stored.ticket)
    announcement = unseal(swarm, sealed, now=now)
    if not math.isfinite(expiration) or _ms(announcement.expiration) != _ms(expiration):
        raise BadAnnouncementError("stored with another end than the signed one")
    return announcement


def record_checks(swarm: Swarm, clock: Callable[[], float]) -> dict[DhtKey, RecordCheck]:
    """Return the checks for nodes that store records: under a swarm's keys a member stores only what it signed."""

    def check(kind: Kind, subkey: str, value: object, expiration: float, person_of: PersonOf) -> bool:
        try:
            announcement = unseal_stored(swarm, kind, subkey, value, expiration, now=clock())
        except BadAnnouncementError:
            return False
        return person_of(announcement.peer_id, announcement.sealed.ticket) is not None

    return {kind.key(swarm): partial(check, kind) for kind in Kind}


def _read(swarm: Swarm, sealed: Sealed, values: list[object]) -> tuple[Value, object]:
    """Return the value of an announcement, and of a heartbeat the time of its record."""
    match sealed.kind:
        case Kind.RECORD:
            return read_record(sealed.peer_id, values, swarm), 0
        case Kind.HEARTBEAT:
            return read_heartbeat(sealed.peer_id, values), values[6] if len(values) > NUM_HEARTBEAT_VALUES else 0
        case Kind.LINKS:
            return convert_bytes((sealed.peer_id, *values[:1]), Links), 0


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _signed(swarm: Swarm, kind: Kind, body: bytes) -> bytes:
    return b"\0".join((b"potluck announcement 4", kind.name.encode(), swarm.prefix.encode(), body))
