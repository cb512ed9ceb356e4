"""Two people join by invite through a meeting point. One is removed; all nodes refuse them, one that was away too."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch
from helpers.golden import CHECKPOINT

from benchmarks.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.directory import Directory, record_checks
from potluck.errors import PotluckError
from potluck.membership.leadership import remove
from potluck.membership.membership import Membership
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.protocols import INFO

log = logging.getLogger(__name__)

_REMOVED_WITHIN_S = 60.0


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as made:
        yield made


@asynccontextmanager
async def node(
    membership: Membership, identity: Path | None = None, bootstrap_peers: tuple[str, ...] = ()
) -> AsyncIterator[Libp2pHost]:
    swarm = membership.swarm
    host = await Libp2pHost.start(
        HostConfig(
            membership=membership,
            identity_path=identity,
            bootstrap_peers=bootstrap_peers or swarm.bootstrap_peers,
            record_checks=record_checks(swarm, time.time),
            patience_s=30.0,
        )
    )
    try:
        yield host
    finally:
        await host.close()


async def is_refused(membership: Membership, bootstrap_peers: tuple[str, ...] = ()) -> bool:
    try:
        async with node(membership.for_client(), bootstrap_peers=bootstrap_peers):
            return False
    except PotluckError as error:
        return "removed from the swarm" in error.message


async def servers_seen(host: Libp2pHost, membership: Membership) -> set[PeerId]:
    return {server.peer_id for server in (await Directory(host, membership.swarm, everybody=True).fetch()).servers}


async def test_a_removed_member_is_refused_by_everybody_and_nobody_else_notices(swarm: LocalSwarm) -> None:
    bob, _ = swarm.join("Bob")
    eve, eves_key = swarm.join("Eve")
    bobs_engine = swarm.add_engine_of("Bob", Span(0, 4))
    await asyncio.to_thread(bobs_engine.wait_online)
    async with node(eve.for_node(), eves_key) as host:
        assert host.members is not None
        eve = eve.with_statements(list(host.members.roster), time.time())
        assert {"Bob", "Eve"} <= {person.name for person in host.members.roster.people}
    assert not await is_refused(bob)

    async with node(swarm.membership) as founder:
        ours, bobs = swarm.engines[0].peer_id, bobs_engine.peer_id
        assert founder.members is not None
        assert {ours, bobs} <= await servers_seen(founder, swarm.membership)
        known = swarm.membership.with_statements(list(founder.members.roster), time.time())
        person = next(each for each in founder.members.roster.people if each.name == "Bob")
        founder.members.publish(remove(known, person, time.time()))
        async with asyncio.timeout(_REMOVED_WITHIN_S):
            while not await is_refused(bob) or bobs in await servers_seen(founder, swarm.membership):
                log.info("the removal is not known everywhere yet")
                await asyncio.sleep(0.2)
        with pytest.raises(RemoteError) as refused:
            await founder.call(bobs, INFO, b"", timeout_s=10.0)
        assert refused.value.code is Code.NOT_A_MEMBER

    async with node(eve.for_node(), eves_key) as back:
        assert await is_refused(bob, (await back.addresses())[:1])

    prompt = torch.arange(3, 10)[None]
    with await asyncio.to_thread(
        AutoDistributedModelForCausalLM.from_pretrained, str(CHECKPOINT), swarm=swarm.membership
    ) as model:
        await asyncio.to_thread(model.generate, prompt, max_new_tokens=3, pad_token_id=0)
        assert {hop.peer_id for hop in model.last_route()[0].hops} == {ours}
