"""Signed announcements: what is stored under a swarm's keys, and who may store it.

An announcement is a msgpack map {body, signature, membership}. The body holds the author's clock as sequence number and
the record's end, so a copy stored again with a later end is recognised; the signature covers purpose, swarm and body.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

import msgpack

from potluck.directory.fields import BadFieldError, heartbeat_from_fields, record_from_fields
from potluck.p2p.config import RecordCheck
from potluck.p2p.identity import Identity, is_signed_by
from potluck.p2p.network import DhtKey
from potluck.protocol.blocks import PeerId
from potluck.protocol.membership import is_record_of_member, record_proof
from potluck.protocol.records import Heartbeat, ServerRecord
from potluck.protocol.swarm import Swarm

RECORD_TTL_S = 300.0  # like stock peers' 240 s; a record is re-stored every third of it
HEARTBEAT_TTL_S = 30.0  # three beats: two lost ones do not make a server disappear, a crash shows within half a minute
MAX_ANNOUNCEMENT_BYTES = 16_384  # a record of 1000 blocks has 8.5 KB


class Kind(Enum):
    """What is announced: the name in its DHT key and how long it is valid."""

    RECORD = ("servers", RECORD_TTL_S)
    HEARTBEAT = ("heartbeats", HEARTBEAT_TTL_S)

    def key(self, swarm: Swarm) -> DhtKey:
        return f"potluck.{swarm.prefix}.{self.value[0]}"

    @property
    def ttl_s(self) -> float:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class Announcement:
    """A checked announcement. `sequence` grows with each one of the same author and kind."""

    value: ServerRecord | Heartbeat
    sequence: float
    expiration: float


class BadAnnouncementError(ValueError):
    """Not signed by its subkey's peer, not of a member, too far ahead, or malformed; the text says which."""


def seal(
    swarm: Swarm,
    identity: Identity,
    kind: Kind,
    fields: Mapping[str, object],
    *,
    sequence: float,
    expiration: float,
) -> bytes:
    body = msgpack.packb({**fields, "sequence": float(sequence), "expiration": float(expiration)})
    signed = _signed(swarm, kind, body)
    envelope = {"body": body, "signature": identity.sign(signed), "membership": record_proof(swarm, signed)}
    return bytes(msgpack.packb(envelope))


def unseal(swarm: Swarm, kind: Kind, subkey: object, value: object, expiration: float, *, now: float) -> Announcement:
    """Check everything about an announcement as it was found in the DHT. Raises BadAnnouncementError."""
    if not isinstance(subkey, str):
        raise BadAnnouncementError("the subkey is not a text")
    if not math.isfinite(expiration) or expiration > now + 2 * kind.ttl_s:
        raise BadAnnouncementError("the record ends too far ahead")
    envelope = _map_of(value)
    body, signature, proof = envelope.get("body"), envelope.get("signature"), envelope.get("membership")
    if not isinstance(body, bytes) or not isinstance(signature, bytes):
        raise BadAnnouncementError("no signature")
    signed = _signed(swarm, kind, body)
    if not is_record_of_member(swarm, signed, proof if isinstance(proof, bytes) else None):
        raise BadAnnouncementError("not of a member")
    if not is_signed_by(subkey, signed, signature):
        raise BadAnnouncementError("not signed by the peer it is about")
    return _announcement(swarm, kind, PeerId(subkey), _map_of(body), expiration)


def record_checks(swarm: Swarm, clock: Callable[[], float]) -> dict[DhtKey, RecordCheck]:
    """Rules for nodes that keep records: under a swarm's keys a peer stores only what it signed, and not for long."""

    def check_for(kind: Kind) -> RecordCheck:
        def check(subkey: str, value: object, expiration: float) -> bool:
            try:
                unseal(swarm, kind, subkey, value, expiration, now=clock())
            except BadAnnouncementError:
                return False
            return True

        return check

    return {kind.key(swarm): check_for(kind) for kind in Kind}


def _announcement(
    swarm: Swarm, kind: Kind, peer_id: PeerId, fields: Mapping[object, object], expiration: float
) -> Announcement:
    sequence, end = fields.get("sequence"), fields.get("expiration")
    if type(sequence) is not float or not math.isfinite(sequence) or sequence > expiration:
        raise BadAnnouncementError("no sequence number")
    if end != expiration:
        raise BadAnnouncementError("stored with another end than the signed one")
    try:
        value: ServerRecord | Heartbeat
        if kind is Kind.RECORD:
            value = record_from_fields(peer_id, fields, num_blocks=swarm.num_blocks)
        else:
            value = heartbeat_from_fields(peer_id, fields)
    except BadFieldError as error:
        raise BadAnnouncementError(f"an impossible field: {error}") from error
    return Announcement(value, sequence, expiration)


def _map_of(data: object) -> Mapping[object, object]:
    if not isinstance(data, bytes) or len(data) > MAX_ANNOUNCEMENT_BYTES:
        raise BadAnnouncementError("not an announcement")
    try:
        content = msgpack.unpackb(data)
    except (ValueError, msgpack.UnpackException) as error:
        raise BadAnnouncementError("not msgpack") from error
    if not isinstance(content, dict):
        raise BadAnnouncementError("not a map")
    return content


def _signed(swarm: Swarm, kind: Kind, body: bytes) -> bytes:
    return b"\0".join((b"potluck announcement 1", kind.name.encode(), swarm.prefix.encode(), body))
