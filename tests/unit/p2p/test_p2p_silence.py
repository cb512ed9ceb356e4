import asyncio

import pytest

from potluck.errors import NetworkError
from potluck.p2p import reception
from potluck.p2p.reception import MAX_LOOKS, disconnect_strangers, relays_in
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError

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
