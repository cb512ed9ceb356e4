"""What an engine takes from those it computes for, and whom that lets come first."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_peers import Client, hidden_states, opening, refused_with, serve
from helpers.fake_network import FakeNetwork
from potluck_control.processes.receipt_outbox import ReceiptOutbox, empty_outbox
from potluck_engine.serving import receipts
from potluck_engine.serving.receipts import NO_TAB, ServerTab, Tabs

from potluck.membership.identity import Identity
from potluck.protocol.blocks import Booking, PeerId, PersonId, Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import Awaited, StepRequest
from potluck.protocol.receipts import POINT, Receipt, Work, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm

SWARM = Swarm(name="s", model="m", num_blocks=4, prefix="s")
SPAN = Span(1, 3)
EACH = POINT  # parameters of a block
ANA, BOB, EVE = PersonId("Ana"), PersonId("Bob"), PersonId("Eve")


class Bench:
    """Ana's engine's tabs, Bob's client, and what the daemon is told."""

    def __init__(self, folder: Path) -> None:
        self.server, self.client = Identity.generate(), Identity.generate()
        self.people: dict[PeerId, PersonId] = {self.server.peer_id: ANA, self.client.peer_id: BOB}
        self.told: list[Booking] = []
        self.tabs = Tabs(folder, self.told.append)
        network = FakeNetwork(person_of=lambda peer, ticket=b"", /: self.people.get(peer))
        self.tabs.begin(network.start(self.server), SWARM, (EACH,) * 4)

    def opened(self) -> ServerTab:
        """The tab of a session that has got 10 tokens."""
        tab = self.tabs.open(self.client.peer_id, SPAN)
        tab.forward_tokens += 10
        return tab

    def take(self, tab: ServerTab, seq: int, tokens: int) -> bool:
        return self.tabs.accept(tab, self.sign(self.receipt(tab, seq, tokens)))

    def receipt(self, tab: ServerTab, seq: int, tokens: int) -> Receipt:
        keys = (swarm_id(SWARM), self.client.public_key, self.server.public_key, tab.name)
        return Receipt(*keys, seq, SPAN, Work(forward=2 * EACH * tokens, tokens=tokens))

    def sign(self, receipt: Receipt) -> bytes:
        return sign_receipt(receipt, self.client.sign)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.tabs.close()


def test_a_receipt_for_what_was_had_is_passed_on_with_the_clients_person(bench: Bench) -> None:
    tab = bench.opened()
    data = bench.sign(bench.receipt(tab, 1, 10))
    assert bench.tabs.accept(tab, data)
    assert bench.told == [Booking(data, BOB)]


def test_own_computers_and_strangers_get_no_tab(bench: Bench) -> None:
    own, stranger = Identity.generate().peer_id, Identity.generate().peer_id
    bench.people[own] = ANA
    for client in (own, stranger):
        assert bench.tabs.tab_of_calls(client, SPAN, b"a receipt") is NO_TAB
        assert bench.tabs.open(client, SPAN) is NO_TAB
    assert not NO_TAB.name, "which clients would be told"
    assert bench.told == []


async def test_a_session_is_told_of_its_tab_once_so_that_answers_stay_short(bench: Bench, network: FakeNetwork) -> None:
    async with serve(network) as server:
        server.serving.tabs = bench.tabs
        host = network.start()
        bench.people[host.peer_id] = BOB
        client = await Client.open(host, server)
        first = await client.step(StepRequest(hidden_states(1, 3), opening()))
        assert first.timing.tab is not None
        for start in (3, 4):
            reply = await client.step(StepRequest(hidden_states(1, 1), None, start_from_position=start))
            assert reply.timing.tab is None


async def test_the_receipt_of_a_step_that_was_taken_back_counts_and_its_tokens_do_not(
    bench: Bench, network: FakeNetwork
) -> None:
    async with serve(network) as server:
        server.serving.tabs = bench.tabs
        client = await Client.open(network.start(bench.client), server)
        first = await client.step(StepRequest(hidden_states(1, 3), opening()))
        tab = bench.tabs._tabs[first.timing.tab or b""]
        receipts = [bench.sign(replace(bench.receipt(tab, seq, 3), span=tab.span)) for seq in (1, 2)]
        await client.send(StepRequest(None, awaited=Awaited(1, 1, 4), receipt=receipts[0]))
        await client.send(StepRequest(None, start_from_position=3))
        assert (await client.answer((1, 4, 64))).is_dropped
        await client.send(StepRequest(None, start_from_position=3, receipt=receipts[1]))
        await client.step(StepRequest(hidden_states(1, 1)))
        assert bench.told == [Booking(receipt, BOB) for receipt in receipts]
        assert tab.forward_tokens == 4


@pytest.mark.parametrize(
    "change",
    [
        {"work": Work(forward=2 * EACH * 10 + 1, tokens=10)},
        {"work": Work(forward=2 * EACH * 10, backward=1, tokens=10)},
        {"work": Work(forward=2 * EACH * 10, tokens=11)},
        {"work": Work(forward=2 * EACH * 4, tokens=4)},
        {"seq": 1},
        {"span": Span(0, 2)},
        {"swarm": bytes(16)},
        {"server": bytes(32)},
        {"tab": bytes(16)},
        {"client": Identity.generate().public_key},
    ],
    ids=["forward", "backward", "tokens", "less", "replayed", "span", "swarm", "server", "tab", "client"],
)
def test_what_is_not_so_is_not_taken_and_changes_nothing(bench: Bench, change: dict[str, Any]) -> None:
    tab = bench.opened()
    assert bench.take(tab, 1, 5)
    assert not bench.tabs.accept(tab, bench.sign(replace(bench.receipt(tab, 2, 10), **change)))
    assert len(bench.told) == 1
    assert bench.take(tab, 2, 10)


def test_the_last_receipt_is_settled_after_the_session(bench: Bench) -> None:
    tab = bench.opened()
    bench.tabs.close_tab(tab)
    data = bench.sign(bench.receipt(tab, 1, 10))
    bench.tabs.settle(bench.client.peer_id, data)
    assert bench.told == [Booking(data, BOB)]


def test_nobody_settles_for_another_or_without_a_tab(bench: Bench) -> None:
    tab = bench.opened()
    for peer, receipt in (
        (Identity.generate().peer_id, bench.receipt(tab, 1, 10)),
        (bench.client.peer_id, replace(bench.receipt(tab, 1, 10), tab=bytes(16))),
        (bench.client.peer_id, bench.receipt(tab, 1, 11)),
    ):
        with refused_with(Code.BAD_REQUEST):
            bench.tabs.settle(peer, bench.sign(receipt))
    with refused_with(Code.BAD_REQUEST):
        bench.tabs.settle(bench.client.peer_id, b"nonsense")
    assert bench.told == []


async def test_what_was_taken_is_in_the_outbox(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.take(bench.opened(), 1, 10)
    bench.tabs.close()
    found: list[Booking] = []
    empty_outbox(tmp_path, found.extend)
    assert found == bench.told


def test_calls_of_one_client_through_one_span_share_a_tab(bench: Bench) -> None:
    client = bench.client.peer_id
    first = bench.tabs.tab_of_calls(client, SPAN, None)
    first.forward_tokens += 10
    assert bench.tabs.tab_of_calls(client, SPAN, bench.sign(bench.receipt(first, 1, 10))) is first
    assert len(bench.told) == 1
    assert bench.tabs.tab_of_calls(client, Span(0, 1), None) is not first


def test_work_for_others_is_counted_and_stays_counted_when_its_tab_is_forgotten(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    tab, before = bench.opened(), bench.tabs.total_tokens
    tab.forward_tokens += 10
    bench.people[bench.client.peer_id] = ANA  # now it is a computer of one's own
    bench.tabs.open(bench.client.peer_id, SPAN).forward_tokens += 100
    assert bench.tabs.total_tokens == before + 10
    bench.tabs.close_tab(tab)
    monkeypatch.setattr(receipts, "_SETTLE_S", -1.0)
    bench.tabs.forget_old()
    assert bench.tabs.total_tokens == before + 10


def test_people_have_shares_by_their_work_and_the_own_person_as_much_as_all_others(bench: Bench) -> None:
    bench.opened()
    stranger = PersonId("stranger")
    assert len(set(bench.tabs.shares([BOB, EVE, stranger]).values())) == 1
    alone = bench.tabs.shares([ANA, stranger])
    assert alone[ANA] > 10 * alone[stranger] > 0
    bench.tabs.set_worth({BOB: 30, EVE: 10})
    shares = bench.tabs.shares([ANA, BOB, EVE, stranger])
    assert shares[BOB] > 2 * shares[EVE] > 10 * shares[stranger] > 0
    assert shares[ANA] == pytest.approx(shares[BOB] + shares[EVE] - shares[stranger])


async def test_a_folder_that_cannot_be_written_stops_no_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    bench = Bench(tmp_path / "file")
    tab = bench.opened()
    assert tab is NO_TAB
    assert not bench.take(tab, 1, 10)


def test_a_full_disk_stops_no_work_and_the_daemon_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ReceiptOutbox, "append", full)
    assert bench.take(bench.opened(), 1, 10)
    assert len(bench.told) == 1
