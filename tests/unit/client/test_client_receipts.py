"""What a client signs, and when."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from potluck.client import receipts as module
from potluck.client.receipts import RECEIPT_TOKENS, Signer, Tab
from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, Timing
from potluck.protocol.receipts import Papers, Signed, countersign, new_tab, read_receipt, swarm_id
from potluck.protocol.swarm import Swarm

SWARM = Swarm(name="s", model="m", num_blocks=4, prefix="s")
SPAN = Span(1, 3)
EACH = 1_000_000


class Server:
    """Countersigns what is settled."""

    def __init__(self) -> None:
        self.identity = Identity.generate()
        self.settled: list[Signed] = []
        self.is_gone = False

    async def settle(self, peer: PeerId, data: bytes) -> bytes:
        if self.is_gone:
            raise RemoteError(Code.UNREACHABLE, "gone")
        assert peer == self.identity.peer_id
        self.settled.append(read_receipt(data))
        return countersign(self.settled[-1], self.identity.sign).data


class Donor:
    """A purse that may be closed."""

    def __init__(self) -> None:
        self.booked: list[bytes] = []
        self.is_away = False

    def delegate(self, client: PeerId) -> Papers:
        if self.is_away:
            raise PotluckError("away")
        return Papers(b"delegation", (b"voucher",))

    def book(self, receipts: Sequence[bytes], model: str) -> None:
        if self.is_away:
            raise PotluckError("away")
        self.booked += receipts


@asynccontextmanager
async def signing(server: Server, purse: Donor | None = None) -> AsyncIterator[tuple[Signer, Tab]]:
    """A signer with a tab at `server`; it settles at the end."""
    signer = Signer(Identity.generate(), SWARM, server.settle, (EACH,) * 4, purse)
    await signer.start()
    yield signer, signer.open_tab(server.identity.peer_id, SPAN)
    await signer.close()


async def test_a_receipt_is_due_every_few_tokens_and_states_all_of_them() -> None:
    server = Server()
    async with signing(server) as (_, tab):
        tab.note(10, Timing(tab=new_tab(0)))
        assert tab.due() is None
        tab.note(RECEIPT_TOKENS, Timing())
        data = tab.due()
        assert data is not None
        receipt = read_receipt(data).receipt
        assert (receipt.swarm, receipt.server) == (swarm_id(SWARM), server.identity.public_key)
        assert (receipt.seq, receipt.work.tokens, receipt.work.forward) == (1, 74, 74 * 2 * EACH)
        assert tab.due() is None


async def test_a_slow_session_signs_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RECEIPT_S", 0.0)
    async with signing(Server()) as (_, tab):
        tab.note(1, Timing(tab=new_tab(0)))
        assert tab.due() is not None
        assert tab.due() is None  # nothing new


async def test_nothing_is_signed_for_servers_that_keep_no_tab() -> None:
    server = Server()
    async with signing(server) as (signer, tab):
        tab.note(1000, Timing())
        assert tab.due() is None
    assert server.settled == []
    assert signer.total.tokens == 0


async def test_the_last_receipt_is_settled_and_the_own_count_stays() -> None:
    server = Server()
    async with signing(server) as (signer, tab):
        tab.note(5, Timing(tab=new_tab(0)))
        tab.note(5, Timing(), is_backward=True)
        assert signer.total.tokens == 10
    (signed,) = server.settled
    assert signed.receipt.work == signer.total
    assert signer.total.points == 2 * 5 + 2 * 2 * 5


async def test_a_server_that_is_gone_or_does_not_answer_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GOODBYE_S", 0.0)
    gone, silent = Server(), Server()
    gone.is_gone = True
    monkeypatch.setattr(silent, "settle", lambda *_: asyncio.get_running_loop().create_future())
    for server in (gone, silent):
        async with signing(server) as (signer, tab):
            tab.note(5, Timing(tab=new_tab(0)))
        assert signer.total.tokens == 5


async def test_a_server_that_forgot_a_tab_gets_a_new_one_from_zero() -> None:
    server = Server()
    async with signing(server) as (signer, _):
        tab = signer.tab_of_calls(server.identity.peer_id, SPAN)
        assert signer.tab_of_calls(server.identity.peer_id, SPAN) is tab
        tab.note(50, Timing(tab=new_tab(0)))
        tab.note(7, Timing(tab=new_tab(1)))
    (signed,) = server.settled
    assert (signed.receipt.seq, signed.receipt.work.tokens) == (1, 7)
    assert signer.total.tokens == 57


async def test_countersigned_receipts_are_handed_in_with_the_delegation_and_kept_while_nobody_takes_them() -> None:
    server, donor = Server(), Donor()
    async with signing(server, donor) as (signer, tab):
        assert signer.papers == Papers(b"delegation", (b"voucher",))
        introductions = [signer.introduce(Caller(), server.identity.peer_id) for _ in range(2)]
        assert [caller.vouchers for caller in introductions] == [(b"voucher",), ()]
        assert {caller.delegation for caller in introductions} == {b"delegation"}
        tab.note(RECEIPT_TOKENS, Timing(tab=new_tab(0)))
        data = tab.due()
        assert data is not None
        countersigned = countersign(read_receipt(data), server.identity.sign).data
        forged = countersign(read_receipt(data), Identity.generate().sign).data
        tab.note(0, Timing(countersigned=forged))
        donor.is_away = True
        tab.note(0, Timing(countersigned=countersigned))
        await signer._book()
        donor.is_away, server.is_gone = False, True
    assert donor.booked == [countersigned + b"delegation"]


async def test_without_a_donor_requests_are_signed_for_all_the_same() -> None:
    donor = Donor()
    donor.is_away = True
    async with signing(Server(), donor) as (signer, tab):
        assert signer.papers is None
        tab.note(RECEIPT_TOKENS, Timing(tab=new_tab(0)))
        assert tab.due() is not None
