"""What the people of a swarm sign: ranks, invites, enrolments, machines, removals, accusations, findings, the model.

A statement is a msgpack list of a body and its signatures. The signatures cover the swarm's public key, so a statement
counts in one swarm only. Whether its author was allowed to make it is decided by `roster.py`, never here. No I/O.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from potluck.protocol.swarm import MAX_BLOCKS, is_prefix, is_text

KEY_BYTES = 32
MAX_STATEMENT_BYTES = 512
DIGEST_BYTES = 16
MAX_NAME_CHARS = 40
MAX_PEOPLE_OF_INVITE = 10_000
MAX_NONCE_BYTES = 16
MAX_MODEL_CHARS = 160
MAX_REVISION_CHARS = 64
MAX_PREFIX_CHARS = 64
_SIGNATURE_BYTES = 64
_MAX_SIGNATURES = 2
_MAX_TIME_S = 1 << 40
_PURPOSE = b"potluck statement 1\0"
_WORD = re.compile(r"[a-z0-9:. _-]{1,48}")
_NAME = re.compile(r"[^\W_](?:[\w .'-]*[\w.])?")


class StatementError(ValueError):
    """A statement is malformed, or a signature does not belong to its key."""


class Rank(StrEnum):
    MEMBER = "member"
    ENROLLER = "enroller"  # their nodes let newcomers into a public swarm
    ADMIN = "admin"  # the same, and may invite, withdraw invites and remove members


@dataclass(frozen=True, slots=True)
class Promotion:
    """The founder gives a person a rank. The latest one counts."""

    person: bytes
    rank: Rank
    at_s: int


@dataclass(frozen=True, slots=True)
class Delegation:
    """The public half of an invite: who holds the private half may enrol. Or the door of a public swarm.

    Attributes:
        max_people: how many people may enrol with it.
        work_bits: makes it the swarm's door: anybody may enrol who does this much work, see `work.py`.
    """

    invite: bytes
    expires_s: int
    max_people: int
    at_s: int
    work_bits: int = 0


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """Ends an invite: nobody enrols with it after `at_s`."""

    invite: bytes
    at_s: int


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A person joins. Signed with the invite's key (at a public swarm's door with the person's), then by a witness.

    Attributes:
        invite: public key of the invite; the founder's own enrolment names the swarm's key.
        nonce: empty; earlier versions had a place for work here.
    """

    person: bytes
    name: str
    invite: bytes
    at_s: int
    nonce: bytes = b""


@dataclass(frozen=True, slots=True)
class Machine:
    """A person certifies one of their computers by the public key of its node. Signed by both keys."""

    machine: bytes
    person: bytes
    name: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Removal:
    """Ends the membership of a person, or of one machine. Cannot be taken back."""

    key: bytes
    at_s: int


@dataclass(frozen=True, slots=True)
class Charge:
    """Somebody accuses a server of having signed a wrong window. See `potluck.audit.accusations`.

    Attributes:
        machine: public key of the server's node.
        evidence: hash of the window and of what the server signed.
        blocks: the span, as START:END; weights: its digest; form: dtype, quantisation and format of keys and values.
    """

    machine: bytes
    evidence: bytes
    blocks: str
    weights: str
    form: str
    at_s: int


@dataclass(frozen=True, slots=True)
class Attestation:
    """Somebody whose server repeated the window of a charge says whether it was wrong.

    Attributes:
        charge: digest of the charge's statement.
    """

    charge: bytes
    is_wrong: bool
    at_s: int


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The founder or an admin says which model the swarm serves. The latest one counts.

    Attributes:
        prefix: of the block uids; each change has another one, so that servers of two models never meet.
        manifest: SHA-256 of the manifest of the model's files; empty: any files of that name count.
    """

    model: str
    num_blocks: int
    prefix: str
    revision: str
    manifest: bytes
    at_s: int


Content = Promotion | Delegation | Withdrawal | Enrolment | Machine | Removal | Charge | Attestation | ModelChoice

_KINDS: dict[str, type[Content]] = {
    "rank": Promotion,
    "invite": Delegation,
    "withdraw": Withdrawal,
    "enrol": Enrolment,
    "machine": Machine,
    "remove": Removal,
    "charge": Charge,
    "attest": Attestation,
    "model": ModelChoice,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class Statement:
    """Content whose signatures have been verified.

    Attributes:
        authors: the keys that signed it, in order.
        data: the bytes in which it is stored and passed on.
    """

    content: Content
    authors: tuple[bytes, ...]
    data: bytes

    @property
    def digest(self) -> bytes:
        """Return 16 bytes that tell this statement from others."""
        return hashlib.sha256(self.data).digest()[:DIGEST_BYTES]


def sign(swarm_key: bytes, content: Content, *keys: Ed25519PrivateKey) -> Statement:
    """Return the statement with a signature by each key."""
    body = msgpack.packb([_NAMES[type(content)], *_values(content)])
    return _signed(swarm_key, content, body, [_signature(swarm_key, body, key) for key in keys])


def countersign(swarm_key: bytes, statement: Statement, key: Ed25519PrivateKey) -> Statement:
    """Return the statement with its first signature and one by `key`."""
    body, signatures = msgpack.unpackb(statement.data)
    return _signed(swarm_key, statement.content, body, [signatures[0], _signature(swarm_key, body, key)])


def read_statement(swarm_key: bytes, data: object) -> Statement:
    """Check form, bounds and signatures. Raises StatementError; costs at most two signature checks of 0.1 ms."""
    if not isinstance(data, bytes) or len(data) > MAX_STATEMENT_BYTES:
        raise StatementError("not a statement")
    try:
        body, signatures = msgpack.unpackb(data)
        kind, *values = msgpack.unpackb(body)
        content = _KINDS[kind](*values)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException) as error:
        raise StatementError("not a statement") from error
    _check(content)
    if not isinstance(signatures, list) or not 1 <= len(signatures) <= _MAX_SIGNATURES:
        raise StatementError("not signed")
    authors = tuple(_author(swarm_key, body, item) for item in signatures)
    return Statement(content, authors, data)


def is_name(text: object) -> bool:
    """Return whether `text` can name a person or a machine: 1 to 40 letters, digits, spaces and .'-_."""
    return isinstance(text, str) and len(text) <= MAX_NAME_CHARS and _NAME.fullmatch(text) is not None


def _values(content: Content) -> Sequence[object]:
    return [getattr(content, field) for field in content.__slots__]


def _signed(swarm_key: bytes, content: Content, body: bytes, signatures: list[list[bytes]]) -> Statement:
    _check(content)
    return Statement(content, tuple(key for key, _ in signatures), msgpack.packb([body, signatures]))


def _signature(swarm_key: bytes, body: bytes, key: Ed25519PrivateKey) -> list[bytes]:
    return [key.public_key().public_bytes_raw(), key.sign(_PURPOSE + swarm_key + body)]


def _author(swarm_key: bytes, body: bytes, item: object) -> bytes:
    match item:
        case [bytes(key), bytes(signature)] if len(key) == KEY_BYTES and len(signature) == _SIGNATURE_BYTES:
            try:
                Ed25519PublicKey.from_public_bytes(key).verify(signature, _PURPOSE + swarm_key + body)
            except (InvalidSignature, ValueError) as error:
                raise StatementError("a signature does not belong to its key") from error
            return key
    raise StatementError("not signed")


def _check(content: Content) -> None:
    for field in content.__slots__:
        if not _holds(field, getattr(content, field)):
            raise StatementError(f"an impossible {field.removesuffix('_s')}")


def _holds(field: str, value: object) -> bool:
    match field:
        case "person" | "invite" | "machine" | "key" | "evidence":
            return isinstance(value, bytes) and len(value) == KEY_BYTES
        case "at_s" | "expires_s":
            return type(value) is int and 0 < value < _MAX_TIME_S
        case "name":
            return is_name(value)
        case "charge":
            return isinstance(value, bytes) and len(value) == DIGEST_BYTES
        case "is_wrong":
            return isinstance(value, bool)
        case "blocks" | "weights" | "form":
            return isinstance(value, str) and _WORD.fullmatch(value) is not None
        case "rank":
            return value in tuple(Rank)
        case "max_people":
            return type(value) is int and 1 <= value <= MAX_PEOPLE_OF_INVITE
        case "work_bits":
            return type(value) is int and 0 <= value <= 32
        case "num_blocks":
            return type(value) is int and 1 <= value <= MAX_BLOCKS
        case "model":
            return is_text(value, MAX_MODEL_CHARS)
        case "revision":
            return is_text(value, MAX_REVISION_CHARS)
        case "prefix":
            return is_prefix(value) and len(value) <= MAX_PREFIX_CHARS
        case "manifest":
            return isinstance(value, bytes) and len(value) in (0, KEY_BYTES)
        case _:
            return isinstance(value, bytes) and len(value) <= MAX_NONCE_BYTES
