"""The gate of a node: who has shown that they belong to the swarm, and what everybody knows of the members.

A node presents itself once to each peer before it asks anything else (`PRESENT`), and the answer presents the peer.
Until then a peer may do nothing. Nodes compare what they know of the members (`ROSTER`, see `roster_exchange`) on
meeting and every ten seconds with somebody who is connected. Members who were removed lose their streams.

Somebody with an application for a free seat is let in as a guest. The application travels on, so that it comes to a
computer of a leader, whose daemon confirms it. A guest's node lets in only whom it heard of from members. In a public
swarm only an enroller's node lets guests in; others, meeting points above all, carry an application to one.

After a start a node admits nobody before it has compared with somebody who would know of a removal: the founder, or two
people besides the applicant. If nobody else can be asked for some seconds, it goes by what it knows. Nobody who is not
admitted hears of members; somebody who was removed hears of that, and of nothing later.

The gate of an open swarm lets everybody in. Lives in one event loop; the caller sends the bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Final, NoReturn

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from potluck.errors import PotluckError
from potluck.membership.budgets import Newcomers, place_of
from potluck.membership.identity import Identity, public_key_of
from potluck.membership.members import Person
from potluck.membership.membership import Membership
from potluck.membership.presentation import (
    MAX_NEWS,
    MAX_PRESENTATION_BYTES,
    Exchange,
    Heads,
    Presentation,
    RemovedError,
    decode,
    encode,
    signer_of,
    stranger,
    write_pass,
)
from potluck.membership.records import (
    Application,
    Entry,
    Machines,
    Record,
    RecordError,
    Request,
    WrongResults,
    is_signed,
    read_all,
    read_record,
    write_report,
)
from potluck.membership.roster_exchange import RosterExchange, in_messages
from potluck.protocol.blocks import PeerId, PersonId
from potluck.protocol.codes import Code, Denial, RemoteError
from potluck.tasks import BackgroundTasks, cancel_and_wait, keep_running, within

log = logging.getLogger(__name__)

PRESENT: Final = "PotluckMembers.rpc_present"  # unary; the only call for strangers
ROSTER: Final = "PotluckMembers.rpc_roster"  # unary; for members
_ALONE_S = 5.0  # how long a node that just started waits for somebody who may know of removals
_PATIENCE_S = 8.0  # patience with peers that have just started themselves
_RETRY_S = 0.5
_MEET_S = 5.0
_COMPARE_INTERVAL_S = 10.0
_MAX_TRIES = 8  # presentations to one peer, each with more of the entries that it lacks
_MAX_OWNERS = 20_000
_DHT = "DHTProtocol."
_MAX_SHOWN_HEADS = 64
_ALL_S = 600.0  # interval at which all known records are handed to the keeper again
_MAX_INFORMED = 32  # removed nodes that one node informs; others inform the rest
_MAX_ASKED = 3  # enrollers about one newcomer

Call = Callable[[PeerId, str, bytes], Awaitable[bytes]]
"""Sends a unary call to a peer within a time limit, without presenting first. Raises RemoteError."""


OnNews = Callable[[list[bytes]], None]
"""Called with the records that are new to a node."""


async def unknown_origin(peer: PeerId) -> str:
    """Know no addresses."""
    return ""


class OpenGate:
    """The gate of an open swarm: each peer is a person of its own."""

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        """Return each peer as a person of its own, see `PersonOf`."""
        return PersonId(peer)

    def payer_of(self, peer: PeerId, /) -> PersonId | None:
        """Return whose budget a peer's requests are paid from; None: the strangers'."""
        return PersonId(peer)

    def may_call(self, peer: PeerId, protocol: str) -> bool:
        """Return whether a peer may make this call, or open this stream, to us."""
        return True

    def is_on_probation(self, peer: PeerId, /) -> bool:
        """Return whether a peer belongs to a guest, or to somebody who joined a public swarm lately."""
        return False

    def is_presented(self, peer: PeerId, protocol: str) -> bool:
        """Return whether this call to a peer needs no presentation first."""
        return True

    async def present(self, peer: PeerId) -> None:
        """Send nothing, because no peer asks for it."""

    def forget(self, peer: PeerId) -> None:
        """Do nothing, because every peer accepts this node."""


class MembersGate:
    """The gate of a swarm with members.

    Args:
        membership: what this node knows and shows; what it knows grows here.
        call: sends without presenting.
        outsiders: bootstrap nodes of the configuration; they are no members, and may call the DHT, bring news
            and newcomers, and make `calls_of_outsiders`.
        on_news: called with the records that are new, to be kept.
        on_leader: called when this node compared with one of a leader's.
        on_admitted: called with each peer that is admitted.
        on_removed: called with the peers whose member was removed.
        origin_of: returns the address from which a peer comes.
        connected: returns the peers that are connected now.
        charge: takes units from what a peer's person may spend; False: there are none left.
    """

    def __init__(
        self,
        membership: Membership,
        identity: Identity,
        call: Call,
        *,
        outsiders: Collection[PeerId] = (),
        calls_of_outsiders: Collection[str] = (),
        on_news: OnNews = lambda news: None,
        on_leader: Callable[[], None] = lambda: None,
        on_admitted: Callable[[PeerId], None] = lambda peer: None,
        on_removed: Callable[[list[PeerId]], None] = lambda peers: None,
        origin_of: Callable[[PeerId], Awaitable[str]] = unknown_origin,
        connected: Callable[[], Awaitable[Collection[PeerId]]] | None = None,
        charge: Callable[[PeerId, int], bool] = lambda peer, units: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.roster = membership.members()
        self._membership = membership
        self._identity = identity
        self._call = call
        self._outsiders = frozenset(outsiders)
        self._calls_of_outsiders = frozenset((ROSTER, *calls_of_outsiders))
        self._plain: set[PeerId] = set()  # outsiders that are nobody's node
        self._on_news = on_news
        self._on_leader = on_leader
        self._on_admitted = on_admitted
        self._on_removed = on_removed
        self._origin_of = origin_of
        self._list_connected = connected
        self._clock = clock
        self._newcomers = Newcomers()
        self._admitted: set[PeerId] = set()
        self._owners: dict[PeerId, bytes] = {}  # who signed the passes of nodes whose key is made for one run
        self._presented: set[PeerId] = set()
        self._shown_to: set[PeerId] = set()  # they may bring the removal for which they refuse this node
        self._presenting: dict[PeerId, asyncio.Task[None]] = {}
        self._informed: set[bytes] = set()  # people and computers that know from this node of their removal
        self._started_s = 0.0
        self._informants: set[bytes] = set()  # people with whom this node compared since the start
        self._tasks = BackgroundTasks()
        self._exchange = RosterExchange(
            self.roster,
            self._send,
            peers=lambda: self._presented,
            may_bring=self._may_bring,
            on_new=self._end_removed,
            on_compared=self._count_informant,
            charge=charge,
            clock=clock,
        )
        self._pass: tuple[bytes, float] = (b"", 0.0)

    @property
    def signing_key(self) -> Ed25519PrivateKey:
        """Return the key by which others know who speaks: of this computer, or of its person."""
        return self._membership.signing_key or self._identity.private_key

    @property
    def ticket(self) -> bytes:
        """Return a pass, unless this node is one of its person's computers or cannot write one."""
        signer, now_s = self._membership.signing_key, self._clock()
        if self.roster.owner_of_key(self._identity.public_key) is not None:
            return b""
        if signer is None:
            return self._membership.ticket
        written, at_s = self._pass
        if not written or not 0 <= now_s - at_s < 3600:
            written = write_pass(self.roster.swarm_key, self._identity.public_key, signer, now_s)
            self._pass = written, now_s
        return written

    def start(self) -> None:
        """Begin to compare with others; call it in the event loop."""
        self._started_s = asyncio.get_running_loop().time()
        self._tasks.start(keep_running("comparing lists of members", self._keep_comparing))

    async def stop(self) -> None:
        await asyncio.gather(self._tasks.cancel(), self._exchange.stop())  # each starts work of the other
        await cancel_and_wait(*self._presenting.values())

    # -- who may speak -------------------------------------------------------------------------------------------------

    def person_of(self, peer: PeerId, ticket: bytes = b"", /) -> PersonId | None:
        person = self.member(peer)
        if person is None and ticket and not self._is_removed_peer(peer):
            with contextlib.suppress(RemoteError):
                signer = self._signer_of(peer, ticket)
                person = self.roster.known(signer)
                if person is not None:
                    self._remember_owner(peer, signer)
        return None if person is None else person.id

    def member(self, peer: PeerId) -> Person | None:
        """Return the member or guest behind a peer, or None."""
        signer = self._owners.get(peer)
        return self.roster.owner(peer) if signer is None else self.roster.known(signer)

    @property
    def is_leaders(self) -> bool:
        """Return whether this node is the founder's or an admin's."""
        own = self._own()
        return own is not None and own.may_lead

    def payer_of(self, peer: PeerId, /) -> PersonId | None:
        return PersonId(f"meeting point {peer}") if peer in self._plain else self.person_of(peer)

    def is_on_probation(self, peer: PeerId, /) -> bool:
        person = self.member(peer)
        return person is not None and self.roster.is_on_probation(person, self._clock())

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
        """Present anew before the next call: the peer does not know us any more."""
        self._presented.discard(peer)

    # -- presenting ----------------------------------------------------------------------------------------------------

    async def present(self, peer: PeerId) -> None:
        """Present this node to a peer, once for all who ask for it at a time.

        Raises:
            RemoteError: NOT_A_MEMBER, or UNREACHABLE.
        """
        task = self._presenting.get(peer)
        if task is None:
            task = self._presenting[peer] = asyncio.ensure_future(self._present(peer))
            task.add_done_callback(lambda ended: self._end_presenting(peer, ended))
        await asyncio.shield(task)

    def _end_presenting(self, peer: PeerId, task: asyncio.Task[None]) -> None:
        del self._presenting[peer]
        if not task.cancelled():
            task.exception()  # marks it as retrieved: its waiters may be gone

    async def meet(self, peers: Iterable[PeerId]) -> bool:
        """Present this node to peers that may be members; return whether it knows more of them now."""
        before, known = self.roster.digest, len(self._owners)
        await within(_MEET_S, asyncio.gather(*map(self.present, peers), return_exceptions=True))
        return (self.roster.digest, len(self._owners)) != (before, known)

    async def _present(self, peer: PeerId) -> None:
        try:
            answer = await self._show(peer)
        except RemoteError as error:
            if error.code is not Code.NOT_SERVED or peer not in self._outsiders:
                raise
            answer = Presentation(digest=self.roster.digest)  # a bootstrap node that knows no swarm
        if answer.digest != self.roster.digest:
            await self._exchange.compare(peer, gives=False)
        self._admit(peer, answer)
        self._presented.add(peer)
        if answer.digest != self.roster.digest:
            await self.compare(peer)

    async def _show(self, peer: PeerId) -> Presentation:
        """Show what is needed: hardly anything to a peer that has heard of this node."""
        self._shown_to.add(peer)
        answer = await self._call_patiently(peer, self._shown(is_known=self._is_member()))
        for _ in range(_MAX_TRIES):
            if not answer.is_unknown:
                return answer
            if self.member(peer) is None and (peer not in self._outsiders or self._is_removed_peer(peer)):
                raise stranger("neither this node nor the peer knows the other; try again when both have met others")
            lacking = [record.data for record in self.roster.chains.lacking(answer.heads, only_live=True)]
            answer = await self._call_patiently(peer, self._shown(is_known=False, entries=lacking))
        raise stranger(Denial.NOT_KNOWN)

    async def _call_patiently(self, peer: PeerId, shown: Presentation) -> Presentation:
        """Wait for a node that has just started itself."""
        deadline_s = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            try:
                return decode(await self._call(peer, PRESENT, encode(shown)), Presentation)
            except RemoteError as error:
                if error.code is not Code.BUSY or asyncio.get_running_loop().time() > deadline_s:
                    raise
                await asyncio.sleep(min(error.retry_after_s or _RETRY_S, _RETRY_S))

    def _shown(self, *, is_known: bool, entries: Sequence[bytes] = ()) -> Presentation:
        """Return what this node shows, with as many entries as it may."""
        shown = Presentation(self.roster.digest, self._heads(), self.ticket)
        if is_known:
            return shown
        own = self._membership
        person = self._own()
        machines = own.machines if person is None else self.roster.list_of(person.key) or own.machines
        shown = msgspec.structs.replace(shown, machines=machines, application=own.application, invite=own.invite)
        left = MAX_PRESENTATION_BYTES - len(encode(shown)) - 16
        fitting: list[bytes] = []
        for entry in entries[:MAX_NEWS]:
            left -= len(entry) + 5
            if left < 0 or len(fitting) == 64:
                break
            fitting.append(entry)
        return msgspec.structs.replace(shown, entries=tuple(fitting))

    async def answer_present(self, body: bytes, peer: PeerId) -> bytes:
        """Answer a peer that presents itself. Raises RemoteError: NOT_A_MEMBER, BAD_REQUEST or BUSY."""
        shown = decode(body, Presentation)
        signer = self._signer_of(peer, shown.ticket)
        person, is_new = self.roster.known(signer), self._is_new(shown)
        if person is None or is_new:
            if not is_new:
                self._refuse_removed(peer, signer, shown)
            await self._examine_stranger(peer, shown, place_of(await self._origin_of(peer)))
            person = self.roster.known(signer)
        if person is None:
            if shown.machines and not shown.entries:
                raise stranger("this node knows nobody with this key")
            return encode(Presentation(heads=self._heads(), is_unknown=True))
        self._wait_for_removals(person)
        self._admit_known(peer, signer)
        self._presented.add(peer)  # the answer presents this node
        return encode(self._shown(is_known=self._is_member()))

    def _heads(self) -> Heads:
        """Return the heads that a presentation has room for."""
        return dict(itertools.islice(self.roster.chains.live_heads.items(), _MAX_SHOWN_HEADS))

    def _is_new(self, shown: Presentation) -> bool:
        """Return whether somebody unknown applies, whose computer may have been another person's before."""
        people = [item.body.person for item in read_all([shown.application]) if isinstance(item.body, Application)]
        return any(self.roster.person(key) is None and self.roster.remover(key) is None for key in people)

    async def _examine_stranger(self, peer: PeerId, shown: Presentation, place: str) -> None:
        """Learn from somebody unknown who they are, or take their application. Raises RemoteError."""
        parts = ((shown.entries, Entry), ((shown.application,), Application | Request), ((shown.machines,), Machines))
        known = [item for data, kind in parts for item in read_all(data) if isinstance(item.body, kind)]
        people = [item.body.person for item in known if isinstance(item.body, Application | Machines)]
        if any(self.roster.remover(person) is not None for person in people):
            raise RemovedError
        asks = next((item for item in known if isinstance(item.body, Application | Request)), None)
        others = [item for item in known if item is not asks]
        await self._exchange.learn([item for item in others if item.data != shown.machines], peer)
        if asks is not None and isinstance(asks.body, Application):
            await self._admit_newcomer(asks, asks.body, shown, place)
        elif asks is not None:
            await self._exchange.learn([asks], peer)
            raise RemoteError(Code.BUSY, Denial.UNCONFIRMED, retry_after_s=_RETRY_S)
        await self._exchange.learn([item for item in others if item.data == shown.machines], peer)

    def _refuse_removed(self, peer: PeerId, signer: bytes, shown: Presentation) -> None:
        """Raise RemovedError for somebody who was removed, and tell them of the removal once."""
        if self.roster.remover(signer) is None:
            return
        if signer not in self._informed:
            if len(self._informed) >= _MAX_OWNERS:
                self._informed.clear()
            self._informed.add(signer)
            proof = self.roster.proof_of_removal(signer, shown.heads)
            self._tasks.start(self._inform_removed([peer], proof, signer))
        raise RemovedError

    async def _admit_newcomer(self, record: Record, application: Application, shown: Presentation, place: str) -> None:
        """Accept an application, or carry it to an enroller. Raises RemoteError if nobody accepts it."""
        roster, invite, now_s = self.roster, application.invite, self._clock()
        if roster.person(application.person) is not None:
            return
        if invite not in roster.invites and shown.invite:
            with contextlib.suppress(RecordError):
                offer = read_record(shown.invite)
                if is_signed(roster.swarm_key, offer):
                    roster.add_shown_invite(offer)
        if not roster.expires_s(invite):
            raise stranger(Denial.INVITE_ENDED)
        if roster.expires_s(invite) < min(now_s, roster.heard.get(application.person, now_s)):
            raise stranger(Denial.INVITE_EXPIRED)
        if roster.free_seats(invite) <= 0:
            raise stranger(Denial.INVITE_USED_UP)
        if not is_signed(roster.swarm_key, record):
            raise stranger("the application is not in order")
        own = self._own()
        if roster.is_public(invite):
            if own is None or not own.may_enrol:
                await self._carry(shown, place)
            if not self._newcomers.admit(place, now_s):
                raise stranger(Denial.CROWDED)
        elif self._membership.application and (own is None or own.is_guest):
            raise _nobody_online()
        roster.renew_guest(application.person, now_s)
        self._exchange.add(record)

    async def _carry(self, shown: Presentation, place: str) -> NoReturn:
        """Ask enrollers to let somebody in. Raises RemoteError: their refusal, or that it takes a moment."""
        refusal = _nobody_online()
        owners = {peer: owner for peer in self._presented if (owner := self.member(peer)) is not None}
        enrollers = [peer for peer, owner in owners.items() if owner.may_enrol]
        for peer in random.sample(enrollers, min(len(enrollers), _MAX_ASKED)):
            try:
                await self._send(peer, Exchange(newcomer=encode(shown), place=place))
            except RemoteError as error:
                refusal = error if error.code is Code.NOT_A_MEMBER else refusal
            else:
                raise RemoteError(Code.BUSY, "an enroller lets you in in a moment", retry_after_s=_RETRY_S)
        raise refusal

    def _own(self) -> Person | None:
        """Return the person whose node this is, as others know them."""
        return self._membership.person(self.roster, self._identity.public_key)

    def _is_member(self) -> bool:
        own = self._own()
        return own is not None and not own.is_guest

    def _signer_of(self, peer: PeerId, ticket: bytes) -> bytes:
        key = public_key_of(peer)
        if key is None:
            raise stranger("the node's key has the wrong kind")
        if ticket and self.roster.owner_of_key(key) is None and self.roster.remover(key) is None:
            return signer_of(self.roster.swarm_key, ticket, key, self._clock())
        return key

    def _is_somebodys(self, peer: PeerId) -> bool:
        """Return whether a peer is, or was, a computer of a person."""
        key = public_key_of(peer)
        return self.roster.owner(peer) is not None or (key is not None and self.roster.was_listed(key))

    def _is_removed_peer(self, peer: PeerId) -> bool:
        key = public_key_of(peer)
        return key is not None and self.roster.remover(key) is not None

    def _admit(self, peer: PeerId, shown: Presentation) -> None:
        signer = self._signer_of(peer, shown.ticket)
        self._refuse_removed(peer, signer, shown)
        if self.roster.known(signer) is not None:
            self._admit_known(peer, signer)
            self._count_informant(peer)
        elif peer in self._outsiders and not shown.ticket and not self.roster.was_listed(signer):
            self._plain.add(peer)
        else:
            raise stranger(Denial.NOT_SHOWN)

    def _admit_known(self, peer: PeerId, signer: bytes) -> None:
        self._remember_owner(peer, signer)
        self._admitted.add(peer)
        self._on_admitted(peer)

    def _remember_owner(self, peer: PeerId, signer: bytes) -> None:
        if self.roster.owner(peer) is None:
            self._owners[peer] = signer
            if len(self._owners) > _MAX_OWNERS:
                self._lose([next(iter(self._owners))])

    def _lose(self, peers: Iterable[PeerId]) -> None:
        for peer in peers:
            self._admitted.discard(peer)
            self._plain.discard(peer)
            self._owners.pop(peer, None)
            self._presented.discard(peer)

    def _wait_for_removals(self, asking: Person) -> None:
        """Raise RemoteError BUSY while this node may not know yet that somebody has been removed."""
        own, founder = self._own(), self.roster.founder
        told = self._informants - {asking.key}
        is_told = founder is not None and (founder in (own, asking) or founder.key in told)
        waited_s = asyncio.get_running_loop().time() - self._started_s
        if not is_told and len(told) < 2 and waited_s < _ALONE_S:
            raise RemoteError(Code.BUSY, Denial.JUST_STARTED, retry_after_s=_ALONE_S - waited_s)

    # -- comparing -----------------------------------------------------------------------------------------------------

    def publish(self, records: Iterable[bytes]) -> None:
        """Learn what was signed or kept on this computer, and send it to others."""
        self._exchange.publish(records)

    async def compare(self, peer: PeerId) -> None:
        """Compare with a member what both know. Raises RemoteError."""
        await self._exchange.compare(peer)

    async def answer_roster(self, body: bytes, peer: PeerId) -> bytes:
        """Answer a peer that compares, or brings news or a newcomer.

        Raises:
            RemoteError: BAD_REQUEST, NOT_A_MEMBER, BUSY.
        """
        message, person = decode(body, Exchange), self.member(peer)
        await self._exchange.receive(message, peer)
        if peer not in self._admitted and peer not in self._plain:
            return encode(Exchange())
        if message.newcomer:
            await self._examine_carried(message, peer, person)
        return encode(self._exchange.answer(message, peer))

    def report(self, found: WrongResults) -> bytes:
        """Report wrong results to the swarm in the name of this node's person. Return the record.

        It is empty where nobody would keep it: guests cannot report, nor people on probation, nor anybody a computer of
        their own.
        """
        own, machine = self._own(), public_key_of(found.peer_id)
        if own is None or machine is None or self.roster.is_on_probation(own, self._clock()):
            return b""
        record = write_report(self.roster.swarm_key, own.key, machine, found, self.signing_key, self._clock())
        return record.data if self._exchange.add(record) else b""

    def _may_bring(self, record: Record, peer: PeerId) -> bool:
        """Return whether a peer may bring this: guests bring nobody, and only enrollers those of a public swarm."""
        body, person = record.body, self.member(peer)
        if not isinstance(body, Application):
            return True
        if self.roster.is_public(body.invite):
            return person is not None and person.may_enrol
        return peer in self._plain or (person is not None and not person.is_guest)

    async def _examine_carried(self, message: Exchange, peer: PeerId, person: Person | None) -> None:
        """Examine a newcomer who came to another node, which says from which place.

        A meeting point is trusted with the place; newcomers who come through one member share a place.

        Raises:
            RemoteError: NOT_A_MEMBER.
        """
        if person is not None and self.roster.is_on_probation(person, self._clock()):
            raise stranger("somebody on probation brings nobody")
        own = self._own()
        if own is None or not own.may_enrol:
            raise stranger(Denial.NOT_HERE)
        place = message.place if person is None else f"through {person.id}"
        await self._examine_stranger(peer, decode(message.newcomer, Presentation), place)

    def _count_informant(self, peer: PeerId) -> None:
        person = self.member(peer)
        if person is not None and not person.is_guest:
            self._informants.add(person.key)
            if person.may_lead:
                self._on_leader()

    async def _keep_comparing(self) -> None:
        all_s = _ALL_S
        while True:
            await asyncio.sleep(_COMPARE_INTERVAL_S * random.uniform(0.8, 1.2))
            if self._list_connected is not None:
                with contextlib.suppress(PotluckError):
                    self._forget_disconnected(await self._list_connected())
            if asyncio.get_running_loop().time() > self._started_s + all_s:
                all_s += _ALL_S
                for piece in in_messages([*self.roster, *self.roster.reports]):
                    self._on_news([*piece])  # some may not have been kept
            await self._exchange.compare_with_somebody()

    def _forget_disconnected(self, connected: Collection[PeerId]) -> None:
        self._presented &= set(connected)
        self._shown_to &= set(connected) | self._presenting.keys()
        self._lose([peer for peer in self._owners if peer not in connected])

    def _end_removed(self, new: list[Record]) -> None:
        """Hand new records on to be kept, and end the access of removed members."""
        self._on_news([record.data for record in new])
        gone = [peer for peer in self._admitted if self.member(peer) is None]
        gone += [peer for peer in self._plain if self._is_somebodys(peer)]
        self._lose(gone)
        if gone:
            log.info("%d nodes of people who are no members any more lose access", len(gone))
            self._on_removed(gone)
            self._tasks.start(self._inform_removed(gone, new))

    async def _inform_removed(self, peers: list[PeerId], news: Sequence[Record], signer: bytes = b"") -> None:
        """Send removed members the signed removal, so that their computers stop and say why."""
        for peer in random.sample(peers, min(len(peers), _MAX_INFORMED)):
            try:
                await self._exchange.send(peer, news)
            except RemoteError:
                self._informed.discard(signer)

    async def _send(self, peer: PeerId, message: Exchange) -> bytes:
        return await self._call(peer, ROSTER, encode(message))


Gate = OpenGate | MembersGate
"""Decides who may speak with a node."""


def _nobody_online() -> RemoteError:
    return RemoteError(Code.BUSY, Denial.NOBODY_ONLINE, retry_after_s=_RETRY_S)
