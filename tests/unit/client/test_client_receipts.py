"""What a client signs and records, and when."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from helpers.fake_network import FakeNetwork

from potluck.client import receipts
from potluck.client.receipts import RECEIPT_TOKENS, Signer, Tab
from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PeerId, PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Settlement, Timing
from potluck.protocol.receipts import Receipt, new_tab, read_receipt, swarm_id
from potluck.protocol.swarm import Swarm
from potluck.wire.message import decode_request
from potluck.wire.protocols import SETTLE

SWARM = Swarm(name="s", model="m", num_blocks=4, prefix="s")
SPAN = Span(1, 3)
EACH = 1_000_000
ANA, BOB = PersonId("Ana"), PersonId("Bob")


class Server:
    """Bob's. Takes what is settled."""

    def __init__(self) -> None:
        self.identity = Identity.generate()
        self.settled: list[Receipt] = []
        self.is_gone = False

    async def call(self, peer: PeerId, protocol: str, body: bytes, *, timeout_s: float) -> None:
        if self.is_gone:
            raise RemoteError(Code.UNREACHABLE, "gone")
        assert (peer, protocol) == (self.identity.peer_id, SETTLE)
        self.settled.append(read_receipt(decode_request(body, Settlement).receipt))


class Daemon:
    """Keeps what is recorded, unless it is away."""

    def __init__(self) -> None:
        self.recorded: list[Booking] = []
        self.is_away = False

    def record(self, bookings: Sequence[Booking], model: str) -> None:
        if self.is_away:
            raise PotluckError("away")
        assert model == SWARM.model
        self.recorded += bookings


@asynccontextmanager
async def signing(server: Server, daemon: Daemon | None = None) -> AsyncIterator[tuple[Signer, Tab]]:
    """Ana's signer with a tab at `server`; it settles at the end."""
    people = {server.identity.peer_id: BOB}
    host = FakeNetwork(person_of=lambda peer, ticket=b"", /: people.get(peer, ANA)).start()
    host.call = server.call  # type: ignore[assignment, method-assign]
    signer = Signer(host, SWARM, (EACH,) * 4, None if daemon is None else daemon.record)
    yield signer, signer.open_tab(server.identity.peer_id, SPAN)
    await signer.close()


async def test_a_receipt_is_due_every_few_tokens_and_states_all_of_them() -> None:
    server = Server()
    async with signing(server) as (_, tab):
        tab.add(10, Timing(tab=new_tab(0)))
        assert tab.due() is None
        tab.add(RECEIPT_TOKENS, Timing())
        data = tab.due()
        assert data is not None
        receipt = read_receipt(data)
        assert (receipt.swarm, receipt.server) == (swarm_id(SWARM), server.identity.public_key)
        assert (receipt.seq, receipt.work.tokens, receipt.work.forward) == (1, 74, 74 * 2 * EACH)
        assert tab.due() is None


async def test_a_slow_session_signs_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "RECEIPT_S", 0.0)
    async with signing(Server()) as (_, tab):
        tab.add(1, Timing(tab=new_tab(0)))
        assert tab.due() is not None
        assert tab.due() is None  # nothing new


async def test_nothing_is_signed_for_servers_that_keep_no_tab() -> None:
    server = Server()
    async with signing(server) as (_, tab):
        tab.add(1000, Timing())
        assert tab.due() is None
    assert server.settled == []


async def test_the_last_receipt_is_settled_at_the_end() -> None:
    server = Server()
    async with signing(server) as (_, tab):
        tab.add(5, Timing(tab=new_tab(0)))
        tab.add(5, Timing(), is_backward=True)
    (receipt,) = server.settled
    assert (receipt.work.tokens, receipt.work.points) == (10, 2 * 5 + 2 * 2 * 5)


async def test_a_server_that_is_gone_or_does_not_answer_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipts, "_GOODBYE_S", 0.0)
    gone, silent = Server(), Server()
    gone.is_gone = True
    monkeypatch.setattr(silent, "call", lambda *_, **__: asyncio.get_running_loop().create_future())
    for server in (gone, silent):
        async with signing(server) as (_, tab):
            tab.add(5, Timing(tab=new_tab(0)))
        assert server.settled == []


async def test_a_server_that_forgot_a_tab_gets_a_new_one_from_zero() -> None:
    server = Server()
    async with signing(server) as (signer, _):
        tab = signer.tab_of_calls(server.identity.peer_id, SPAN)
        assert signer.tab_of_calls(server.identity.peer_id, SPAN) is tab
        tab.add(50, Timing(tab=new_tab(0)))
        tab.add(7, Timing(tab=new_tab(1)))
    (receipt,) = server.settled
    assert (receipt.seq, receipt.work.tokens) == (1, 7)


async def test_what_was_signed_is_recorded_with_the_servers_person_and_kept_while_nobody_takes_it() -> None:
    server, daemon = Server(), Daemon()
    async with signing(server, daemon) as (signer, tab):
        tab.add(RECEIPT_TOKENS, Timing(tab=new_tab(0)))
        first = tab.due()
        daemon.is_away = True
        await signer._record_signed()
        assert daemon.recorded == []
        daemon.is_away = False
        await signer._record_signed()
        await signer._record_signed()
        assert daemon.recorded == [Booking(first, BOB)]
        tab.add(1, Timing())
    assert [read_receipt(booking.receipt) for booking in daemon.recorded[1:]] == server.settled


async def test_nothing_is_signed_for_servers_of_ones_own_person() -> None:
    async with signing(Server()) as (signer, _):
        own = PeerId(Identity.generate().peer_id)
        for tab in (signer.open_tab(own, SPAN), signer.tab_of_calls(own, SPAN)):
            tab.add(RECEIPT_TOKENS, Timing(tab=new_tab(0)))
            assert tab.due() is None
