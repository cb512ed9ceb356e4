"""Somebody joins a public swarm for work, serves and generates on probation, is removed, and pays to come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch
from helpers.golden import CHECKPOINT

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.directory import record_checks
from potluck.errors import PotluckError
from potluck.membership import gate
from potluck.membership.leadership import remove
from potluck.membership.membership import Membership
from potluck.membership.work import work
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.protocol.blocks import PeerId, Span

_BITS = 5  # some tries


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, [Span(0, 2)], public_bits=_BITS) as made:
        yield made


@pytest.fixture
def worked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The prices of the work that nodes of this process did."""
    prices: list[int] = []

    def noted(challenge: bytes, bits: int, **options: object) -> bytes | None:
        prices.append(bits)
        return work(challenge, bits, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gate, "work", noted)
    return prices


@asynccontextmanager
async def node(membership: Membership, identity: Path | None = None) -> AsyncIterator[Libp2pHost]:
    swarm = membership.swarm
    host = await Libp2pHost.start(
        HostConfig(
            membership=membership,
            identity_path=identity,
            bootstrap_peers=swarm.bootstrap_peers,
            record_checks=record_checks(swarm, time.time),
            patience_s=30.0,
        )
    )
    try:
        yield host
    finally:
        await host.close()


async def stay_for(seconds: float, membership: Membership) -> None:
    """Start nodes of a client one after the other."""
    async with asyncio.timeout(seconds):
        while True:
            async with node(membership.for_client()):
                await asyncio.sleep(0.2)


def generated(swarm: LocalSwarm, membership: Membership) -> set[PeerId]:
    """Generate some tokens through the swarm; return the servers that took part."""
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=membership) as model:
        model.generate(torch.arange(3, 10)[None], max_new_tokens=3, pad_token_id=0)
        return {hop.peer_id for hop in model.last_route()[0].hops}


async def test_a_newcomer_pays_serves_on_probation_and_pays_again_after_a_removal(
    swarm: LocalSwarm, worked: list[int]
) -> None:
    swarm.join("Bob")
    bobs_engine = swarm.add_engine_of("Bob", Span(2, 4))
    await asyncio.to_thread(bobs_engine.wait_online)
    bob = bobs_engine.peer_id
    eve, eves_key = swarm.join("Eve")
    async with node(eve.for_node(), eves_key) as host:
        assert worked == [_BITS]
        assert host.members is not None
        assert {person.name for person in host.members.roster.people} >= {"Bob", "Eve"}
        assert host.is_on_probation(bob)
        assert not host.is_on_probation(swarm.engines[0].peer_id)
        eve = eve.with_statements(list(host.members.roster), time.time())
    assert await asyncio.to_thread(generated, swarm, eve) == {swarm.engines[0].peer_id, bob}
    assert worked == [_BITS]  # members pay once

    async with node(swarm.membership) as founder:
        assert founder.members is not None
        known = swarm.membership.with_statements(list(founder.members.roster), time.time())
        person = next(each for each in founder.members.roster.people if each.name == "Eve")
        founder.members.publish(remove(known, person, time.time()))
        with pytest.raises(PotluckError, match="removed from the swarm"):
            await stay_for(60.0, eve)
    again, key = swarm.join("Eve again")
    async with node(again.for_node(), key) as host:
        assert worked == [_BITS] * 2
        assert host.members is not None
        assert next(each for each in host.members.roster.people if each.name == "Eve again").is_on_probation(
            time.time()
        )
