"""When a node changes its way into the network."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.lone_engine import SWARM
from potluck_control.processes.engine_report import NetworkReport, Reach
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_engine.network import node as engine_node
from potluck_engine.network.node import Node
from potluck_engine.network.reachability import Reachability

from potluck.membership.membership import Membership
from potluck.protocol.blocks import PeerId

RELAYED, DIRECT = NetworkReport(Reach.RELAYED, 2, 0), NetworkReport(Reach.DIRECT, 2, 2)


class Host:
    """Counts how it is moved."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, ...]] = []

    async def neighbours(self) -> Mapping[PeerId, tuple[str, ...]]:
        return {PeerId("friend"): ("/ip4/45.45.7.2/tcp/31330",)}

    async def ping(self, peer: PeerId, *, timeout_s: float) -> float:
        return 0.01

    async def move(self, relays: tuple[str, ...]) -> None:
        self.moves.append(relays)


class Scripted(Reachability):
    """Finds out these things, one after the other."""

    def __init__(self, *findings: NetworkReport) -> None:
        self.finding, *self.findings = findings
        self.wants_vouching = False

    async def find_out(self) -> NetworkReport:
        self.finding = self.findings.pop(0)
        return self.finding


def at_once() -> Iterator[float]:
    while True:
        yield 0.0


async def watched(findings: list[NetworkReport], idle: list[bool], monkeypatch: pytest.MonkeyPatch) -> tuple[Host, int]:
    """Return the host and how often others were told, once the last finding is used up."""
    monkeypatch.setattr(engine_node, "pauses_s", at_once)
    node, host, told = (
        Node(LaunchSpec(Membership(SWARM), "", Path(), listen=("/ip4/0.0.0.0/tcp/0",))),
        Host(),
        list[int](),
    )
    node.host, node._reachability = host, Scripted(*findings)  # type: ignore[assignment]
    node.speed = SimpleNamespace(is_relayed=findings[0].reach is Reach.RELAYED)  # type: ignore[assignment]

    async def wait_idle() -> bool:
        return idle.pop(0)

    async def on_moved() -> None:
        told.append(1)

    node.watch_reach(wait_idle, on_moved)
    async with asyncio.timeout(10):
        await node._watching
    return host, len(told)


async def test_a_relayed_node_comes_out_once_it_is_reached_and_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    findings = [RELAYED, RELAYED, NetworkReport(), DIRECT, DIRECT]
    host, told = await watched(findings, [False, True], monkeypatch)
    assert host.moves == [()]
    assert told == 1


async def test_a_node_that_found_nobody_to_ask_is_relayed_later_and_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    host, told = await watched([NetworkReport(), RELAYED, DIRECT], [True, True], monkeypatch)
    assert host.moves == [("/ip4/45.45.7.2/tcp/31330/p2p/friend",), ()]
    assert told == 2
