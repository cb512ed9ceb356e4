"""Mutated, replayed, forged and foreign receipts against the ledger and an engine's tabs: `receipt_fuzz`.

Genuine receipts are mixed in and must be booked, so refusing everything does not help.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from potluck_daemon.accounting.ledger import Ledger
from potluck_engine.serving.receipts import ServerTab, Tabs

from benchmarks.figures import Measured, figure
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PeerId, PersonId, Span
from potluck.protocol.receipts import RECEIPT_BYTES, Receipt, Work, parse_receipt, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm
from tests.helpers.fake_network import FakeNetwork
from tests.helpers.receipts import Session

_SEED = 11
_BATCH = 100
_GENUINE_EVERY = 10
_NUM_SESSIONS = 32
_SWARM = Swarm(name="fuzz", model="model", num_blocks=4, prefix="fuzz")


@figure("receipt_fuzz", unit="receipts", reach=0)
def fuzz(soak: bool) -> Measured:
    """Of 100,000 mutated, replayed and forged receipts (10 million in soak): those accepted wrongly, or entries without
    one.
    """
    count, rng = 10_000_000 if soak else 100_000, random.Random(_SEED)
    with tempfile.TemporaryDirectory() as folder:
        at_ledger = _fuzz_ledger(Path(folder), count * 4 // 5, rng)
        at_engine = asyncio.run(_fuzz_engine(Path(folder), count // 5, rng))
    wrong = at_ledger["wrong"] + at_engine["wrong"]
    return Measured(wrong, {"mutants": count, "ledger": at_ledger, "engine": at_engine, "seed": _SEED})


@dataclass
class _World:
    """Sessions of a ledger's owner, with what was sent for each, and what must be in the books."""

    owner: Identity
    rng: random.Random
    sessions: list[Session] = field(default_factory=list)
    sent: dict[bytes, list[Booking]] = field(default_factory=dict)
    expected: dict[bytes, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        now = time.time()
        for index in range(_NUM_SESSIONS):
            session = Session(self.owner, person=PersonId(f"person {index % 8}"), opened=now)
            self.sessions.append(session)
            self.sent[session.tab], self.expected[session.tab] = [], 0

    def genuine(self) -> Booking:
        session = self.rng.choice(self.sessions)
        self.expected[session.tab] += self.rng.randrange(1, 1000)
        booking = session.booking(self.expected[session.tab], tokens=self.expected[session.tab])
        self.sent[session.tab].append(booking)
        return booking

    def mutant(self) -> Booking:
        """Try a receipt that must not move anything."""
        return self.rng.choice(_MUTATIONS)(self)

    def any_sent(self) -> Booking:
        return self.rng.choice(self.sent[self.rng.choice([tab for tab, sent in self.sent.items() if sent])])


def _flipped(world: _World) -> Booking:
    booking = world.any_sent()
    data = bytearray(booking.receipt)
    for _ in range(world.rng.randrange(1, 4)):
        data[world.rng.randrange(len(data))] ^= 1 << world.rng.randrange(8)
    return Booking(bytes(data), booking.person)


def _cut(world: _World) -> Booking:
    booking = world.any_sent()
    return Booking(booking.receipt[: world.rng.randrange(RECEIPT_BYTES)], booking.person)


def _padded(world: _World) -> Booking:
    booking = world.any_sent()
    return Booking(booking.receipt + world.rng.randbytes(world.rng.randrange(1, 80)), booking.person)


def _spliced(world: _World) -> Booking:
    one, other = world.any_sent(), world.any_sent()
    at = world.rng.randrange(1, RECEIPT_BYTES)
    return Booking(one.receipt[:at] + other.receipt[at:], one.person)


def _replayed(world: _World) -> Booking:
    return world.any_sent()


def _forged(world: _World) -> Booking:
    """A higher sum, signed by somebody else."""
    booking = world.any_sent()
    receipt = parse_receipt(booking.receipt)
    work = replace(receipt.work, forward=receipt.work.forward + 10**12, tokens=receipt.work.tokens + 1)
    forged = replace(receipt, seq=receipt.seq + 1000, work=work)
    return Booking(sign_receipt(forged, world.owner.sign), booking.person)


def _of_a_thief(world: _World) -> Booking:
    """Another client's signature on another client's key, in a tab that is not its own."""
    thief, booking = Identity.generate(), world.any_sent()
    receipt = parse_receipt(booking.receipt)
    stolen = replace(receipt, client=thief.public_key, seq=receipt.seq + 1000)
    return Booking(sign_receipt(stolen, thief.sign), booking.person)


def _foreign(world: _World) -> Booking:
    """Genuine, and about another server."""
    return Session(Identity.generate(), opened=time.time()).booking(10**6)


def _shrunk(world: _World) -> Booking:
    """A later receipt by the right client, for less than it signed before."""
    session = world.rng.choice(world.sessions)
    if not world.sent[session.tab]:
        return _foreign(world)
    return session.booking(world.expected[session.tab] - 1, tokens=1)


def _of_another_person(world: _World) -> Booking:
    """A later receipt by the right client, in somebody else's name."""
    session = world.rng.choice(world.sessions)
    if not world.sent[session.tab]:
        return _foreign(world)
    more = world.expected[session.tab] + 1
    return replace(session.booking(more, tokens=more), person=PersonId("somebody else"))


_MUTATIONS: tuple[Callable[[_World], Booking], ...] = (
    *(_flipped, _cut, _padded, _spliced, _replayed, _forged),
    *(_of_a_thief, _foreign, _shrunk, _of_another_person),
)


def _fuzz_ledger(folder: Path, count: int, rng: random.Random) -> dict[str, int]:
    world = _World(Identity.generate(), rng)
    ledger = Ledger(folder / "ledger.sqlite", world.owner)
    wrong = 0
    ledger.book([world.genuine() for _ in range(_NUM_SESSIONS)], time.time())
    for start in range(0, count, _BATCH):
        made = [
            (False, world.mutant()) if (start + index) % _GENUINE_EVERY else (True, world.genuine())
            for index in range(_BATCH)
        ]
        booked = ledger.book([booking for _, booking in made], time.time())
        for (is_genuine, _), is_booked in zip(made, booked, strict=True):
            wrong += is_booked != is_genuine
    check = ledger.check()
    total = ledger.summary(time.time() + 1).total.earned
    ledger.close()
    off = abs(total - sum(world.expected.values()))
    return {"wrong": wrong + off + len(check.problems), "booked": total}


class _Client:
    """One tab at an engine, and receipts for it."""

    def __init__(self, tabs: Tabs, server: Identity) -> None:
        self.identity, self._server, self.seq = Identity.generate(), server, 0
        self.tab: ServerTab = tabs.open(PeerId(self.identity.peer_id), Span(0, 4))

    def receipt(self, work: Work, seq: int) -> Receipt:
        keys = (swarm_id(_SWARM), self.identity.public_key, self._server.public_key, self.tab.name)
        return Receipt(*keys, seq, Span(0, 4), work)


async def _fuzz_engine(folder: Path, count: int, rng: random.Random) -> dict[str, int]:
    """Receipts that are signed rightly and still not to be taken; and their bytes mutated."""
    server = Identity.generate()
    told: list[Booking] = []
    tabs = Tabs(folder / "outbox", told.append)
    tabs.begin(FakeNetwork().start(server), _SWARM, (1_000_000,) * 4)
    clients = [_Client(tabs, server) for _ in range(_NUM_SESSIONS)]
    wrong = genuine = 0
    for number in range(count):
        client = rng.choice(clients)
        tab = client.tab
        if number % _GENUINE_EVERY == 0:
            tab.forward_tokens += rng.randrange(1, 64)
            client.seq += 1
            genuine += 1
            wrong += not tabs.accept(tab, sign_receipt(client.receipt(tab.work, client.seq), client.identity.sign))
            continue
        receipt = _untrue(client, rng)
        data = bytearray(sign_receipt(receipt, client.identity.sign))
        if number % 3 == 0:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        wrong += tabs.accept(tab, bytes(data))
    wrong += len(told) != genuine
    tabs.close()
    return {"wrong": wrong, "genuine": genuine}


def _untrue(client: _Client, rng: random.Random) -> Receipt:
    own = client.tab.work
    receipt = client.receipt(own, client.seq + 1)
    more = rng.randrange(1, 10**9)
    return rng.choice(
        (
            replace(receipt, work=replace(own, forward=own.forward + more)),
            replace(receipt, work=replace(own, backward=own.backward + more)),
            replace(receipt, work=replace(own, tokens=own.tokens + more)),
            replace(receipt, seq=client.seq or 1, work=replace(own, forward=own.forward + 1)),
            replace(receipt, swarm=rng.randbytes(16)),
            replace(receipt, server=rng.randbytes(32)),
            replace(receipt, tab=rng.randbytes(16)),
            replace(receipt, span=Span(0, 3)),
            replace(receipt, client=rng.randbytes(32)),
        )
    )
