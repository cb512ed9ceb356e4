"""What nodes tell each other about who they are and whom they know: presentations, comparisons, passes. No I/O."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Meta, Struct

from potluck.membership.records import Hash, Pass, RecordError, is_signed, read_record, sign
from potluck.protocol.codes import Code, Denial, RemoteError

MAX_PRESENTATION_BYTES = 8192
MAX_NEWS = 2000  # records of one message; the rest comes with the next one
_PASS_LIVES_S = 86_400
_MAX_CHAINS = 4096
_MAX_HASHES = 8 * 40_000  # the lists, applications and requests of 10,000 people

Message = TypeVar("Message", "Presentation", "Exchange")
Head = tuple[Annotated[int, Meta(ge=0, lt=1 << 32)], Annotated[bytes, Meta(max_length=8)], bool]
Heads = Annotated[dict[Hash, Head], Meta(max_length=_MAX_CHAINS)]


class Presentation(Struct, frozen=True, omit_defaults=True):
    """The message with which a node shows who it is, and the answer to it.

    Attributes:
        digest: of what the node knows of the members, so that both see whether one of them lacks something.
        heads: of the chains that may grow.
        ticket: a pass, see `write_pass`; empty for a computer that its person lists.
        machines: the list of the person's computers.
        application: of a guest, or of a computer that asks to be listed.
        invite: the entry of the guest's invite.
        entries: of leaders' chains, as the other lacks them.
        is_unknown: in answers: the other knows nobody with this key; it takes entries from which that follows.
    """

    digest: bytes = b""
    heads: Heads = {}
    ticket: bytes = b""
    machines: bytes = b""
    application: bytes = b""
    invite: bytes = b""
    entries: Annotated[tuple[bytes, ...], Meta(max_length=64)] = ()
    is_unknown: bool = False


class Exchange(Struct, frozen=True, omit_defaults=True):
    """News of members, or a comparison of what two nodes know.

    Attributes:
        records: what the other may lack.
        heads: of the chains that the sender knows; None: it asks for nothing.
        others: the beginnings of the hashes of the records outside chains that it knows.
        lacks: in answers: those of them that are new to the other.
        has_more: in answers: compare once more.
        newcomer: a presentation of somebody whom the sender may not let in; place: where they come from.
    """

    records: Annotated[tuple[bytes, ...], Meta(max_length=MAX_NEWS)] = ()
    heads: Heads | None = None
    others: Annotated[bytes, Meta(max_length=_MAX_HASHES)] = b""
    lacks: Annotated[bytes, Meta(max_length=_MAX_HASHES)] = b""
    has_more: bool = False
    newcomer: Annotated[bytes, Meta(max_length=MAX_PRESENTATION_BYTES)] = b""
    place: Annotated[str, Meta(max_length=64)] = ""


class RemovedError(RemoteError):
    """The refusal of a person or computer that was removed."""

    def __init__(self) -> None:
        super().__init__(Code.NOT_A_MEMBER, Denial.REMOVED)


def encode(message: Presentation | Exchange) -> bytes:
    return msgspec.msgpack.encode(message)


def decode(body: bytes, kind: type[Message]) -> Message:
    """Read a message, ignoring fields of newer versions. Raises RemoteError BAD_REQUEST."""
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RemoteError(Code.BAD_REQUEST, f"not a message about members ({kind.__name__})") from error


def write_pass(swarm_key: bytes, node: bytes, signer: Ed25519PrivateKey, now_s: float) -> bytes:
    """Return a pass for a node whose key is made for one run, signed by a person or by one of their computers."""
    return sign(swarm_key, Pass(node, int(now_s + _PASS_LIVES_S)), signer).data


def signer_of(swarm_key: bytes, ticket: bytes, node: bytes, now_s: float) -> bytes:
    """Return the key that signed a pass. Raises RemoteError NOT_A_MEMBER."""
    try:
        record = read_record(ticket)
    except RecordError as error:
        raise stranger("the pass is not valid") from error
    body = record.body
    is_valid = isinstance(body, Pass) and body.node == node and now_s < body.expires_s <= now_s + 2 * _PASS_LIVES_S
    if not is_valid or not is_signed(swarm_key, record):
        raise stranger("the pass is not valid")
    return record.authors[0]


def stranger(reason: str | Denial) -> RemoteError:
    """Return the refusal of somebody who may not come in."""
    return RemoteError(Code.NOT_A_MEMBER, reason)
