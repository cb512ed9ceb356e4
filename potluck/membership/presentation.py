"""What a node shows before another one speaks with it, and how that is judged.

A computer that the other's roster knows shows nothing: the transport authenticates its key. Others bring the statements
that prove their membership, a pass if their key is made for one run, or the application of somebody who joins.
No I/O and no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from potluck.membership.identity import public_key_of
from potluck.membership.roster import Person, Roster
from potluck.membership.statements import (
    KEY_BYTES,
    Delegation,
    Enrolment,
    Machine,
    Promotion,
    Statement,
    StatementError,
    countersign,
    read_statement,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

REMOVED = "removed from the swarm"
NOBODY_ONLINE = "no member is online who could let you in"
WORKING = "doing the work that joining this swarm costs"
MAX_PRESENTATION_BYTES = 4096  # with a proof; without one it has some 300
_MAX_ANSWER_BYTES = 65_536  # to a newcomer, who may know nobody
_MAX_PROOF = 256
_PASS_LIVES_S = 30 * 86_400
_MAX_AGE_S = 86_400  # of an application at the door of a public swarm: its time is that at which probation begins
_MAX_SKEW_S = 300
_PURPOSE = b"potluck pass 1\0"


@dataclass(frozen=True, slots=True)
class Presentation:
    """Attributes:
    proof: statements from which the swarm's key leads to the node's.
    ticket: a pass, see `write_pass`; empty for a computer of the roster.
    application: an enrolment to witness; empty for members.
    digest: of the roster, so that both sides see whether one of them lacks something.
    witnessed: in answers, the application with the witness's signature.
    challenge: in answers to an application at the door of a public swarm, what its sender has to work on, and in the
        next application, the same with the answer.
    nonce: the answer.
    """

    proof: tuple[bytes, ...] = ()
    ticket: bytes = b""
    application: bytes = b""
    digest: bytes = b""
    witnessed: bytes = b""
    challenge: bytes = b""
    nonce: bytes = b""


class RemovedError(RemoteError):
    """Refuses a person or computer that was removed, by their key."""

    def __init__(self, key: bytes) -> None:
        super().__init__(Code.NOT_A_MEMBER, REMOVED)
        self.key = key


def encode_presentation(presentation: Presentation) -> bytes:
    return bytes(msgpack.packb({name: getattr(presentation, name) for name in presentation.__slots__}))


def decode_presentation(body: bytes, *, is_answer: bool = False) -> Presentation:
    """Raises RemoteError BAD_REQUEST. Fields of newer versions are ignored."""
    try:
        if len(body) > (_MAX_ANSWER_BYTES if is_answer else MAX_PRESENTATION_BYTES):
            raise ValueError("too long")
        fields = msgpack.unpackb(body)
        proof = fields.get("proof", [])
        rest = [fields.get(name, b"") for name in Presentation.__slots__[1:]]
        if not isinstance(proof, list) or len(proof) > _MAX_PROOF:
            raise ValueError("the proof")
        if not all(isinstance(item, bytes) for item in (*proof, *rest)):
            raise ValueError("a field")
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise RemoteError(Code.BAD_REQUEST, "not a presentation") from error
    return Presentation(tuple(proof), *rest)


def write_pass(node: bytes, signer: Ed25519PrivateKey, now_s: float) -> bytes:
    """Return a pass for a node whose key is made for one run, signed by a person or by one of their computers."""
    body = msgpack.packb([node, int(now_s + _PASS_LIVES_S)])
    return bytes(msgpack.packb([body, signer.public_key().public_bytes_raw(), signer.sign(_PURPOSE + body)]))


def judge(roster: Roster, peer: PeerId, shown: Presentation, now_s: float) -> tuple[Person, list[Statement]]:
    """Return the member behind a node, and the statements that the roster lacks to know it.

    Raises:
        RemoteError: NOT_A_MEMBER.
    """
    key = public_key_of(peer)
    if key is None:
        raise _stranger("the node's key has the wrong kind")
    signer = _signer_of(shown.ticket, key, now_s) if shown.ticket else key
    person = roster.member_of_key(signer)
    if person is not None:
        return person, []
    _refuse_removed(roster, signer)
    known = list(_read(roster.swarm_key, shown.proof))
    if not _is_vouched_for(roster, signer, known):
        raise _stranger("the proof of membership is missing or not valid")
    trial = Roster(roster.swarm_key)
    trial.merge([*roster, *known], now_s=now_s)
    person = trial.member_of_key(signer)
    if person is None:
        removed = [each for each in known if isinstance(each.content, Machine | Enrolment)]
        for statement in removed:
            _refuse_removed(roster, statement.content.person)  # type: ignore[union-attr]
        raise _stranger("the proof of membership is missing or not valid")
    return person, [item for item in known if item.digest in trial]


@dataclass(frozen=True, slots=True)
class Application:
    """The application of somebody who may be let in.

    Attributes:
        bits: the price that has to be paid first, see `work.py`; 0: none.
        known: the statements that came with it, itself included.
    """

    statement: Statement
    enrolment: Enrolment
    bits: int
    known: tuple[Statement, ...]


def read_application(roster: Roster, shown: Presentation, now_s: float) -> Application:
    """Return the application that a node shows, if a member may witness it once the price is paid.

    Raises:
        RemoteError: NOT_A_MEMBER, with the reason.
    """
    known = tuple(_read(roster.swarm_key, (*shown.proof, shown.application)))
    application = next((item for item in known if item.data == shown.application), None)
    if application is None or not isinstance(application.content, Enrolment):
        raise _stranger("the application is not in order")
    enrolment = application.content
    if roster.invite(enrolment.invite) is None and not any(
        isinstance(item.content, Delegation)
        and item.content.invite == enrolment.invite
        and (roster.may_lead(item.authors[0]) or _is_promoted(item.authors[0], roster, known))
        for item in known
    ):
        raise _stranger("the invite was withdrawn, or it was not made by somebody who may invite")
    trial = roster
    if roster.invite(enrolment.invite) is None:  # otherwise a stranger at a public door would cost a whole roster
        trial = Roster(roster.swarm_key)
        trial.merge([*roster, *known], now_s=now_s)
    _refuse_removed(roster, enrolment.person)
    if roster.person(enrolment.person) is not None:  # enrolled before, without hearing of it
        return Application(application, enrolment, 0, known)
    invite = trial.invite(enrolment.invite)
    if invite is None:
        raise _stranger("the invite was withdrawn, or it was not made by somebody who may invite")
    if invite.expires_s < now_s:
        raise _stranger("the invite has expired")
    if trial.num_enrolled(invite.invite) >= invite.max_people:
        raise _stranger("the invite has been used up")
    if invite.work_bits and not now_s - _MAX_AGE_S <= enrolment.at_s <= now_s + _MAX_SKEW_S:
        raise _stranger("the application is older than a day; leave the swarm and join it again")
    return Application(application, enrolment, invite.work_bits, known)


def witness(roster: Roster, application: Application, witness_key: Ed25519PrivateKey, now_s: float) -> Statement:
    """Return an application that is paid for with a second signature, by a member who found it in order.

    Raises:
        RemoteError: NOT_A_MEMBER.
    """
    enrolment = application.enrolment
    if roster.person(enrolment.person) is not None:
        found = next((item for item in roster if item.content == enrolment), None)
        if found is None:
            raise _stranger("you have joined with another application")
        return found
    statement = countersign(roster.swarm_key, application.statement, witness_key)
    trial = Roster(roster.swarm_key)
    trial.merge([*roster, *application.known, statement], now_s=now_s)
    if trial.person(enrolment.person) is None:
        raise _stranger("this node may not witness who joins")
    return statement


def _signer_of(ticket: bytes, node: bytes, now_s: float) -> bytes:
    try:
        body, signer, signature = msgpack.unpackb(ticket)
        named, expires_s = msgpack.unpackb(body)
        if named != node or not now_s < expires_s <= now_s + 2 * _PASS_LIVES_S or len(signer) != KEY_BYTES:
            raise ValueError("of another node, or expired")
        Ed25519PublicKey.from_public_bytes(signer).verify(signature, _PURPOSE + body)
    except (ValueError, TypeError, InvalidSignature, msgpack.UnpackException) as error:
        raise _stranger("the pass is not valid") from error
    return bytes(signer)


def _read(swarm_key: bytes, proof: Iterable[bytes]) -> Iterable[Statement]:
    """Read statements up to the first that is not sound: a stranger's inventions cost one check."""
    for data in proof:
        try:
            yield read_statement(swarm_key, data)
        except StatementError as error:
            raise _stranger("the proof of membership is not valid") from error


def _is_vouched_for(roster: Roster, key: bytes, known: Sequence[Statement]) -> bool:
    """Return whether signatures lead from a key to somebody in the roster, before the whole roster is worked through.

    Without a signature of a member nobody gets that far.
    """
    led = {(item.content.person, item.authors[-1]) for item in known if isinstance(item.content, Enrolment)}
    led |= {(item.content.machine, item.content.person) for item in known if isinstance(item.content, Machine)}
    keys = {key}
    for _ in known:
        keys |= {to for come, to in led if come in keys}
    return any(each == roster.swarm_key or roster.member_of_key(each) is not None for each in keys)


def _is_promoted(key: bytes, roster: Roster, known: Sequence[Statement]) -> bool:
    return any(
        isinstance(item.content, Promotion) and item.content.person == key and item.authors[0] == roster.swarm_key
        for item in known
    )


def _refuse_removed(roster: Roster, key: bytes) -> None:
    if roster.is_removed(key):
        raise RemovedError(key)


def _stranger(reason: str) -> RemoteError:
    return RemoteError(Code.NOT_A_MEMBER, reason)
