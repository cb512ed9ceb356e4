"""Servers that start while members they were told of are dead or frozen: real processes on loopback."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import psutil
import pytest
from helpers.golden import CHECKPOINT

from benchmarks.local_swarm import LocalProcess, LocalSwarm
from potluck.membership.identity import Identity
from potluck.membership.invite import encode_invite
from potluck.membership.leadership import invite
from potluck.protocol.blocks import Span


@pytest.fixture
def swarm() -> Iterator[LocalSwarm]:
    with LocalSwarm(CHECKPOINT, [Span(0, 2)]) as made:
        yield made


def dead_address() -> str:
    return f"/ip4/127.0.0.1/tcp/9/p2p/{Identity.generate().peer_id}"


def invite_through(swarm: LocalSwarm, *addresses: str) -> str:
    founder = replace(swarm.membership, swarm=replace(swarm.swarm, bootstrap_peers=addresses))
    return encode_invite(invite(founder, time.time())[1])


def whole(process: LocalProcess) -> list[psutil.Process]:
    top = psutil.Process(process.pid)
    return [top, *top.children(recursive=True)]


def test_a_server_joins_through_any_member_and_waits_for_one_if_it_must(swarm: LocalSwarm) -> None:
    assert swarm.bootstrap is not None
    frozen, meeting = whole(swarm.bootstrap), swarm.swarm.bootstrap_peers
    (server,) = swarm.engines
    try:
        for process in frozen:
            process.suspend()
        stuck = swarm.add_engine(Span(0, 4), options=("--swarm", invite_through(swarm, dead_address(), *meeting)))
        assert "no bootstrap peer answers" in stuck.wait_event("waiting")["why"]
        member = server.wait_online()["addresses"]
        one_of_three = invite_through(swarm, dead_address(), *meeting, *member)
        swarm.add_engine(Span(2, 4), options=("--swarm", one_of_three)).wait_online()
        assert stuck.is_alive
    finally:
        for process in frozen:
            process.resume()
    stuck.wait_online()
    assert stuck.events["waiting"]["why"] == ""
