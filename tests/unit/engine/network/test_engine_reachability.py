"""Who asks whom to be dialled, and what follows from the answers."""

from collections.abc import Mapping, Sequence
from itertools import islice

import pytest
from helpers.engine_peers import refused_with
from helpers.fake_network import FakeHost, FakeNetwork
from potluck_control.processes.engine_report import NetworkReport, Reach
from potluck_engine.network.reachability import Reachability, judge, nearest_relays, pauses_s, relays_of

from potluck.errors import NetworkError
from potluck.membership.budgets import PERSON
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code
from potluck.wire.message import decode_reply, decode_request, encode
from potluck.wire.protocols import DIAL_BACK, DialBack, Reachable

HOME, PUBLIC = "192.168.77.2", "45.45.7.1"


class Node:
    """A fake host with an address, and a world in which only `reachable` ones can be dialled."""

    def __init__(self, network: FakeNetwork, ip: str, seen_at: str, reachable: set[str]) -> None:
        self.host: FakeHost = network.start()
        self.ip, self.seen_at, self.reachable = ip, seen_at, reachable
        self.others: list[Node] = []
        self.luck: list[bool] = []  # how the next dials end, whatever can be reached
        self.is_busy = False
        self.dialled: list[tuple[tuple[str, ...], str]] = []
        self.peer_id = self.host.peer_id
        self.budgets = self.host.budgets
        self.serve_unary, self.call = self.host.serve_unary, self.host.call

    async def addresses(self) -> tuple[str, ...]:
        return (f"/ip4/127.0.0.1/tcp/31330/p2p/{self.peer_id}", f"/ip4/{self.ip}/tcp/31330/p2p/{self.peer_id}")

    async def neighbours(self) -> Mapping[PeerId, tuple[str, ...]]:
        return {other.peer_id: (f"/ip4/{other.seen_at}/tcp/40000",) for other in self.others}

    async def dial_anew(self, peer: PeerId, addrs: Sequence[str], *, seen_as: str = "") -> bool:
        self.dialled.append((tuple(addrs), seen_as))
        if self.is_busy:
            raise NetworkError("no process starts in time")
        if self.luck:
            return self.luck.pop(0)
        return any(addr in self.reachable for addr in addrs)


async def pair(*, open_port: bool) -> tuple[Node, Node]:
    """A node behind a router at 45.45.7.3, and a public one."""
    network, router = FakeNetwork(), "45.45.7.3"
    reachable = {f"/ip4/{PUBLIC}/tcp/31330"} | ({f"/ip4/{router}/tcp/31330"} if open_port else set())
    home, public = Node(network, HOME, router, reachable), Node(network, PUBLIC, PUBLIC, reachable)
    home.others, public.others = [public], [home]
    return home, public


@pytest.mark.parametrize(
    ("answers", "reach"),
    [
        ([], Reach.UNKNOWN),
        ([None, None], Reach.UNKNOWN),
        ([True], Reach.DIRECT),
        ([True, False], Reach.DIRECT),
        ([False, None], Reach.RELAYED),
        ([True, False, False], Reach.RELAYED),
    ],
)
def test_half_of_those_that_answer_must_have_reached_a_node(answers: list[bool | None], reach: Reach) -> None:
    assert judge(answers).reach is reach


@pytest.mark.parametrize(("open_port", "reach"), [(True, Reach.DIRECT), (False, Reach.RELAYED)])
async def test_a_peer_dials_the_address_it_sees_with_the_ports_that_are_told(open_port: bool, reach: Reach) -> None:
    home, public = await pair(open_port=open_port)
    await Reachability(public, relays=False).serve()
    finding = await Reachability(home, relays=False, pause_s=0.0).find_out()
    assert finding == NetworkReport(reach, 1, int(open_port))
    assert public.dialled == [(("/ip4/45.45.7.3/tcp/31330",), "")] * (1 if open_port else 3)  # to be sure


async def test_a_node_that_was_reached_once_stays_direct() -> None:
    home, public = await pair(open_port=False)
    public.luck = [False, True]
    await Reachability(public, relays=False).serve()
    assert (await Reachability(home, relays=False, pause_s=0.0).find_out()).reach is Reach.DIRECT


async def test_a_peer_that_is_too_busy_to_dial_does_not_count_and_is_asked_again() -> None:
    home, public = await pair(open_port=False)
    public.is_busy = True
    await Reachability(public, relays=False).serve()
    assert await Reachability(home, relays=False, pause_s=0.0).find_out() == NetworkReport()
    assert len(public.dialled) == 3


def test_a_relayed_node_asks_again_less_and_less_often() -> None:
    pauses = list(islice(pauses_s(), 12))
    assert pauses == sorted(pauses)
    assert pauses[0] <= 60
    assert pauses[-1] == pauses[-2] <= 3600


async def test_a_node_that_relays_has_itself_dialled_by_whoever_asks_before_it_answers() -> None:
    home, public = await pair(open_port=False)
    asked, asking = Reachability(public, relays=True), Reachability(home, relays=True, pause_s=0.0)
    await asked.serve()
    await asking.serve()
    assert (await asking.find_out()).reach is Reach.RELAYED
    assert home.dialled == [((f"/ip4/{PUBLIC}/tcp/31330",), "/ip4/45.45.7.3/tcp/40000")]
    await asking.find_out()
    assert len(home.dialled) == 1  # once is enough


async def test_nobody_is_dialled_on_somebody_elses_word() -> None:
    home, public = await pair(open_port=True)
    await Reachability(public, relays=False).serve()
    others = encode(DialBack(("/ip4/8.8.8.8/tcp/25", "/ip6/2001:db8::1/tcp/25", "/dns4/example.org/tcp/25")))
    await home.call(public.peer_id, DIAL_BACK, others, timeout_s=60)
    assert public.dialled == [(("/ip4/45.45.7.3/tcp/25",), "")]  # its own router, nobody else's


async def test_a_peer_that_comes_through_a_relay_is_not_dialled() -> None:
    home, public = await pair(open_port=True)
    await Reachability(public, relays=False).serve()
    home.seen_at = "45.45.7.9/tcp/1/p2p/x/p2p-circuit"
    body = encode(DialBack(("/ip4/45.45.7.9/tcp/1",)))
    assert decode_reply(await home.call(public.peer_id, DIAL_BACK, body, timeout_s=60), Reachable) == Reachable(False)
    assert public.dialled == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        encode(DialBack(("/ip4/1.2.3.4/tcp/1,/ip4/5.6.7.8/tcp/1",))),
        encode(DialBack(("a",) * 3)),
        encode(DialBack(("/x" * 200,))),
        b"\x92\x91\x01\xa0",
    ],
)
def test_what_is_no_question_is_refused(body: bytes) -> None:
    with refused_with(Code.BAD_REQUEST):
        decode_request(body, DialBack)


def test_relays_are_the_bootstrap_peers_and_then_who_was_met() -> None:
    boot = "/ip4/45.45.7.1/tcp/1/p2p/Boot"
    met = {PeerId("Boot"): ("/ip4/45.45.7.1/tcp/1",), PeerId("Met"): ("/ip4/45.45.7.2/tcp/2",)}
    relayed = {PeerId("Far"): ("/ip4/45.45.7.1/tcp/1/p2p/Boot/p2p-circuit",)}
    assert relays_of(HostConfig(bootstrap_peers=(boot,)), met | relayed) == (boot, "/ip4/45.45.7.2/tcp/2/p2p/Met")


def test_the_nearest_relays_are_taken_and_silent_ones_come_last() -> None:
    relays = [f"/ip4/45.45.7.{number}/tcp/1/p2p/{name}" for number, name in enumerate("abcdef")]
    rtts_s = {PeerId("b"): 0.2, PeerId("c"): 0.1, PeerId("f"): 0.05}
    assert [addr[-1] for addr in nearest_relays(relays, rtts_s)] == ["f", "c", "b", "a"]


def test_a_network_within_one_machine_is_local() -> None:
    assert HostConfig(bootstrap_peers=("/ip4/127.0.0.1/tcp/1/p2p/x", "/ip6/::1/tcp/1/p2p/x")).is_alone
    assert not HostConfig(listen_addrs=("/ip6/::/tcp/0",)).is_alone


async def test_one_person_is_dialled_a_few_times_a_minute() -> None:
    home, public = await pair(open_port=True)
    await Reachability(public, relays=False).serve()
    question = encode(DialBack(("/ip4/45.45.7.3/tcp/31330",)))
    for _ in range(PERSON.dials):
        await home.call(public.peer_id, DIAL_BACK, question, timeout_s=60)
    with refused_with(Code.BUSY):
        await home.call(public.peer_id, DIAL_BACK, question, timeout_s=60)
    assert len(public.dialled) == PERSON.dials
