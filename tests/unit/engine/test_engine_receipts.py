"""What an engine takes from those it computes for, and whom that lets come first."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_peers import Client, hidden_states, opening, refused_with, serve
from helpers.fake_network import FakeNetwork
from potluck_control.outbox import Booking, Outbox, left_behind
from potluck_engine import receipts as module
from potluck_engine.receipts import ServerTab, Tabs

from potluck.membership.identity import Identity
from potluck.protocol.blocks import PersonId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, StepRequest, Timing
from potluck.protocol.receipts import POINT, Receipt, Work, delegate, read_countersigned, sign_receipt, swarm_id
from potluck.protocol.swarm import Swarm

SWARM = Swarm(name="s", model="m", num_blocks=4, prefix="s")
SPAN = Span(1, 3)
EACH = POINT  # parameters of a block


class Bench:
    """An engine's tabs, a client, and what the daemon is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server, self.client, self.owner = (Identity.generate() for _ in range(3))
        self.told: list[Booking] = []
        self.shown: list[Sequence[bytes]] = []
        self.tabs = Tabs(folder, self.told.append, self.shown.append)
        self.tabs.begin(self.server, SWARM, (EACH,) * 4)

    def caller(self, **changes: object) -> Caller:
        paper = delegate(self.owner.public_key, self.client.public_key, 1 << 40, self.owner.sign)
        return replace(Caller(delegation=paper), **changes)  # type: ignore[arg-type]

    def open(self, caller: Caller | None = None) -> ServerTab:
        return self.tabs.open(self.client.peer_id, SPAN, caller or self.caller())

    def opened(self) -> ServerTab:
        """The tab of a session that has got 10 tokens."""
        tab = self.open()
        self.tabs.note(tab, 10)
        return tab

    def take(self, tab: ServerTab, seq: int, tokens: int) -> bool:
        return self.tabs.take(tab, self.sign(self.receipt(tab, seq, tokens)))

    def receipt(self, tab: ServerTab, seq: int, tokens: int) -> Receipt:
        keys = (swarm_id(SWARM), self.client.public_key, self.server.public_key, tab.name)
        return Receipt(*keys, seq, SPAN, Work(forward=2 * EACH * tokens, tokens=tokens))

    def sign(self, receipt: Receipt) -> bytes:
        return sign_receipt(receipt, self.client.sign).data

    def book_all(self) -> None:
        self.tabs.booked([(booking.receipt.tab, booking.receipt.seq) for booking in self.told])


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.tabs.close()


def test_a_receipt_for_what_was_had_is_passed_on_and_countersigned_once_booked(bench: Bench) -> None:
    tab = bench.open()
    assert bench.tabs.say(tab, Timing(), is_named=False).tab == tab.name
    bench.tabs.note(tab, 10)
    assert bench.take(tab, 1, 10)
    assert bench.tabs.say(tab, Timing(), is_named=True) == Timing()  # not on disk yet
    bench.book_all()
    said = bench.tabs.say(tab, Timing(queue_ms=3.0), is_named=True)
    assert said.queue_ms == 3.0
    assert read_countersigned(said.countersigned).receipt.work.tokens == 10
    assert bench.tabs.say(tab, Timing(), is_named=True) == Timing()
    assert bench.told[0].delegation == bench.caller().delegation


async def test_a_session_is_told_of_its_tab_once_so_that_answers_stay_short(bench: Bench, network: FakeNetwork) -> None:
    async with serve(network) as server:
        server.handlers.state = replace(server.serving, tabs=bench.tabs)
        client = await Client.open(network.start(), server)
        first = await client.step(StepRequest(hidden_states(1, 3), opening()))
        assert first.timing.tab is not None
        for start in (3, 4):
            reply = await client.step(StepRequest(hidden_states(1, 1), None, start_from_position=start))
            assert reply.timing.tab is None


@pytest.mark.parametrize(
    "change",
    [
        {"work": Work(forward=2 * EACH * 10 + 1, tokens=10)},
        {"work": Work(forward=2 * EACH * 10, backward=1, tokens=10)},
        {"work": Work(forward=2 * EACH * 10, tokens=11)},
        {"work": Work(forward=2 * EACH * 10, tokens=10, kv_token_s=1 << 40)},
        {"work": Work(forward=2 * EACH * 4, tokens=4)},
        {"seq": 1},
        {"span": Span(0, 2)},
        {"swarm": bytes(16)},
        {"server": bytes(32)},
        {"tab": bytes(16)},
        {"client": Identity.generate().public_key},
    ],
    ids=["forward", "backward", "tokens", "memory", "less", "replayed", "span", "swarm", "server", "tab", "client"],
)
def test_what_is_not_so_is_not_taken_and_changes_nothing(bench: Bench, change: dict[str, Any]) -> None:
    tab = bench.opened()
    assert bench.take(tab, 1, 5)
    assert not bench.tabs.take(tab, bench.sign(replace(bench.receipt(tab, 2, 10), **change)))
    assert len(bench.told) == 1
    assert bench.take(tab, 2, 10)


async def test_the_last_receipt_is_settled_after_the_session_and_waits_for_the_disk(bench: Bench) -> None:
    tab = bench.opened()
    bench.tabs.close_tab(tab)
    data = bench.sign(bench.receipt(tab, 1, 10))
    settling = asyncio.create_task(bench.tabs.settle(bench.client.peer_id, data))
    await asyncio.sleep(0)  # it takes the receipt and waits
    assert len(bench.told) == 1
    assert not settling.done()
    bench.book_all()
    assert read_countersigned(await settling).receipt.seq == 1


async def test_nobody_settles_for_another_or_without_a_tab(bench: Bench) -> None:
    tab = bench.opened()
    for peer, receipt in (
        (Identity.generate().peer_id, bench.receipt(tab, 1, 10)),
        (bench.client.peer_id, replace(bench.receipt(tab, 1, 10), tab=bytes(16))),
        (bench.client.peer_id, bench.receipt(tab, 1, 11)),
    ):
        with pytest.raises(RemoteError, match="not taken"):
            await bench.tabs.settle(peer, bench.sign(receipt))
    with pytest.raises(RemoteError):
        await bench.tabs.settle(bench.client.peer_id, b"nonsense")
    assert bench.told == []


async def test_a_silent_ledger_is_not_waited_for_long(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BOOKED_TIMEOUT_S", 0.0)
    tab = bench.opened()
    with refused_with(Code.BUSY):
        await bench.tabs.settle(bench.client.peer_id, bench.sign(bench.receipt(tab, 1, 10)))


def test_what_was_taken_is_in_the_outbox_until_it_is_booked(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    tab = bench.opened()
    bench.take(tab, 1, 10)
    bench.tabs.close()
    with left_behind(tmp_path) as found:
        assert found == bench.told


def test_calls_of_one_client_through_one_span_share_a_tab(bench: Bench) -> None:
    first = bench.tabs.tab_of_calls(bench.client.peer_id, SPAN, bench.caller())
    bench.tabs.note(first, 10)
    paid = bench.caller(receipt=bench.sign(bench.receipt(first, 1, 10)))
    assert bench.tabs.tab_of_calls(bench.client.peer_id, SPAN, paid) is first
    assert len(bench.told) == 1
    assert bench.tabs.tab_of_calls(bench.client.peer_id, Span(0, 1), bench.caller()) is not first


def test_credit_comes_first_until_more_is_owed_than_it_is_worth(bench: Bench) -> None:
    tab, stranger = bench.open(), PersonId("stranger")
    me = PersonId(bench.client.peer_id)
    both = [me, stranger]
    assert bench.tabs.accounts() == (bench.owner.peer_id,)
    bench.tabs.value({bench.owner.peer_id: 100})
    shares = bench.tabs.shares(both)
    assert shares[me] > 10 * shares[stranger] > 0
    bench.tabs.note(tab, 50)  # 100 points that nobody has signed for
    bench.tabs.refresh()
    assert len(set(bench.tabs.shares(both).values())) == 1
    bench.take(tab, 1, 50)
    bench.tabs.refresh()
    assert bench.tabs.shares(both)[me] > bench.tabs.shares(both)[stranger]


def test_who_is_late_with_receipts_waits_with_the_others_however_rich(bench: Bench) -> None:
    tab = bench.open()
    bench.tabs.value({bench.owner.peer_id: 1 << 50})
    for _ in range(1000):
        bench.tabs.note(tab, 1)
    bench.tabs.refresh()
    assert len(set(bench.tabs.shares([PersonId(bench.client.peer_id), PersonId("stranger")]).values())) == 1


def test_two_programs_of_a_donor_share_its_credit(bench: Bench) -> None:
    bench.open()
    second = Identity.generate()
    paper = delegate(bench.owner.public_key, second.public_key, 1 << 40, bench.owner.sign)
    bench.tabs.open(second.peer_id, SPAN, Caller(delegation=paper))
    bench.tabs.value({bench.owner.peer_id: 100})
    both = PersonId(bench.client.peer_id), PersonId(second.peer_id)
    assert len({bench.tabs.shares([*both, PersonId("stranger")])[each] for each in both}) == 1


def test_machines_of_one_person_have_one_share_between_them(bench: Bench) -> None:
    ana, bob, second, other = PersonId("Ana"), PersonId("Bob"), Identity.generate(), Identity.generate()
    people = {bench.client.peer_id: ana, second.peer_id: ana, other.peer_id: bob}
    bench.tabs.begin(bench.server, SWARM, (EACH,) * 4, people.get)
    bench.open()
    bench.tabs.open(second.peer_id, SPAN, Caller())
    bench.tabs.open(other.peer_id, SPAN, Caller())
    bench.tabs.value({bench.owner.peer_id: 60, second.peer_id: 40, other.peer_id: 100})
    shares = bench.tabs.shares([ana, bob])
    assert shares[ana] == shares[bob]


def test_a_delegation_that_is_forged_expired_or_anothers_is_no_credit(bench: Bench) -> None:
    key, owner = bench.client.public_key, bench.owner
    for paper in (
        delegate(owner.public_key, key, 1 << 40, Identity.generate().sign),
        delegate(owner.public_key, key, 1, owner.sign),
        delegate(owner.public_key, Identity.generate().public_key, 1 << 40, owner.sign),
    ):
        assert bench.open(Caller(delegation=paper)).account == bench.client.peer_id


def test_vouchers_of_a_donor_are_looked_at_once_in_a_while(bench: Bench) -> None:
    for _ in range(3):
        bench.open(bench.caller(vouchers=(b"voucher",)))
    bench.open(Caller(vouchers=(b"of nobody",)))
    assert bench.shown == [(b"voucher",)]


def test_a_folder_that_cannot_be_written_stops_no_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    bench = Bench(tmp_path / "file")
    tab = bench.opened()
    assert bench.tabs.say(tab, Timing(), is_named=False) == Timing()
    assert not bench.take(tab, 1, 10)


def test_a_full_disk_stops_no_work_and_the_daemon_is_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Outbox, "append", full)
    monkeypatch.setattr(Outbox, "keep_only", full)
    tab = bench.opened()
    assert bench.take(tab, 1, 10)
    assert len(bench.told) == 1
    bench.book_all()
