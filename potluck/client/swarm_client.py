"""Starts and stops one client of a swarm: its thread, its network node and its knowledge of the servers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

import numpy as np

from potluck.client.audits.auditing import Audits
from potluck.client.calls import Calls
from potluck.client.config import ClientConfig
from potluck.client.loop import LoopThread
from potluck.client.servers import Servers
from potluck.client.session.inference_session import InferenceSession
from potluck.client.session.replacements import Replacements
from potluck.client.tuning.own_adapters import OwnAdapter
from potluck.client.tuning.passes import StatelessPasses
from potluck.directory.seal import record_checks
from potluck.errors import NetworkError, PotluckError
from potluck.membership.joined import remember, remember_met
from potluck.membership.membership import Membership
from potluck.p2p.network import Host, HostConfig
from potluck.protocol.blocks import Span
from potluck.tasks import BackgroundTasks, in_thread

_log = logging.getLogger(__name__)

HostFactory = Callable[[Membership, ClientConfig], Coroutine[Any, Any, Host]]

_GOODBYE_S = 3.0  # time to tell the servers that sessions end
_RESTART_AGAIN_S = 2.0


class SwarmClient:
    """The client behind one model. `start` and `close` may be called from any thread, in this order."""

    servers: Servers
    calls: Calls
    passes: StatelessPasses
    audits: Audits

    def __init__(
        self,
        membership: Membership,
        config: ClientConfig,
        start_host: HostFactory | None = None,
        *,
        block_parameters: tuple[int, ...] = (),
        has_experts: bool = False,
        rng: np.random.Generator | None = None,
    ) -> None:
        """Store what `start` needs.

        Args:
            block_parameters: the number of parameters of each block, for receipts; empty: nothing is signed.
            has_experts: whether the model sends tokens to some of its experts, for audits.
            rng: draws routes and rounds gradients; None: a new one.
        """
        self.swarm = membership.swarm
        self._membership = membership
        self.config = config
        self._start_host = start_host or _start_libp2p
        self._block_parameters = block_parameters
        self._has_experts = has_experts
        self._rng = rng or np.random.default_rng()
        self._loop = LoopThread()
        self.run = self._loop.run  # runs work in the loop; the calling thread waits
        self.post = self._loop.post  # calls a function in the loop soon
        self._background = BackgroundTasks()  # ends of sessions
        self._parts = AsyncExitStack()  # parts that have been started
        self._is_closed = False

    def start(self) -> None:
        """Join the swarm. Raises NetworkError if no member answers."""
        self._loop.start()
        self._loop.run(self._start())

    def run_soon(self, make_work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run work in the client's loop without waiting; callable from finalisers, in any thread."""
        self._loop.post(lambda: self._background.start(make_work()))

    def new_session(
        self,
        max_length: int,
        *,
        span: Span | None = None,
        may_grow: bool = False,
        config: ClientConfig | None = None,
        adapter: OwnAdapter | None = None,
        sharing: str = "",
    ) -> InferenceSession:
        """Return a session of at most `max_length` tokens a row; its first step opens it.

        Args:
            span: the blocks; None takes all.
            may_grow: whether a full session is opened again with more room.
            config: its own; None takes the client's.
            adapter: the caller's own adapter as it is now.
            sharing: servers share beginnings only among sessions with the same text.
        """
        config, prefix = config or self.config, self.swarm.prefix
        audits = None if adapter is not None else self.audits  # no other server has the adapter
        others = Replacements(self.servers, self.calls, config, prefix, max_length, adapter, sharing)
        return InferenceSession(others, span or Span(0, self.swarm.num_blocks), audits, may_grow=may_grow)

    def close(self) -> None:
        """End all sessions, leave the swarm and stop the thread. Idempotent."""
        if self._is_closed or self._loop.is_elsewhere:
            return
        self._is_closed = True
        if self._loop.is_current:  # called by a finaliser that the garbage collector ran here
            self.run_soon(self._stop_and_leave)
            return
        try:
            self._loop.run(self._stop())
        except NetworkError:
            pass  # never started
        finally:
            self._loop.stop()

    async def _start(self) -> None:
        host, config = await self._start_host(self._membership, self.config), self.config
        self._parts.push_async_callback(host.close)
        watching = BackgroundTasks()
        watching.start(self._revive(host))
        self._parts.push_async_callback(watching.cancel)
        self.servers = Servers(host, self.swarm, config, self._rng)
        self.calls = Calls(host, self.swarm, config, self.servers.introduce, self._block_parameters)
        self._parts.push_async_callback(self.calls.close)
        seed = int(self._rng.integers(1 << 63))
        self.passes = StatelessPasses(self.servers, self.calls, config, self.swarm.prefix, seed=seed)
        self.audits = Audits(self.servers, self.calls, config, host, has_experts=self._has_experts)
        self._parts.push_async_callback(self.servers.stop)
        self._parts.push_async_callback(self.audits.close)
        await self.servers.start()

    async def _stop(self) -> None:
        await self._loop.end_calls()
        await self._background.wait(_GOODBYE_S)
        await self._background.cancel()
        await self._parts.aclose()

    async def _revive(self, host: Host) -> None:
        """Restart the node whenever it is lost. Sessions go on as after the loss of all their servers."""
        while True:
            await host.wait_lost()
            _log.warning("the peer-to-peer process ended and is started again")
            try:
                await host.restart()
            except PotluckError as error:
                _log.warning("the peer-to-peer process does not start: %s", error.message)
                await asyncio.sleep(_RESTART_AGAIN_S)

    async def _stop_and_leave(self) -> None:
        await self._stop()
        self._loop.stop()


async def _start_libp2p(membership: Membership, config: ClientConfig) -> Host:
    from potluck.p2p.libp2p import Libp2pHost

    return await Libp2pHost.start(
        HostConfig(
            membership=membership,
            on_news=in_thread(partial(remember, membership.swarm.name)),
            on_met=in_thread(partial(remember_met, membership.swarm.name)),
            bootstrap_peers=membership.swarm.bootstrap_peers,
            dht_client=True,
            finds_nearby=config.finds_nearby,
            record_checks=record_checks(membership.swarm, time.time),
            patience_s=config.max_wait_s,
            on_waiting=config.on_waiting,
        )
    )
