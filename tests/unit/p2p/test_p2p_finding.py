"""A node that p2pd cannot dial is found by asking the members who are connected; no network."""

import asyncio
from collections.abc import Mapping

import pytest

from potluck.errors import NetworkError
from potluck.membership.identity import Identity
from potluck.p2p.finding import Finder, order
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

pytestmark = pytest.mark.asyncio

WAY = "/ip4/192.0.2.7/tcp/31330"
NEAR, OTHER, FAR = (Identity.generate().peer_id for _ in range(3))


class World:
    """What one finder asks and dials."""

    def __init__(self, answers: Mapping[PeerId, bytes]) -> None:
        self.asked: list[tuple[PeerId, bytes]] = []
        self.dialled: list[tuple[PeerId, list[str]]] = []
        self._answers = answers
        self.met = {FAR}
        self.finder = Finder(self.own, self.ask, self.known, self.dial, self.met.__contains__)

    async def own(self) -> list[str]:
        return [f"{WAY}/p2p/{NEAR}"]

    async def ask(self, peer: PeerId, body: bytes) -> bytes:
        self.asked.append((peer, body))
        await asyncio.sleep(0)
        if peer not in self._answers:
            raise RemoteError(Code.UNREACHABLE, "not connected")
        return self._answers[peer]

    async def known(self) -> list[PeerId]:
        return [NEAR, OTHER]

    async def dial(self, peer: PeerId, addrs: list[str]) -> None:
        self.dialled.append((peer, addrs))


async def test_a_peer_is_dialled_where_one_of_those_who_are_connected_knows_it_and_asked_for_once() -> None:
    world = World({OTHER: WAY.encode()})
    await asyncio.gather(world.finder.find(FAR), world.finder.find(FAR))
    assert world.dialled == [(FAR, [WAY])]
    assert world.asked == [(NEAR, FAR.encode()), (OTHER, FAR.encode())]


@pytest.mark.parametrize("answer", [None, b"", b"\xff", b"no address", b"\n" * 100_000])
async def test_a_peer_that_nobody_knows_is_not_looked_for_again_at_once(answer: bytes | None) -> None:
    world = World({} if answer is None else {NEAR: answer, OTHER: answer})
    for _ in range(2):
        with pytest.raises(RemoteError) as caught:
            await world.finder.find(FAR)
        assert caught.value.code is Code.UNREACHABLE
    assert (len(world.asked), world.dialled) == (2, [])


async def test_a_node_answers_for_itself_and_passes_on_what_others_say_of_themselves() -> None:
    world = World({FAR: f"{WAY}\n/ip6/::1/tcp/1".encode()})
    assert await world.finder.answer(b"", OTHER) == WAY.encode()
    assert await world.finder.answer(FAR.encode(), OTHER) == f"{WAY}\n/ip6/::1/tcp/1".encode()
    assert world.asked == [(FAR, b"")]
    for body in (b"\xff", b"0", FAR.encode() * 1000, OTHER.encode()):
        with pytest.raises(RemoteError):
            await world.finder.answer(body, OTHER)
    assert len(world.asked) == 1, "nobody is asked who has not shown who they are"


async def test_a_node_that_is_connected_to_nobody_finds_nobody() -> None:
    finder = Finder(World({}).own, World({}).ask, nobody, World({}).dial, lambda peer: True)
    with pytest.raises(RemoteError, match="nobody"):
        await finder.find(FAR)


async def nobody() -> list[PeerId]:
    raise NetworkError("p2pd is being started anew")


async def test_meeting_points_are_asked_first() -> None:
    assert order([NEAR, OTHER], [FAR, OTHER]) == [OTHER, NEAR]
