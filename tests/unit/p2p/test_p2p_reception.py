"""From where strangers come, and how long a node keeps connections to them."""

import asyncio

import pytest

from potluck.errors import NetworkError
from potluck.p2p import reception
from potluck.p2p.reception import MAX_LOOKS, Origins, disconnect_strangers, origin, relays_in
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError


@pytest.mark.parametrize(
    ("addr", "expected"),
    [
        ("/ip4/192.0.2.7/tcp/4001", "192.0.2.7"),
        ("/ip4/192.0.2.7/tcp/4001/p2p/12D3KooX/p2p-circuit", "192.0.2.7"),
        ("/ip6/2001:db8:1:2:3:4:5:6/udp/1/quic", "2001:db8:1:2::/64"),
        ("/p2p-circuit", ""),
        ("/ip4", ""),
        ("", ""),
    ],
)
def test_an_address_is_an_ip_or_the_network_of_a_household(addr: str, expected: str) -> None:
    assert origin(addr) == expected


async def test_all_who_come_together_cost_one_question() -> None:
    asked = 0

    async def list_peers() -> dict[PeerId, tuple[str, ...]]:
        nonlocal asked
        asked += 1
        return {PeerId(f"{number}"): (f"/ip4/192.0.2.{number}/tcp/1",) for number in range(asked * 50)}

    origins = Origins(list_peers)
    assert await origins.of(PeerId("1")) == "192.0.2.1"
    found = await asyncio.gather(*(origins.of(PeerId(f"{number}")) for number in range(100)))
    assert found == [f"192.0.2.{number}" for number in range(100)]
    assert asked == 2


ANA, EVE, RELAY = PeerId("12D3ana"), PeerId("12D3eve"), PeerId("12D3relay")


def test_the_relay_is_the_last_peer_before_the_circuit() -> None:
    relayed = f"/ip4/192.0.2.1/tcp/1/p2p/{RELAY}/p2p-circuit"
    direct = "/ip4/192.0.2.2/tcp/1"
    assert relays_in({ANA: [direct], EVE: [direct, relayed, relayed + f"/p2p/{EVE}"]}) == {RELAY}
    assert relays_in({ANA: ["/p2p-circuit", direct]}) == set()


async def _ended(
    monkeypatch: pytest.MonkeyPatch, looks: list[dict[PeerId, list[str]] | None], asked: list[PeerId]
) -> list[PeerId]:
    """Return whom `disconnect_strangers` disconnects in these looks; all but EVE are known."""
    monkeypatch.setattr(reception, "INTERVAL_S", 0.0)
    ended: list[PeerId] = []

    async def neighbours() -> dict[PeerId, list[str]]:
        if not looks:
            raise asyncio.CancelledError
        seen = looks.pop(0)
        if seen is None:
            raise NetworkError("p2pd is being started anew")
        return seen

    async def disconnect(peer: PeerId) -> None:
        ended.append(peer)

    async def ask(peer: PeerId) -> None:
        asked.append(peer)
        raise RemoteError(Code.UNREACHABLE, "gone")

    with pytest.raises(asyncio.CancelledError):
        await disconnect_strangers(neighbours, lambda peer: peer != EVE, disconnect, ask)
    return ended


async def test_a_relay_in_use_is_asked_at_each_look_and_a_stranger_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = {ANA: [f"/ip4/192.0.2.1/tcp/1/p2p/{RELAY}/p2p-circuit"], RELAY: ["/ip4/192.0.2.1/tcp/1"], EVE: [""]}
    asked: list[PeerId] = []
    assert await _ended(monkeypatch, [*[connected] * MAX_LOOKS, None, connected], asked) == [EVE, EVE]
    assert asked == [RELAY] * (MAX_LOOKS + 1)


async def test_looks_are_counted_anew_for_a_peer_that_left(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [*[{EVE: [""]}] * (MAX_LOOKS - 1), {}, *[{EVE: [""]}] * (MAX_LOOKS - 1)]
    assert await _ended(monkeypatch, [*looks], []) == []
