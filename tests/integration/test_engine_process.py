"""Engines as processes: how they start while members are dead or frozen, leave, and lose their p2pd."""

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest
from helpers.golden import CHECKPOINT
from potluck_cli.overview import live_servers

from benchmarks.local_swarm import LocalProcess, LocalSwarm
from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.membership.invite import encode_invite
from potluck.membership.leadership import invite
from potluck.protocol.blocks import PeerId, Span

WAIT_S = 120.0


@pytest.fixture(scope="module")
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, [Span(0, 2)]) as made:
        yield made


def dead_address() -> str:
    return f"/ip4/127.0.0.1/tcp/9/p2p/{Identity.generate().peer_id}"


def invite_through(swarm: LocalSwarm, *addresses: str) -> str:
    founder = replace(swarm.membership, swarm=replace(swarm.swarm, bootstrap_peers=addresses))
    return encode_invite(invite(founder, time.time())[1])


def whole(process: LocalProcess) -> list[psutil.Process]:
    """The process and its p2pd."""
    top = psutil.Process(process.pid)
    family = [top, *top.children(recursive=True)]
    assert [each.name() for each in family[1:]] == ["p2pd"]
    return family


def stop(engine: LocalProcess) -> None:
    family = whole(engine)
    engine.ask_to_stop()
    assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []


def test_a_server_joins_through_any_member_and_waits_for_one_if_it_must(swarm: LocalSwarm) -> None:
    assert swarm.bootstrap is not None
    frozen, meeting = whole(swarm.bootstrap), swarm.swarm.bootstrap_peers
    server = swarm.engines[0]
    try:
        for process in frozen:
            process.suspend()
        unreachable = ("--swarm", invite_through(swarm, dead_address(), *meeting))
        stuck, given_up = [swarm.add_engine(Span(0, 4), options=unreachable) for _ in range(2)]
        for engine in (stuck, given_up):
            assert "no bootstrap peer answers" in engine.wait_event("waiting")["why"]
        stop(given_up)
        member = server.wait_online()["addresses"]
        one_of_three = invite_through(swarm, dead_address(), *meeting, *member)
        swarm.add_engine(Span(2, 4), options=("--swarm", one_of_three)).wait_online()
        assert stuck.is_alive
    finally:
        for process in frozen:
            process.resume()
    stuck.wait_online()
    assert stuck.events["waiting"]["why"] == ""


def test_an_engine_that_is_asked_to_stop_takes_its_p2pd_along_and_is_known_to_nobody(swarm: LocalSwarm) -> None:
    def servers() -> list[PeerId]:
        return [server.peer_id for server in asyncio.run(live_servers(swarm.membership))]

    leaving = swarm.add_engine(Span(2, 4))
    leaving.wait_online()
    assert leaving.peer_id in servers()
    stop(leaving)
    leaving.wait_event("offline")
    assert leaving.peer_id not in servers()


def test_an_engine_whose_p2pd_dies_fails_with_a_reason(swarm: LocalSwarm) -> None:
    engine = swarm.add_engine(Span(2, 4))
    engine.wait_online()
    _, p2pd = family = whole(engine)
    p2pd.kill()
    with pytest.raises(PotluckError, match="the peer-to-peer process ended unexpectedly"):
        engine.wait_event("failed")
    assert psutil.wait_procs(family, timeout=WAIT_S)[1] == []
