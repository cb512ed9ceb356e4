"""The gate of a node: who has shown that they belong to the swarm, and what everybody knows of the members.

A node presents itself once to each peer before it asks anything else (`PRESENT`), and the answer presents the peer.
Until then a peer may do nothing. It shows its proof only if the other has not heard of it. Members compare rosters
(`ROSTER`), so that each learns of joins and removals: on meeting, every ten seconds with somebody, and at once when
something is new. Whoever was removed loses their streams.

A meeting point may know only the swarm's key. It belongs to nobody, so it cannot witness who joins: it passes their
applications on to a member who is online. In a public swarm that is one who may enrol newcomers, and other members pass
applications on as well. The first answer to a newcomer there is a challenge (`enrolling.py`), and the gate of the
newcomer does the work in a thread before it applies again.

After a start a node admits nobody before it has compared rosters with somebody who would know of a removal: an admin or
the founder, or anyone but the applicant. If nobody else can be asked for some seconds, it goes by what it knows.

The gate of an open swarm lets everybody in. Lives in one event loop; the caller sends the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

import msgpack
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.membership.enrolling import (
    EnrolmentDesk,
    place_of,
    read_challenge,
    set_challenge,
)
from potluck.membership.identity import Identity
from potluck.membership.membership import Membership, read_all
from potluck.membership.presentation import (
    MAX_PRESENTATION_BYTES,
    NOBODY_ONLINE,
    REMOVED,
    WORKING,
    Application,
    Presentation,
    RemovedError,
    decode_presentation,
    encode_presentation,
    judge,
    read_application,
    witness,
    write_pass,
)
from potluck.membership.roster import Person
from potluck.membership.statements import MAX_STATEMENT_BYTES, Statement
from potluck.membership.work import is_worked, work
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, RemoteError
from potluck.tasks import BackgroundTasks, cancel_and_wait

log = logging.getLogger(__name__)

PRESENT: Final = "PotluckMembers.rpc_present"  # unary; the only call for strangers
ROSTER: Final = "PotluckMembers.rpc_roster"  # unary; for members
_ALONE_S = 5.0  # how long a node that just started waits for somebody who may know of removals
_PATIENCE_S = 8.0  # for peers that wait so themselves
_RETRY_S = 0.5
_MEET_S = 5.0
_COMPARE_INTERVAL_S = 10.0
_FAN_OUT = 4
_MAX_NEWS = 2000  # statements of one message; the rest comes with the next one
_SHORT = 8  # bytes of a statement's digest, in comparisons
_MAX_OWNERS = 20_000
_MAX_PROOF_BYTES = MAX_PRESENTATION_BYTES - 1024  # a pass, an application and an answer to a challenge have less
_MAX_PLACE_CHARS = 64
_NUM_REPORTS = 10  # of the work's progress, on average
_DHT = "DHTProtocol."
_MAX_TOLD = 32  # removed nodes that one node tells so; others tell the rest
_MAX_ASKED = 3  # members about one application

Call = Callable[[PeerId, str, bytes], Awaitable[bytes]]
"""Sends a unary call to a peer within a time limit, without presenting first. Raises RemoteError."""


OnNews = Callable[[list[Statement]], None]
"""Called with the statements that a roster gained."""


async def unknown_origin(peer: PeerId) -> str:
    """Know no addresses."""
    return ""


def ignore_news(news: list[Statement]) -> None:
    """Drop what was learned: nothing on this computer keeps it."""


class Gate(Protocol):
    """Decides who may speak with a node."""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        """See `PersonOf`."""

    def payer_of(self, peer: PeerId, /) -> PersonId | None:
        """Return whose budget a peer's requests are paid from; None: the strangers'."""

    def may_call(self, peer: PeerId, protocol: str) -> bool:
        """Return whether a peer may make this call, or open this stream, to us."""

    def is_on_probation(self, peer: PeerId, /) -> bool:
        """Return whether a peer belongs to somebody who joined lately without anybody's invite."""

    def is_presented(self, peer: PeerId, protocol: str) -> bool:
        """Return whether this call to a peer needs no presentation first."""

    async def present(self, peer: PeerId) -> None:
        """Present this node to a peer. Raises RemoteError: NOT_A_MEMBER, or UNREACHABLE."""

    def forget(self, peer: PeerId) -> None:
        """Present anew before the next call: the peer does not know us any more."""


class OpenGate:
    """The gate of an open swarm: each peer is a person of its own."""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        return PersonId(peer)

    def payer_of(self, peer: PeerId, /) -> PersonId | None:
        return PersonId(peer)

    def may_call(self, peer: PeerId, protocol: str) -> bool:
        return True

    def is_on_probation(self, peer: PeerId, /) -> bool:
        return False

    def is_presented(self, peer: PeerId, protocol: str) -> bool:
        return True

    async def present(self, peer: PeerId) -> None:
        """Send nothing, because no peer asks for it."""

    def forget(self, peer: PeerId) -> None:
        """Do nothing, because every peer accepts this node."""


class MembersGate:
    """The gate of a swarm with members.

    Args:
        membership: what this node knows and shows; its roster grows here.
        call: sends without presenting.
        outsiders: bootstrap nodes that this node was told of; they are no members, and may call the DHT, bring rosters
            and applications, and make `calls_of_outsiders`.
        on_news: told the statements that the roster gained, to be kept.
        on_admitted: told each peer that is let in.
        on_removed: told the peers whose member was removed.
        on_working: told how the work goes that joining a public swarm costs, and an empty text at its end.
        origin_of: returns the address from which a peer comes.
    """

    def __init__(
        self,
        membership: Membership,
        identity: Identity,
        call: Call,
        *,
        outsiders: Collection[PeerId] = (),
        calls_of_outsiders: Collection[str] = (),
        on_news: OnNews = ignore_news,
        on_admitted: Callable[[PeerId], None] = lambda peer: None,
        on_removed: Callable[[list[PeerId]], None] = lambda peers: None,
        on_working: Callable[[str], None] = lambda text: None,
        origin_of: Callable[[PeerId], Awaitable[str]] = unknown_origin,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.roster = membership.roster(clock())
        self._membership = membership
        self._identity = identity
        self._call = call
        self._outsiders = frozenset(outsiders)
        self._calls_of_outsiders = frozenset((ROSTER, *calls_of_outsiders))
        self._plain: set[PeerId] = set()  # outsiders that are nobody's node
        self._on_news = on_news
        self._on_admitted = on_admitted
        self._on_removed = on_removed
        self._on_working = on_working
        self._origin_of = origin_of
        self._clock = clock
        self._desk = EnrolmentDesk()
        self._working = asyncio.Lock()
        self._admitted: set[PeerId] = set()
        self._owners: dict[PeerId, bytes] = {}  # people behind nodes whose key is made for one run
        self._presented: set[PeerId] = set()
        self._shown_to: set[PeerId] = set()  # they may bring the removal for which they refuse this node
        self._presenting: dict[PeerId, asyncio.Task[None]] = {}
        self._application = membership.application
        self._is_removed = False
        self._proof: tuple[bytes, tuple[bytes, ...]] = (b"", ())  # of this node, with the digest it was made for
        self._started_s = 0.0
        self._informants: set[bytes] = set()  # people whose roster was compared with ours since the start
        self._tasks = BackgroundTasks()
        self.ticket = self._write_ticket()

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """Return the key by which others know who speaks: of this computer, or of its person."""
        return self._membership.signing_key or self._identity.private_key

    def start(self) -> None:
        """Begin to compare rosters; call it in the event loop."""
        self._started_s = asyncio.get_running_loop().time()
        self._tasks.start(self._keep_comparing())

    async def stop(self) -> None:
        await self._tasks.cancel()
        await cancel_and_wait(*self._presenting.values())

    # -- who may speak -------------------------------------------------------------------------------------------------

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        person = self.member(peer)
        if person is None and ticket and not self.roster.is_removed_peer(peer):
            with contextlib.suppress(RemoteError):
                person, _ = judge(self.roster, peer, Presentation(ticket=ticket), self._clock())
                self._note_owner(peer, person)
        return None if person is None else person.id

    def member(self, peer: PeerId) -> Person | None:
        """Return the member behind a peer, or None."""
        key = self._owners.get(peer)
        return self.roster.owner(peer) if key is None else self.roster.person(key)

    def payer_of(self, peer: PeerId, /) -> PersonId | None:
        return PersonId(f"meeting point {peer}") if peer in self._plain else self.person_of(peer)

    def is_on_probation(self, peer: PeerId, /) -> bool:
        person = self.member(peer)
        return person is not None and person.is_on_probation(self._clock())

    def computers(self) -> list[PeerId]:
        """Return the peers that were let in and keep their identity, as members' computers do and clients don't."""
        return [peer for peer in self._admitted if self.roster.owner(peer) is not None]

    def may_call(self, peer: PeerId, protocol: str) -> bool:
        is_for_plain = protocol in self._calls_of_outsiders or protocol.startswith(_DHT)
        is_for_shown = protocol == ROSTER and peer in self._shown_to
        return protocol == PRESENT or peer in self._admitted or (is_for_plain and peer in self._plain) or is_for_shown

    def knows(self, peer: PeerId) -> bool:
        """Return whether a peer may stay connected: a member's node, a bootstrap node, or one that we talk to now."""
        met = (self._outsiders, self._presenting, self._admitted)
        return any(peer in peers for peers in met) or self.roster.owner(peer) is not None

    def is_presented(self, peer: PeerId, protocol: str) -> bool:
        return protocol == PRESENT or peer in self._presented

    def forget(self, peer: PeerId) -> None:
        self._presented.discard(peer)

    # -- presenting ----------------------------------------------------------------------------------------------------

    async def present(self, peer: PeerId) -> None:
        """Present this node to a peer, once for all who ask for it at a time."""
        task = self._presenting.get(peer)
        if task is None:
            task = self._presenting[peer] = asyncio.ensure_future(self._present(peer))
            task.add_done_callback(lambda ended: self._end_presenting(peer, ended))
        await asyncio.shield(task)

    def _end_presenting(self, peer: PeerId, task: asyncio.Task[None]) -> None:
        del self._presenting[peer]
        if not task.cancelled():
            task.exception()  # whoever waited for it may be gone

    async def meet(self, peers: Iterable[PeerId]) -> bool:
        """Present this node to peers that may be members; return whether it knows more of them now."""
        before, known = self.roster.digest, len(self._owners)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_MEET_S):
                await asyncio.gather(*map(self.present, peers), return_exceptions=True)
        return (self.roster.digest, len(self._owners)) != (before, known)

    async def _present(self, peer: PeerId) -> None:
        if self._is_removed or self.roster.is_removed(self._person()):
            raise RemoteError(Code.NOT_A_MEMBER, REMOVED)
        try:
            answer = await self._show(peer)
        except RemoteError as error:
            if error.code is not Code.NOT_SERVED or peer not in self._outsiders:
                raise
            answer = Presentation(digest=self.roster.digest)  # a bootstrap node that knows no swarm
        if answer.challenge:
            answer = await self._pay(peer)
        if answer.witnessed:
            self._learn(
                read_all(self.roster.swarm_key, (*answer.proof, answer.witnessed, *self._membership.statements))
            )
        self._admit(peer, answer)
        self._presented.add(peer)
        if answer.digest != self.roster.digest:
            await self.compare(peer)
        else:
            self._note_informant(peer)

    async def _show(self, peer: PeerId) -> Presentation:
        """Show what is needed: hardly anything to a peer that has heard of this node."""
        self._shown_to.add(peer)
        shown = self._shown()
        if not shown.application and shown.proof:
            try:
                return await self._call_patiently(peer, replace(shown, proof=()))
            except RemoteError as error:
                if error.code is not Code.NOT_A_MEMBER:
                    raise
        return await self._call_patiently(peer, shown)

    async def _pay(self, peer: PeerId) -> Presentation:
        """Do the work that joining costs, for one peer at a time, and return the answer to it."""
        async with self._working:
            answer = await self._show(peer)
            if not answer.challenge:  # another peer was paid meanwhile
                return answer
            door = self.roster.door
            bits = read_challenge(self.roster.swarm_key, answer.challenge).bits
            if door is None or bits > door.work_bits:
                raise RemoteError(Code.BAD_REQUEST, "the peer asks for more work than joining costs")
            nonce = await self._work(answer.challenge, bits)
            return await self._call_patiently(peer, replace(self._shown(), challenge=answer.challenge, nonce=nonce))

    async def _work(self, challenge: bytes, bits: int) -> bytes:
        loop, is_over = asyncio.get_running_loop(), threading.Event()
        average = 1 << bits

        def note(tries: int) -> None:
            if tries % max(average // _NUM_REPORTS, 1) == 0 and not is_over.is_set():
                loop.call_soon_threadsafe(self._on_working, f"{WORKING}: {tries} of about {average} tries")

        try:
            nonce = await asyncio.to_thread(work, challenge, bits, is_cancelled=is_over.is_set, on_try=note)
        finally:
            is_over.set()
            self._on_working("")
        assert nonce is not None
        return nonce

    async def _call_patiently(self, peer: PeerId, shown: Presentation) -> Presentation:
        """Wait for a node that has just started itself."""
        deadline_s = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            try:
                body = encode_presentation(replace(shown, proof=_fitting(shown.proof)))
                return decode_presentation(await self._call(peer, PRESENT, body), is_answer=True)
            except RemoteError as error:
                if error.code is not Code.BUSY or asyncio.get_running_loop().time() > deadline_s:
                    raise
                await asyncio.sleep(min(error.retry_after_s or _RETRY_S, _RETRY_S))

    async def answer_present(self, body: bytes, peer: PeerId) -> bytes:
        """Answer a peer that presents itself. Raises RemoteError: NOT_A_MEMBER, BAD_REQUEST or BUSY."""
        shown = decode_presentation(body)
        witnessed = b""
        if shown.application:
            enrolled = await self._witness(shown, place_of(await self._origin_of(peer)))
            if enrolled.challenge:
                return encode_presentation(enrolled)
            witnessed = enrolled.witnessed
        try:
            person, news = judge(self.roster, peer, shown, self._clock())
        except RemovedError as error:
            proof = [statement.data for statement in self.roster.proof_of_removal(error.key)]
            self._tasks.start(self._tell_removed([peer], proof))
            raise
        self._wait_for_removals(person)
        self._learn(news)
        self._remember(peer, person)
        self._presented.add(peer)  # by the answer
        answer = self._shown()
        return encode_presentation(replace(answer, application=b"", witnessed=witnessed))

    async def _witness(self, shown: Presentation, place: str) -> Presentation:
        """Countersign an application or set a challenge, or have a member do it.

        Args:
            place: where the newcomer comes from.

        Raises:
            RemoteError: NOT_A_MEMBER or BUSY.
        """
        if self._is_member():
            application = read_application(self.roster, shown, self._clock())
            if self._may_witness(application):
                return await self._enrol(application, shown, place)
        refusal = _nobody_to_witness()
        owners = {peer: owner for peer in self._presented if (owner := self.member(peer)) is not None}
        members = sorted(owners, key=lambda peer: (not self.roster.may_enrol(owners[peer].key), random.random()))
        for peer in members[:_MAX_ASKED]:
            try:
                request: dict[str, object] = {"application": encode_presentation(shown), "place": place}
                message = _read_message(await self._ask(peer, request))
            except RemoteError as error:
                if error.code is Code.NOT_A_MEMBER:
                    refusal = error
            else:
                self._learn(read_all(self.roster.swarm_key, message.news))
                return Presentation(witnessed=message.application, challenge=message.challenge)
        raise refusal

    def _may_witness(self, application: Application) -> bool:
        return not application.bits or self.roster.may_enrol(self._person())

    async def _enrol(self, application: Application, shown: Presentation, place: str) -> Presentation:
        """Countersign an application, or set a challenge if the price has not been paid. Raises RemoteError."""
        key, swarm_key = self.signing_key, self.roster.swarm_key
        person, bits, now_s = application.enrolment.person, application.bits, self._clock()
        if bits and not shown.nonce:
            self._desk.require_room(place, now_s)
            return Presentation(challenge=set_challenge(swarm_key, person, place, bits, now_s, key))
        if bits:
            challenge = read_challenge(swarm_key, shown.challenge)
            may_set = self.roster.may_enrol
            self._desk.take(challenge, shown.nonce, person=person, place=place, bits=bits, now_s=now_s, may_set=may_set)
            if not await asyncio.to_thread(is_worked, shown.challenge, shown.nonce, challenge.bits):
                raise RemoteError(Code.NOT_A_MEMBER, "the price of joining has not been paid")
        statement = witness(self.roster, application, key, now_s)
        self._learn([*application.known, statement])
        return Presentation(witnessed=statement.data)

    def _shown(self) -> Presentation:
        digest = self.roster.digest
        if self._application:
            return Presentation(self._membership.statements, self.ticket, self._application, digest)
        if self._proof[0] != digest:
            proof = self.roster.proof_of(self._person() if self.ticket else self._identity.public_key)
            self._proof = digest, tuple(item.data for item in proof)
        return Presentation(self._proof[1], self.ticket, b"", digest)

    def _person(self) -> bytes:
        """Return the key that this node's pass was signed with, or its own."""
        signer = self._membership.signing_key
        return self._identity.public_key if signer is None else signer.public_key().public_bytes_raw()

    def _is_member(self) -> bool:
        return self.roster.member_of_key(self._person()) is not None

    def _write_ticket(self) -> bytes:
        """Return a pass, unless this node is one of the roster's computers or cannot write one."""
        signer = self._membership.signing_key
        if signer is None or self.roster.owner_of_key(self._identity.public_key) is not None:
            return b""
        return write_pass(self._identity.public_key, signer, self._clock())

    def _admit(self, peer: PeerId, shown: Presentation) -> None:
        if peer in self._outsiders and not shown.proof and not shown.ticket and not self.roster.is_removed_peer(peer):
            self._plain.add(peer)
            return
        person, news = judge(self.roster, peer, shown, self._clock())
        self._learn(news)
        self._remember(peer, person)

    def _remember(self, peer: PeerId, person: Person) -> None:
        self._note_owner(peer, person)
        self._admitted.add(peer)
        self._on_admitted(peer)

    def _note_owner(self, peer: PeerId, person: Person) -> None:
        if self.roster.owner(peer) is None:
            self._owners[peer] = person.key
            if len(self._owners) > _MAX_OWNERS:
                oldest = next(iter(self._owners))
                del self._owners[oldest]
                self._admitted.discard(oldest)

    def _wait_for_removals(self, asking: Person) -> None:
        """Raises RemoteError BUSY while this node may not know yet that somebody has been removed."""
        is_leader = self._leads(asking.key) or self._leads(self._person())
        waited_s = asyncio.get_running_loop().time() - self._started_s
        if not is_leader and not self._informants - {asking.key} and waited_s < _ALONE_S:
            raise RemoteError(Code.BUSY, "this node has just started", retry_after_s=_ALONE_S - waited_s)

    def _leads(self, key: bytes) -> bool:
        person = self.roster.member_of_key(key)
        return person is not None and (self.roster.may_lead(person.key) or person.invite == self.roster.swarm_key)

    # -- comparing rosters ---------------------------------------------------------------------------------------------

    def publish(self, statements: Iterable[Statement]) -> None:
        """Merge statements that were made on this computer, and tell others."""
        self._learn(statements)

    async def compare(self, peer: PeerId) -> None:
        """Give a member what it lacks and take what we lack. Raises RemoteError."""
        have = b"".join(sorted(item.digest[:_SHORT] for item in self.roster))
        answer = _read_message(await self._ask(peer, {"have": have}))
        self._learn(read_all(self.roster.swarm_key, answer.news))
        lacks = set(_split(answer.lacks))
        if lacks:
            missing = [item.data for item in self.roster if item.digest[:_SHORT] in lacks][:_MAX_NEWS]
            await self._ask(peer, {"news": missing})
        self._note_informant(peer)

    async def answer_roster(self, body: bytes, peer: PeerId) -> bytes:
        """Answer a peer that compares rosters, or brings news or an application.

        Raises:
            RemoteError: BAD_REQUEST, NOT_A_MEMBER.
        """
        message = _read_message(body)
        self._learn(read_all(self.roster.swarm_key, message.news))
        if peer not in self._admitted and peer not in self._plain:
            return bytes(msgpack.packb({}))
        if message.application:
            shown = decode_presentation(message.application)
            application = read_application(self.roster, shown, self._clock())
            if not self._may_witness(application):
                raise _nobody_to_witness()
            enrolled = await self._enrol(application, shown, self._told_place(peer, message.place))
            proof = [item.data for item in self.roster.proof_of(application.enrolment.person)]
            return bytes(
                msgpack.packb({"news": proof, "application": enrolled.witnessed, "challenge": enrolled.challenge})
            )
        if message.have is None:
            return bytes(msgpack.packb({}))
        theirs = set(_split(message.have))
        ours = {item.digest[:_SHORT]: item.data for item in self.roster}
        news = [data for digest, data in ours.items() if digest not in theirs][:_MAX_NEWS]
        return bytes(msgpack.packb({"news": news, "lacks": b"".join(theirs - set(ours))}))

    def _told_place(self, peer: PeerId, place: str) -> str:
        """Return where a newcomer comes from whom `peer` brings: meeting points are believed, members are not.

        Those whom one member brings share a place.
        """
        person = self.member(peer)
        return place if person is None else f"through {person.id}"

    def _note_informant(self, peer: PeerId) -> None:
        person = self.member(peer)
        if person is not None:
            self._informants.add(person.key)

    async def _keep_comparing(self) -> None:
        while True:
            await asyncio.sleep(_COMPARE_INTERVAL_S * random.uniform(0.8, 1.2))
            for peer in self._some(1):
                with contextlib.suppress(RemoteError):
                    await self.compare(peer)

    async def _spread(self, news: list[bytes]) -> None:
        for peer in self._some(_FAN_OUT):
            with contextlib.suppress(RemoteError):
                await self._ask(peer, {"news": news[:_MAX_NEWS]})

    async def _tell_removed(self, peers: list[PeerId], news: list[bytes]) -> None:
        """Let removed members know it from the signed removal, so that their computers stop and say why."""
        for peer in random.sample(peers, min(len(peers), _MAX_TOLD)):
            with contextlib.suppress(RemoteError):
                await self._ask(peer, {"news": news[:_MAX_NEWS]})

    def _some(self, count: int) -> list[PeerId]:
        """Return some peers that know this node."""
        known = list(self._presented)
        return random.sample(known, min(count, len(known)))

    async def _ask(self, peer: PeerId, message: dict[str, object]) -> bytes:
        return await self._call(peer, ROSTER, msgpack.packb(message))

    def _learn(self, statements: Iterable[Statement]) -> None:
        """Merge statements, pass on those that are new, and end what removed members had here."""
        was_member = self._is_member()
        news = self.roster.merge(statements, now_s=self._clock())
        if not news:
            return
        self._is_removed |= was_member and not self._is_member()
        self._on_news(news)
        if self._application and self._is_member():
            self._application = b""  # somebody witnessed it
        gone = [peer for peer in self._admitted if self.member(peer) is None]
        for peer in gone:
            self._admitted.discard(peer)
            self._owners.pop(peer, None)
            self._presented.discard(peer)
        if gone:
            log.info("%d nodes of removed members lose access", len(gone))
            self._on_removed(gone)
            self._tasks.start(self._tell_removed(gone, [statement.data for statement in news]))
        self._tasks.start(self._spread([statement.data for statement in news]))


@dataclass(frozen=True, slots=True)
class _Message:
    news: list[bytes]
    have: bytes | None
    lacks: bytes
    application: bytes  # a presentation to witness; in answers, the witnessed statement
    challenge: bytes  # in answers
    place: str  # with an application, where the newcomer comes from


def _read_message(body: bytes) -> _Message:
    try:
        fields = msgpack.unpackb(body)
        news, have, lacks = fields.get("news", []), fields.get("have"), fields.get("lacks", b"")
        application, challenge = fields.get("application", b""), fields.get("challenge", b"")
        place = fields.get("place", "")
        if (
            not isinstance(news, list)
            or len(news) > _MAX_NEWS
            or not isinstance(lacks + application + challenge, bytes)
        ):
            raise ValueError("a field")
        if not isinstance(place, str) or len(place) > _MAX_PLACE_CHARS:
            raise ValueError("a field")
        if not all(isinstance(item, bytes) and len(item) <= MAX_STATEMENT_BYTES for item in news):
            raise ValueError("a statement")
        if have is not None and not isinstance(have, bytes):
            raise ValueError("a field")
    except (ValueError, TypeError, AttributeError, msgpack.UnpackException) as error:
        raise RemoteError(Code.BAD_REQUEST, "not a comparison of rosters") from error
    return _Message(news, have, lacks, application, challenge, place)


def _nobody_to_witness() -> RemoteError:
    return RemoteError(Code.BUSY, NOBODY_ONLINE, retry_after_s=_RETRY_S)


def _fitting(proof: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the nearest statements of a proof, as many as a presentation may hold."""
    sizes = itertools.accumulate(map(len, proof))
    return tuple(item for item, size in zip(proof, sizes, strict=True) if size <= _MAX_PROOF_BYTES)


def _split(digests: bytes) -> list[bytes]:
    return [digests[start : start + _SHORT] for start in range(0, len(digests), _SHORT)]
