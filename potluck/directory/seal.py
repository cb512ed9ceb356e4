"""Signs announcements and checks those of others.

The signed body is a msgpack list: sequence number and expiry, both in milliseconds of the author's clock, then the
fields. A record keeps its sequence number while its content stays the same and only its expiry moves. The signature
covers purpose, swarm and body. In the DHT an announcement is a map {body, signature, ticket}.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TypeVar

import msgpack

from potluck.directory.fields import (
    HEARTBEAT_FIELDS,
    LINKS_FIELDS,
    RECORD_FIELDS,
    BadFieldError,
    Links,
    heartbeat_from_fields,
    links_from_fields,
    record_from_fields,
)
from potluck.membership.identity import Identity, is_signed_by
from potluck.p2p.config import RecordCheck
from potluck.p2p.network import DhtKey
from potluck.protocol.blocks import PeerId, PersonOf
from potluck.protocol.records import Heartbeat, ServerRecord
from potluck.protocol.swarm import Swarm

RECORD_TTL_S = 300.0  # similar to the 240 s of Petals; a record is stored again after a third of it
HEARTBEAT_TTL_S = 30.0  # three heartbeats: two may get lost, and a crash shows within half a minute
MAX_STRETCH = 10.0  # in a large swarm heartbeats are up to this much rarer and valid for as much longer
MAX_PASS_BYTES = 256
MAX_ANNOUNCEMENT_BYTES = 16_384  # a record of 1,000 blocks has 8.5 kB
_MOST_BYTES_BESIDE_BLOCKS = 8192  # of a record: its longest texts and names of adapters
_BYTES_A_BLOCK = 9  # of a record: a digest and a bit
_MOST_BYTES = {"HEARTBEAT": 512, "LINKS": 2048}
_MOST_UNKNOWN_BYTES = 256  # of values that newer versions may add
_TIMES = ("sequence_ms", "expiration_ms")  # before the fields of each kind
MAX_SKEW_S = 6.0  # between two clocks: the DHT admits no node that is off by more than 3 s from its neighbour

Form = TypeVar("Form", list[object], dict[object, object])


class Kind(Enum):
    """A kind of announcement: its name in the DHT key, its lifetime and its fields in order."""

    RECORD = ("servers", RECORD_TTL_S, RECORD_FIELDS)
    HEARTBEAT = ("heartbeats", HEARTBEAT_TTL_S, HEARTBEAT_FIELDS)
    LINKS = ("links", RECORD_TTL_S, LINKS_FIELDS)

    def __init__(self, label: str, ttl_s: float, fields: tuple[str, ...]) -> None:
        self.label = label
        self.ttl_s = ttl_s
        self.fields = fields

    def key(self, swarm: Swarm) -> DhtKey:
        return f"potluck.{swarm.prefix}.{self.label}"

    @property
    def longest_s(self) -> float:
        """Return the longest lifetime that is accepted."""
        return self.ttl_s * MAX_STRETCH


@dataclass(frozen=True, slots=True)
class Sealed:
    """An announcement in the form in which nodes pass it on."""

    kind: Kind
    peer_id: PeerId
    body: bytes
    signature: bytes
    ticket: bytes = b""  # pass of a node whose key is made for one run; in records only

    def to_bytes(self) -> bytes:
        """Return the value that is stored in the DHT."""
        return bytes(msgpack.packb({"body": self.body, "signature": self.signature, "ticket": self.ticket}))


@dataclass(frozen=True, slots=True)
class Announcement:
    """A checked announcement.

    Attributes:
        sequence: grows with each change by the same author; Unix seconds, like `expiration`.
        record: for a heartbeat, the sequence number of the record that it belongs to.
    """

    value: ServerRecord | Heartbeat | Links
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
    kind: Kind,
    fields: Mapping[str, object],
    *,
    sequence: float,
    expiration: float,
    ticket: bytes = b"",
) -> Sealed:
    """Sign `fields`; the revision of a record is left out if it is the swarm's."""
    values = [fields.get(name) for name in kind.fields]
    if kind is Kind.RECORD and fields["revision"] == swarm.revision:
        values[RECORD_FIELDS.index("revision")] = None
    body = msgpack.packb([_ms(sequence), _ms(expiration), *values], use_single_float=True)
    signed = _signed(swarm, kind, body)
    return Sealed(kind, identity.peer_id, body, identity.sign(signed), ticket)


def unseal(swarm: Swarm, sealed: Sealed, *, now: float) -> Announcement:
    """Check everything about an announcement except whether it has expired. Raises BadAnnouncementError."""
    if len(sealed.body) > _most_bytes(swarm, sealed.kind):
        raise BadAnnouncementError("too long")
    signed = _signed(swarm, sealed.kind, sealed.body)
    if len(sealed.ticket) > MAX_PASS_BYTES:
        raise BadAnnouncementError("padded")
    if not is_signed_by(sealed.peer_id, signed, sealed.signature):
        raise BadAnnouncementError("not signed by the peer it is about")
    names, values = _TIMES + sealed.kind.fields, _unpack(sealed.body, list)
    if len(values) > len(names) and len(msgpack.packb(values[len(names) :])) > _MOST_UNKNOWN_BYTES:
        raise BadAnnouncementError("padded")
    fields: dict[object, object] = dict(zip(names, values, strict=False))
    try:
        sequence, end, record = (
            _seconds(fields.get("sequence_ms")),
            _seconds(fields.get("expiration_ms")),
            _seconds(fields.get("record", 0)),
        )
        value = _value(swarm, sealed, fields)
    except BadFieldError as error:
        raise BadAnnouncementError(f"an impossible field: {error}") from error
    if end > now + sealed.kind.longest_s + MAX_SKEW_S:
        raise BadAnnouncementError("it ends too far ahead")
    if sequence > min(end, now + MAX_SKEW_S):
        raise BadAnnouncementError("its sequence number is too far ahead")
    return Announcement(value, sequence, end, sealed, record)


def unseal_stored(
    swarm: Swarm, kind: Kind, subkey: object, value: object, expiration: float, *, now: float
) -> Announcement:
    """Check an announcement that was found in the DHT, including its expiry. Raises BadAnnouncementError."""
    envelope = _unpack(value, dict)
    body, signature, ticket = envelope.get("body"), envelope.get("signature"), envelope.get("ticket", b"")
    if not (isinstance(subkey, str) and isinstance(body, bytes) and isinstance(signature, bytes)):
        raise BadAnnouncementError("not signed by a peer")
    if not isinstance(ticket, bytes):
        raise BadAnnouncementError("the pass is malformed")
    announcement = unseal(swarm, Sealed(kind, PeerId(subkey), body, signature, ticket), now=now)
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


def _most_bytes(swarm: Swarm, kind: Kind) -> int:
    if kind is Kind.RECORD:
        return _MOST_BYTES_BESIDE_BLOCKS + _BYTES_A_BLOCK * swarm.num_blocks
    return _MOST_BYTES[kind.name]


def _value(swarm: Swarm, sealed: Sealed, fields: dict[object, object]) -> ServerRecord | Heartbeat | Links:
    match sealed.kind:
        case Kind.RECORD:
            if fields.get("revision") is None:
                fields["revision"] = swarm.revision
            return record_from_fields(sealed.peer_id, fields, num_blocks=swarm.num_blocks)
        case Kind.HEARTBEAT:
            return heartbeat_from_fields(sealed.peer_id, fields)
        case Kind.LINKS:
            return links_from_fields(sealed.peer_id, fields)


def _seconds(value: object) -> float:
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise BadFieldError("a time")
    return value / 1000


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _unpack(data: object, form: type[Form]) -> Form:
    if not isinstance(data, bytes) or len(data) > MAX_ANNOUNCEMENT_BYTES:
        raise BadAnnouncementError("not an announcement")
    try:
        content = msgpack.unpackb(data, strict_map_key=False)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadAnnouncementError("not msgpack") from error
    if not isinstance(content, form):
        raise BadAnnouncementError(f"not a {form.__name__}")
    return content


def _signed(swarm: Swarm, kind: Kind, body: bytes) -> bytes:
    return b"\0".join((b"potluck announcement 4", kind.name.encode(), swarm.prefix.encode(), body))
