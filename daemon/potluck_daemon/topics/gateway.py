"""`gateway.*` of the control API."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from potluck_control.gateway_messages import Open
from potluck_control.method import Empty
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.resources import bundled_checkpoint

from potluck.errors import UsageError
from potluck.protocol.invite import encode_invite
from potluck.protocol.swarm import Swarm
from potluck_daemon.control.server import Handler
from potluck_daemon.supervisor.gateway import Gateway
from potluck_daemon.swarms.joined import JoinedSwarms
from potluck_daemon.topics.topic import Topic

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

_TOKEN_BYTES = 32
_RUNS = (GatewayState.STARTING, GatewayState.READY)


class GatewayTopic(Topic):
    def __init__(self, daemon: Daemon) -> None:
        super().__init__(daemon)
        self._gateway = Gateway()

    def handlers(self) -> dict[str, Handler]:
        return {gateway.START.name: self._start, gateway.STOP.name: self._stop, gateway.STATUS.name: self._status}

    async def _start(self, params: StartParams) -> GatewayStatus:
        """One that runs for the same swarm is kept; another swarm takes its place."""
        daemon = self._daemon
        name = params.swarm or (daemon.swarm.name if daemon.swarm is not None else None)
        swarm = JoinedSwarms(daemon.places.swarms_file).find(name)
        now = self._gateway.status
        if now.state in _RUNS and now.swarm == swarm.name:
            return now
        wanted = self._wanted(swarm)
        await self._gateway.stop()
        idle_s = daemon.loaded.settings.chat.end_after_s
        self._gateway.start(daemon.engine_python, daemon.engine_environment(), wanted, end_after_s=idle_s)
        return self._gateway.status

    def _wanted(self, swarm: Swarm) -> Open:
        """Raises UsageError for a swarm that nobody can find yet."""
        daemon = self._daemon
        is_served = daemon.swarm is not None and daemon.swarm.name == swarm.name
        if is_served:
            swarm = daemon.invite()
        if not swarm.bootstrap_peers:
            raise UsageError(f"the swarm {swarm.name} cannot be found", hint="serve it, or ask a member for an invite")
        settings = daemon.loaded.settings
        folder = settings.serve.checkpoint if is_served else ""
        return Open(
            invite=encode_invite(swarm),
            token=secrets.token_urlsafe(_TOKEN_BYTES),
            checkpoint=folder or str(bundled_checkpoint(swarm.model) or swarm.model),
            max_tokens=settings.chat.max_tokens,
            socket=str(daemon.places.socket),
        )

    async def _stop(self, _: Empty) -> GatewayStatus:
        await self._gateway.stop()
        return self._gateway.status

    async def _status(self, _: Empty) -> GatewayStatus:
        return self._gateway.status

    async def close(self) -> None:
        await self._gateway.stop()
