"""Connects an engine to the network: a host, the swarm's directory, and measurements of the links to other servers.

start: host and DHT -> directory -> answer measurements; `measure` begins own measurements; stop: in reverse. The caps
may be set at any time. Knows nothing of blocks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from potluck_control.launch_spec import LaunchSpec
from potluck_control.network_report import NetworkCaps, NetworkReport

from potluck.checkpoint.fetching import FETCHING
from potluck.directory import Directory, record_checks
from potluck.membership.gate import MembersGate, OnNews, ignore_news
from potluck.membership.identity import Identity
from potluck.membership.membership import read_all
from potluck.p2p.config import HostConfig
from potluck.p2p.joining import OnWaiting, ignore_waiting
from potluck.p2p.network import Host
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.tasks import cancel_and_wait
from potluck_engine.network_speed import NetworkSpeed
from potluck_engine.reachability import Reach, ReachFinding, is_local, start_reachable

log = logging.getLogger(__name__)

_BYTES_OF_MEGABIT = 125_000

Others = Callable[[], Awaitable[tuple[Iterable[LiveServer], Span | None]]]
"""Returns the servers to measure with, and the blocks that are served here."""


class ServingHost(Host, Protocol):
    """What an engine needs of its host."""

    identity: Identity
    members: MembersGate | None
    uploads: Pacer
    downloads: Pacer

    async def wait_lost(self) -> None: ...


StartHost = Callable[[HostConfig], Awaitable[ServingHost]]


class Node:
    """One engine's node: `host`, `directory` and `speed` exist between `start` and `stop`."""

    host: ServingHost
    directory: Directory
    speed: NetworkSpeed

    def __init__(
        self,
        config: LaunchSpec,
        start_host: StartHost | None = None,
        on_news: OnNews = ignore_news,
        on_waiting: OnWaiting = ignore_waiting,
    ) -> None:
        self._on_news = on_news
        self.on_waiting = on_waiting
        self.is_joined = False
        self._config = config
        self._start_host = start_host or self._start_libp2p
        self._finding = ReachFinding()
        self._caps = NetworkCaps()
        self._measuring: asyncio.Task[None] | None = None

    @property
    def peer_id(self) -> PeerId:
        return self.host.peer_id

    async def start(self) -> None:
        """Join the network, however long that takes. Raises PotluckError where waiting doesn't help."""
        config, host_config = self._config, self._host_config()
        self.host = host = await self._start_host(host_config)
        log.info("joined the network")
        self.directory = Directory(host, config.swarm, host.identity)
        is_alone = is_local(host_config)  # traffic within one machine says nothing about a link
        is_relayed = self._finding.reach is Reach.RELAYED
        self.speed = NetworkSpeed(host, given_mbps=config.link_mbps, is_relayed=is_relayed, exchanges=not is_alone)
        self.is_joined = True
        self.limit(self._caps)
        await self.directory.start_gossip()
        await self.speed.serve()

    def measure(self, others: Others) -> None:
        """Begin to measure the links to `others`, unless that runs already."""
        if self._measuring is None:
            self._measuring = asyncio.create_task(self.speed.run(others))

    async def stop_measuring(self) -> None:
        await cancel_and_wait(self._measuring)

    async def stop(self) -> bool:
        """Leave the network. Return whether it was joined. Idempotent."""
        was_joined, self.is_joined = self.is_joined, False
        if was_joined:
            await self.directory.stop()
            await self.host.close()
        return was_joined

    def publish(self, statements: Iterable[bytes]) -> None:
        """Tell the swarm what was signed on this computer about its members."""
        members = self.host.members if self.is_joined else None
        if members is not None:
            members.publish(read_all(members.roster.swarm_key, statements))

    def limit(self, caps: NetworkCaps) -> None:
        """Keep to these caps from now on, also while the node starts."""
        self._caps = caps
        FETCHING.cap_bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
        if self.is_joined:
            self.host.uploads.bytes_s = caps.upload_mbps * _BYTES_OF_MEGABIT
            self.host.downloads.bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
            self.speed.cap_mbps = caps.upload_mbps
            self.speed.may_exchange = caps.may_measure

    def report(self) -> NetworkReport:
        """Return what is known about the network."""
        report = NetworkReport(self._finding.reach, self._finding.num_asked, self._finding.num_reached)
        return self.speed.completed(report) if self.is_joined else report

    def _host_config(self) -> HostConfig:
        config = self._config
        return HostConfig(
            membership=config.membership,
            on_news=self._on_news,
            identity_path=config.identity_path,
            listen_addrs=config.listen,
            announce_addrs=config.announce,
            bootstrap_peers=config.swarm.bootstrap_peers,
            record_checks=record_checks(config.swarm, time.time),
            runtime_dir=config.runtime_dir,
            relays_for_others=config.relay_for_others,
            patience_s=math.inf,
            on_waiting=self.on_waiting,
        )

    async def _start_libp2p(self, config: HostConfig) -> ServingHost:
        host, self._finding = await start_reachable(config)
        return host
