"""Where strangers come from, with few questions to p2pd."""

import asyncio

import pytest

from potluck.p2p.reception import Origins, origin
from potluck.protocol.blocks import PeerId


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
