"""What the people of a swarm sign: leaders' entries, lists of machines, applications, tickets, reports and passes.

A record is msgpack: a body and its signatures. The signatures cover the swarm's public key, so a record counts in one
swarm only. A record is known by the SHA-256 of its body as received; nothing is encoded anew. Records have no fields
that a version does not know, or versions would differ about them; a later version adds kinds. Whether its author was
allowed to make it is decided by `members.py`. No I/O and no clock.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Meta, Struct

from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.signatures import is_by
from potluck.protocol.swarm import MAX_BLOCKS, is_model_name, is_prefix, is_revision

KEY_BYTES = 32
HASH_BYTES = 32
MAX_RECORD_BYTES = 8192
MAX_NAME_CHARS = 40
MAX_PEOPLE_OF_INVITE = 10_000
MAX_MACHINES = 32  # computers of one person
MAX_REPORTS = 4  # reports of one person
MAX_MODEL_CHARS = 160
MAX_REVISION_CHARS = 64
MAX_PREFIX_CHARS = 64
_MAX_TIME_S = 1 << 40
_LARGEST_ERROR = 1e6  # the largest error that a report states
_PURPOSE = b"potluck record 1\0"
_CONSENT = b"potluck machine 1\0"

Key = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Hash = Annotated[bytes, Meta(min_length=HASH_BYTES, max_length=HASH_BYTES)]
Signature = Annotated[bytes, Meta(min_length=64, max_length=64)]
Name = Annotated[str, Meta(max_length=MAX_NAME_CHARS, pattern=r"^[^\W_](?:[\w .'-]*[\w.])?\Z")]
Time = Annotated[int, Meta(gt=0, lt=_MAX_TIME_S)]
Number = Annotated[int, Meta(ge=0, lt=1 << 48)]
_Small = Annotated[int, Meta(ge=0, lt=1 << 31)]


class RecordError(ValueError):
    """A record is malformed, or says what no record may say."""


class Rank(StrEnum):
    """The rank of a member."""

    MEMBER = "member"
    ENROLLER = "enroller"  # their computers let newcomers into a public swarm
    ADMIN = "admin"  # the same, and may invite, end invites, remove members and choose the model


class Open(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="open"):
    """The first entry of a chain. Its `before` is the hash of the appointment under which it is written; founder: 0s.

    Attributes:
        nonce: random, so that two computers of one leader never open the same chain.
    """

    nonce: Annotated[bytes, Meta(min_length=16, max_length=16)]


class Appoint(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="appoint"):
    """The appointment of an admin or an enroller. `seats`: how many an admin's invites may offer at a time."""

    person: Key
    rank: Rank
    seats: Annotated[int, Meta(ge=0, le=MAX_PEOPLE_OF_INVITE)]


class Dismiss(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="dismiss"):
    """The end of an appointment; of the chains written under it, only what leads to these entries counts.

    Attributes:
        appointment: hash of the entry that appointed; 0s settle a fork in a chain of the founder's own.
        ends: hash of the last entry that counts, by chain.
    """

    appointment: Hash
    ends: dict[Hash, Hash]


class Seats(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="invite"):
    """The public half of an invite: the holder of the private half may apply for one of its seats.

    Attributes:
        seed: the private half, of an invite that anybody may read; empty: the invite is a secret.
    """

    invite: Key
    people: Annotated[int, Meta(ge=1, le=MAX_PEOPLE_OF_INVITE)]
    expires_s: Time
    seed: Annotated[bytes, Meta(max_length=KEY_BYTES)] = b""


class EndInvite(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="end"):
    """The end of an invite and its guests."""

    invite: Key


class Confirm(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="confirm"):
    """The confirmation of a guest. `invite`: public key of the invite; for the founder's person the swarm's key."""

    person: Key
    name: Name
    invite: Key


class Remove(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="remove"):
    """The end of the membership of a person, or of one of their machines. It cannot be undone."""

    person: Key
    machine: Annotated[bytes, Meta(max_length=KEY_BYTES)] = b""


class Choose(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="model"):
    """The choice of the model that the swarm serves.

    Attributes:
        prefix: of the block uids; each choice has another one, so that servers of two models never meet.
        manifest: SHA-256 of the manifest of the model's files; empty: any files of that name count.
    """

    model: Annotated[str, Meta(max_length=MAX_MODEL_CHARS)]
    num_blocks: Annotated[int, Meta(ge=1, le=MAX_BLOCKS)]
    prefix: Annotated[str, Meta(max_length=MAX_PREFIX_CHARS)]
    revision: Annotated[str, Meta(max_length=MAX_REVISION_CHARS)]
    manifest: Annotated[bytes, Meta(max_length=HASH_BYTES)]


class ChooseDraft(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="draft"):
    """The choice of the small model that drafts for the swarm's model.

    Attributes:
        prefix: of the choice of that model; another one has drafting models of its own.
        model: empty, as the revision and the manifest: nothing drafts.
    """

    prefix: Annotated[str, Meta(max_length=MAX_PREFIX_CHARS)]
    model: Annotated[str, Meta(max_length=MAX_MODEL_CHARS)] = ""
    revision: Annotated[str, Meta(max_length=MAX_REVISION_CHARS)] = ""
    manifest: Annotated[bytes, Meta(max_length=HASH_BYTES)] = b""


Content = Open | Appoint | Dismiss | Seats | EndInvite | Confirm | Remove | Choose | ChooseDraft


class Entry(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="entry"):
    """One decision of a leader.

    Attributes:
        chain: hash of the chain's first entry; empty in that entry.
        number: counts from 0.
        before: hash of the entry before.
        heads: the newest entries of other chains that the author had seen and not named before, by chain.
        content: kept as bytes, so that entries of a kind that a later version adds do not break a chain.
    """

    chain: Annotated[bytes, Meta(max_length=HASH_BYTES)]
    number: Number
    before: Hash
    heads: dict[Hash, Hash]
    content: Annotated[bytes, Meta(max_length=MAX_RECORD_BYTES)]


class Machine(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A computer by the public key of its node. `consent`: its signature, so that nobody lists others' computers."""

    key: Key
    name: Name
    consent: Signature


class Machines(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="machines"):
    """All computers of a person. The list with the greater number counts."""

    person: Key
    number: Number
    machines: Annotated[tuple[Machine, ...], Meta(max_length=MAX_MACHINES)]


class Application(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="apply"):
    """A person's application for a seat, signed by them and with the invite's key."""

    person: Key
    name: Name
    invite: Key


class Ticket(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="ticket"):
    """A person's invite for one more of their computers: the holder of the private half of `key` may ask."""

    person: Key
    key: Key
    expires_s: Time


class Request(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="request"):
    """A computer's request to be listed, signed with the ticket's key. `ticket`: the record of the ticket."""

    person: Key
    ticket: bytes
    machine: Machine


class Report(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="report"):
    """A report that a computer returned wrong results, signed by a person whose client left it or by their computer.

    Nobody has to believe it and it changes nothing: it asks leaders, and the computer's owner, to look.

    Attributes:
        at_s: by the clock of who reports, in Unix seconds; of two reports about one computer the later one counts.
        blocks: [start, end), that computed the tokens of the window [start, end).
        repeated_by: people whose servers computed the window and agreed.
        difference, limit: relative errors of the window, and what is allowed, in millionths.
    """

    person: Key
    machine: Key
    at_s: Time
    blocks: tuple[_Small, _Small]
    tokens: tuple[_Small, _Small]
    repeated_by: Annotated[tuple[Key, ...], Meta(max_length=4)]
    difference: Number
    limit: Number


class Pass(Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag="pass"):
    """A pass for a node whose key is made for one run, by a person or one of their computers."""

    node: Key
    expires_s: Time


Body = Entry | Machines | Application | Ticket | Request | Report | Pass


class _Envelope(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A body with its signatures."""

    body: bytes
    signatures: Annotated[tuple[tuple[Key, Signature], ...], Meta(min_length=1, max_length=2)]


@dataclass(frozen=True, slots=True)
class WrongResults:
    """The findings of a client about one computer.

    Attributes:
        blocks: [start, end), that computed the tokens [start, end) of the window.
        repeated_by: people whose servers computed the window and agreed.
        difference, limit: relative errors of the window, and what is allowed.
    """

    peer_id: PeerId
    blocks: tuple[int, int]
    tokens: tuple[int, int]
    repeated_by: tuple[PersonId, ...]
    difference: float
    limit: float


NOTHING = bytes(HASH_BYTES)
_envelopes = msgspec.msgpack.Decoder(_Envelope)
_bodies = msgspec.msgpack.Decoder(Body)
_contents = msgspec.msgpack.Decoder(Content)


@dataclass(frozen=True, slots=True)
class Record:
    """A record that has been read. Its signatures may not have been checked, see `is_signed`.

    Attributes:
        content: of an entry; None in other records, and in entries that this version does not understand.
        authors: the keys that signed, in order.
        hash: SHA-256 of the body.
        data: the bytes in which it is stored and passed on.
    """

    body: Body
    content: Content | None
    authors: tuple[bytes, ...]
    hash: bytes
    data: bytes

    @property
    def chain(self) -> bytes:
        """Return the chain of an entry."""
        assert isinstance(self.body, Entry)
        return self.body.chain or self.hash


def read_record(data: bytes) -> Record:
    """Check form and bounds, not the signatures. Raises RecordError."""
    if len(data) > MAX_RECORD_BYTES:
        raise RecordError("a record is too long")
    try:
        envelope = _envelopes.decode(data)
        body = _bodies.decode(envelope.body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordError("not a record") from error
    content = None
    if isinstance(body, Entry):
        try:
            content = _sound(_contents.decode(body.content))
        except (msgspec.MsgspecError, ValueError, RecursionError):
            content = None
        if (body.number == 0) != isinstance(content, Open) or (body.number == 0) != (not body.chain):
            raise RecordError("an entry is out of its place")
    authors = tuple(key for key, _ in envelope.signatures)
    if len(authors) != (2 if isinstance(body, Application) else 1):
        raise RecordError("a record has the wrong number of signatures")
    return Record(body, content, authors, hashlib.sha256(envelope.body).digest(), data)


def is_signed(swarm_key: bytes, record: Record) -> bool:
    """Return whether all signatures of a record belong to their keys. Each costs 0.1 ms."""
    envelope, body = _envelopes.decode(record.data), record.body
    expected, person = record.authors, b""
    machines: tuple[Machine, ...] = ()
    match body:
        case Machines():
            expected, person, machines = (body.person,), body.person, body.machines
        case Application():
            expected = (body.person, body.invite)
        case Ticket():
            expected = (body.person,)
        case Request():
            person, machines = body.person, (body.machine,)
            ticket = ticket_of(body)
            if ticket is None or not is_signed(swarm_key, ticket):
                return False
    signed, consent = _PURPOSE + swarm_key + envelope.body, _CONSENT + swarm_key + person
    return (
        record.authors == expected
        and all(is_by(key, signed, signature) for key, signature in envelope.signatures)
        and all(is_by(each.key, consent, each.consent) for each in machines)
    )


def sign(swarm_key: bytes, body: Body, *keys: Ed25519PrivateKey) -> Record:
    """Return the record with a signature by each key. Raises RecordError for what no record may say."""
    raw = msgspec.msgpack.encode(body)
    signed = _PURPOSE + swarm_key + raw
    signatures = tuple((key.public_key().public_bytes_raw(), key.sign(signed)) for key in keys)
    record = read_record(msgspec.msgpack.encode(_Envelope(raw, signatures)))
    if isinstance(record.body, Entry) and record.content is None:
        raise RecordError("an entry says what no entry may say")
    return record


def write_report(
    swarm_key: bytes, person: bytes, machine: bytes, found: WrongResults, signer: Ed25519PrivateKey, now_s: float
) -> Record:
    """Return the report of a person, signed by them or by a computer of theirs.

    Args:
        machine: public key of the computer that was found.
    """
    people = tuple(bytes.fromhex(repeater) for repeater in found.repeated_by)
    errors = _millionths(found.difference), _millionths(found.limit)
    return sign(swarm_key, Report(person, machine, int(now_s), found.blocks, found.tokens, people, *errors), signer)


def raw_content(content: Content) -> bytes:
    """Return the bytes of an entry's content."""
    return msgspec.msgpack.encode(content)


def consent_to_listing(swarm_key: bytes, person: bytes, machine: Ed25519PrivateKey, name: str) -> Machine:
    """Return a computer that agrees to be listed by a person."""
    return Machine(machine.public_key().public_bytes_raw(), name, machine.sign(_CONSENT + swarm_key + person))


def read_all(data: Sequence[bytes]) -> list[Record]:
    """Return the records that have the form of one; others are left out."""
    found = []
    for item in data:
        try:
            found.append(read_record(item))
        except RecordError:
            continue
    return found


def _sound(content: Content) -> Content:
    """Return the content if what the codec does not check holds as well. Raises RecordError."""
    holds = True
    match content:
        case ChooseDraft(model="", revision="", manifest=b""):
            holds = is_prefix(content.prefix)
        case Choose() | ChooseDraft():
            names = is_model_name(content.model) and is_revision(content.revision)
            holds = names and is_prefix(content.prefix) and len(content.manifest) in (0, HASH_BYTES)
        case Seats(seed=seed):
            holds = len(seed) in (0, KEY_BYTES)
        case Remove(machine=machine):
            holds = len(machine) in (0, KEY_BYTES)
    if not holds:
        raise RecordError("an entry says what no entry may say")
    return content


def ticket_of(request: Request) -> Record | None:
    """Return the ticket with which a computer asks, or None if it is none of this person's."""
    try:
        record = read_record(request.ticket)
    except RecordError:
        return None
    return record if isinstance(record.body, Ticket) and record.body.person == request.person else None


def ticket_expires_s(request: Request) -> int:
    """Return until when a computer may be let in with the ticket of its request; 0: it has none."""
    ticket = ticket_of(request)
    return ticket.body.expires_s if ticket is not None and isinstance(ticket.body, Ticket) else 0


def _millionths(error: float) -> int:
    return round((error if error < _LARGEST_ERROR else _LARGEST_ERROR) * 1e6)  # NaN becomes the largest error, too


@lru_cache(maxsize=256)
def public_key(seed: bytes) -> bytes:
    """Return the public half of a private key."""
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
