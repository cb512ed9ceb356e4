"""People join a public swarm for work. One is removed: all nodes refuse them, one that was away too, until they pay."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import torch
from helpers.directory_swarm import until
from helpers.golden import CHECKPOINT
from helpers.host_contract import PATIENCE_S

from benchmarks.setup.local_swarm import LocalSwarm
from potluck import AutoDistributedModelForCausalLM
from potluck.directory.directory import Directory
from potluck.directory.seal import record_checks
from potluck.errors import PotluckError
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import confirm, remove, seats
from potluck.membership.members import Person
from potluck.membership.membership import Membership
from potluck.membership.records import Content, EndInvite
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.wire.protocols import QUOTE

_REMOVED_WITHIN_S = 60.0


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
            patience_s=PATIENCE_S,
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
    return {server.peer_id for server in await Directory(host, membership.swarm, everybody=True).fetch()}


def person(host: Libp2pHost, name: str) -> Person:
    assert host.members is not None
    members = host.members.roster
    return next(each for each in (*members.people.values(), *members.guests.values()) if each.name == name)


def known_to(host: Libp2pHost, membership: Membership) -> Membership:
    """Return a membership with all that a node knows of the members."""
    assert host.members is not None
    return membership.knowing(host.members.roster)


def decide(swarm: LocalSwarm, founder: Libp2pHost, contents: list[Content]) -> None:
    """Have the founder decide something, and a node of theirs tell it."""
    assert founder.members is not None
    founder.members.publish(entry.data for entry in swarm.lead(contents))


def generated(membership: Membership) -> set[PeerId]:
    """Generate some tokens through the swarm; return the servers that took part."""
    with AutoDistributedModelForCausalLM.from_pretrained(str(CHECKPOINT), swarm=membership) as model:
        model.generate(torch.arange(3, 10)[None], max_new_tokens=3, pad_token_id=0)
        return {hop.peer_id for hop in model.last_route()[0].hops}


async def test_a_guest_computes_before_a_leader_confirms_them_and_then_as_a_member(tmp_path: Path) -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as swarm:
        joined = JoinedSwarms(tmp_path / "swarms.json", tmp_path / "identity.key")
        eve = joined.join(swarm.invite, name="Eve")
        async with node(swarm.membership) as founder:
            assert await asyncio.to_thread(generated, eve) == {swarm.engines[0].peer_id}
            async with node(eve.for_node(), tmp_path / "identity.key") as host, asyncio.timeout(_REMOVED_WITHIN_S):
                assert founder.members is not None
                members = founder.members.roster
                await until(lambda: bool(members.guests))  # the application travels
                guest = person(founder, "Eve")
                assert guest.is_guest
                assert host.members is not None
                decide(swarm, founder, [confirm(guest)])
                await until(lambda: host.members is not None and guest.key in host.members.roster.people)
                assert not joined.learn(swarm.swarm.name, known_to(host, eve).records).members().guests


async def test_somebody_whose_invite_ended_or_who_was_removed_comes_in_with_another_invite(tmp_path: Path) -> None:
    def invite() -> tuple[str, bytes]:
        assert founder.members is not None
        offer, seed = seats(time.time())
        entries = swarm.lead([offer])
        founder.members.publish(entry.data for entry in entries)
        return encode_invite(Invite(swarm.swarm, seed, entries[-1].data)), offer.invite

    with LocalSwarm(CHECKPOINT, [Span(0, 4)]) as swarm:
        joined = JoinedSwarms(tmp_path / "swarms.json", tmp_path / "identity.key")
        async with node(swarm.membership) as founder:
            text, key = invite()
            eve = joined.join(text, name="Eve")
            decide(swarm, founder, [EndInvite(key)])
            with pytest.raises(PotluckError, match="the invite was ended"):
                async with node(eve.for_node(), tmp_path / "identity.key"):
                    pass
            eve = joined.join(invite()[0])
            async with node(eve.for_node(), tmp_path / "identity.key") as host, asyncio.timeout(_REMOVED_WITHIN_S):
                await until(lambda: founder.members is not None and bool(founder.members.roster.guests))
                decide(swarm, founder, [confirm(person(founder, "Eve"))])
                assert host.members is not None
                before, members = person(founder, "Eve"), host.members.roster
                await until(lambda: before.key in members.people)
                eve = joined.learn(swarm.swarm.name, known_to(host, eve).records)
            assert founder.members is not None
            decide(swarm, founder, remove(swarm.membership, founder.members.roster, before))
            assert await is_refused(eve)
            joined.learn(swarm.swarm.name, (record.data for record in founder.members.roster))
            eve = joined.join(invite()[0])
            assert eve.person_public != before.key
            async with node(eve.for_node(), tmp_path / "identity.key"), asyncio.timeout(_REMOVED_WITHIN_S):
                await until(lambda: founder.members is not None and bool(founder.members.roster.guests))


async def test_a_newcomer_of_a_public_swarm_serves_on_probation_and_after_a_removal_is_refused_by_everybody() -> None:
    with LocalSwarm(CHECKPOINT, [Span(0, 2)], is_public=True) as swarm:
        bob, _ = swarm.join("Bob")
        bobs_engine = swarm.add_engine_of("Bob", Span(2, 4))
        await asyncio.to_thread(bobs_engine.wait_online)
        ours, bobs = swarm.engines[0].peer_id, bobs_engine.peer_id
        eve, eves_key = swarm.join("Eve")
        async with node(eve.for_node(), eves_key) as host:
            assert host.is_on_probation(bobs)
            assert not host.is_on_probation(ours)
            eve, bob = known_to(host, eve), known_to(host, bob)
        assert await asyncio.to_thread(generated, eve) == {ours, bobs}
        assert not await is_refused(bob)

        async with node(swarm.membership) as founder:
            assert {ours, bobs} <= await servers_seen(founder, swarm.membership)
            assert founder.members is not None
            decide(swarm, founder, remove(swarm.membership, founder.members.roster, person(founder, "Bob")))
            async with asyncio.timeout(_REMOVED_WITHIN_S):
                while not await is_refused(bob) or bobs in await servers_seen(founder, swarm.membership):
                    pass  # both have waited for the network
            with pytest.raises(RemoteError) as refused:
                await founder.call(bobs, QUOTE, b"", timeout_s=10.0)
            assert refused.value.code is Code.NOT_A_MEMBER

        async with node(eve.for_node(), eves_key) as back:
            assert await is_refused(bob, (await back.addresses())[:1])
        replacement = swarm.add_engine(Span(2, 4))
        await asyncio.to_thread(replacement.wait_online)
        assert await asyncio.to_thread(generated, eve) == {ours, replacement.peer_id}
