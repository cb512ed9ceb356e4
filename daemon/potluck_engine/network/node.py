"""Connects an engine to the network: a host, the swarm's directory, and measurements of the links to other servers.

`start` starts the host and its DHT, then the directory, and then answers measurements. `measure` begins measurements of
its own, and `stop` ends everything in reverse order. Caps may be set at any time. A node knows nothing about blocks.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Protocol

from potluck_control.processes.engine_report import NetworkCaps, NetworkReport, Reach
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.checkpoint.fetching import FETCHING
from potluck.directory.directory import Directory
from potluck.directory.seal import record_checks
from potluck.errors import PotluckError
from potluck.p2p.listening import with_free_ports
from potluck.p2p.network import HostConfig
from potluck.p2p.pacing import Pacer
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_engine.network.link_speed import NetworkSpeed
from potluck_engine.network.reachability import (
    DialledHost,
    Reachability,
    needed_relays,
    pauses_s,
    start_reachable,
)
from potluck_engine.weights.member_files import MemberFiles, SharedWeights, file_of_model, known_manifests

log = logging.getLogger(__name__)

_BYTES_OF_MEGABIT = 125_000

Others = Callable[[], Awaitable[tuple[Iterable[LiveServer], Span | None]]]
"""Returns the servers to measure the links to, and the blocks that are served here."""


class ServingHost(DialledHost, Protocol):
    """The host of an engine."""

    uploads: Pacer
    downloads: Pacer

    async def wait_lost(self) -> None: ...

    async def move(self, relays: tuple[str, ...]) -> None: ...


StartHost = Callable[[HostConfig], Awaitable[ServingHost]]


class Node:
    """One engine's node: `host`, `directory` and `speed` exist between `start` and `stop`."""

    host: ServingHost
    directory: Directory
    speed: NetworkSpeed
    sharing: SharedWeights | None = None  # None if the swarm pins no files
    _member_files: MemberFiles

    def __init__(
        self,
        config: LaunchSpec,
        start_host: StartHost | None = None,
        callbacks: HostConfig = HostConfig(),  # noqa: B008 (frozen)
    ) -> None:
        """Prepare a node. `callbacks` has only the callbacks of the host's configuration; `config` has the rest."""
        self._callbacks = callbacks
        self.on_waiting = callbacks.on_waiting
        self.is_joined = False
        self._has_shared = asyncio.Event()  # set when `_member_files` exists; never if the swarm pins no files
        self.taken: tuple[str, ...] = ()  # the addresses to listen at whose port another program had
        self._config = config
        self._start_host = start_host or self._start_libp2p
        self._reachability: Reachability | None = None  # None in tests with a fake network
        self._caps = NetworkCaps()
        self._measuring: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    @property
    def peer_id(self) -> PeerId:
        return self.host.peer_id

    async def start(self) -> None:
        """Join the network, however long that takes. Raises PotluckError if waiting doesn't help."""
        config, host_config = self._config, self._host_config()
        listens = zip(config.listen, host_config.listen_addrs, strict=True)
        self.taken = tuple(wanted for wanted, given in listens if wanted != given)
        self.host = host = await self._start_host(host_config)
        log.info("joined the network")
        self.directory = Directory(host, config.swarm, host.identity)
        is_alone = host_config.is_alone  # traffic within one machine says nothing about a link
        is_relayed = self.report().reach is Reach.RELAYED
        given_mbps = config.serve.link_mbps
        self.speed = NetworkSpeed(host, given_mbps=given_mbps, is_relayed=is_relayed, exchanges=not is_alone)
        self.is_joined = True
        if config.swarm.weights:
            await self._share_weights()
        self.limit(self._caps)
        await self.directory.start_gossip()
        await self.speed.serve()

    async def member_files(self) -> MemberFiles:
        """Wait until the node has joined, and return the access to members' files of the swarm's model."""
        await self._has_shared.wait()
        return self._member_files

    async def _share_weights(self) -> None:
        """Begin to serve the files of the model to members, and to fetch them from members."""
        weights = self._config.swarm.weights
        self.sharing = SharedWeights(self.host, weights, partial(file_of_model, self._config), known_manifests())
        await self.sharing.serve()
        self._member_files = MemberFiles(self.host, weights, self._members)
        self._has_shared.set()

    async def _members(self) -> Iterable[PeerId]:
        """Return members' computers that may have files: servers, and standby nodes that this node has met."""
        servers: list[PeerId] = []
        with contextlib.suppress(PotluckError):
            servers = [server.peer_id for server in await self.directory.fetch()]
        met = self.host.members.computers() if self.host.members is not None else []
        return dict.fromkeys((*servers, *met))

    def measure(self, others: Others) -> None:
        """Begin to measure the links to `others`, unless that has begun."""
        if self._measuring is None:
            self._measuring = start_task(keep_running("measuring the network", partial(self.speed.run, others)))

    def watch_reach(self, wait_idle: Callable[[], Awaitable[bool]], on_moved: Callable[[], Awaitable[None]]) -> None:
        """Begin to find out now and then whether others can dial this node, unless that has begun.

        Args:
            wait_idle: returns True once connections may end, so that the node can go behind a relay or come out; False:
                it should try later.
            on_moved: called when it has moved.
        """
        if self._watching is None and self._reachability is not None and not self._host_config().is_alone:
            watch = partial(self._watch_reach, self._reachability, wait_idle, on_moved)
            self._watching = start_task(keep_running("finding out who can reach this computer", watch))

    async def stop_measuring(self) -> None:
        await cancel_and_wait(self._measuring, self._watching)

    async def stop(self) -> bool:
        """Leave the network. Return whether it was joined. Idempotent."""
        was_joined, self.is_joined = self.is_joined, False
        if was_joined:
            await self.directory.stop()
            await self.host.close()
        return was_joined

    def publish(self, records: Iterable[bytes]) -> None:
        """Publish records about members that were signed on this computer."""
        members = self.host.members if self.is_joined else None
        if members is not None:
            members.publish(records)

    def limit(self, caps: NetworkCaps) -> None:
        """Apply these caps from now on. The node need not have started."""
        self._caps = caps
        FETCHING.cap_bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
        if self.is_joined:
            self.host.uploads.bytes_s = caps.upload_mbps * _BYTES_OF_MEGABIT
            self.host.downloads.bytes_s = caps.download_mbps * _BYTES_OF_MEGABIT
            self.speed.cap_mbps = caps.upload_mbps
            self.speed.may_exchange = caps.may_measure
            if self.sharing is not None:
                self.sharing.may_share = caps.may_measure

    def report(self) -> NetworkReport:
        """Return a report on reachability and links."""
        found = NetworkReport() if self._reachability is None else self._reachability.finding
        return self.speed.completed(found) if self.is_joined else found

    async def _watch_reach(
        self,
        reachability: Reachability,
        wait_idle: Callable[[], Awaitable[bool]],
        on_moved: Callable[[], Awaitable[None]],
    ) -> None:
        """Find out again and again, and move the node, until others can dial it directly. That is not lost later."""
        pauses = pauses_s()
        while reachability.finding.reach is not Reach.DIRECT or self.speed.is_relayed:
            await asyncio.sleep(next(pauses))
            before = reachability.finding
            if (await reachability.find_out()).reach is Reach.UNKNOWN:
                reachability.finding = before
                continue
            try:
                relays = await needed_relays(self.host, self._host_config(), reachability)
                if bool(relays) != self.speed.is_relayed and await wait_idle():
                    log.info("%s dial this node now", "nobody can" if relays else "others can")
                    await self.host.move(relays)
                    self.speed.is_relayed = bool(relays)
                    await on_moved()
            except PotluckError as error:
                log.warning("the way into the network could not be changed: %s", error)

    def _host_config(self) -> HostConfig:
        config = self._config
        return replace(
            self._callbacks,
            membership=config.membership,
            identity_path=config.identity_path,
            listen_addrs=with_free_ports(config.listen) if config.may_move_port else config.listen,
            announce_addrs=config.announce,
            bootstrap_peers=config.swarm.bootstrap_peers,
            record_checks=record_checks(config.swarm, time.time),
            runtime_dir=config.runtime_dir,
            relays_for_others=config.serve.relay_for_others,
            finds_nearby=config.serve.find_nearby,
            patience_s=math.inf,
        )

    async def _start_libp2p(self, config: HostConfig) -> ServingHost:
        host, self._reachability = await start_reachable(config)
        return host
