"""`gateway.*` of the control API."""

from __future__ import annotations

import secrets
from dataclasses import replace

from potluck_control.gateway_messages import GatewayOpening
from potluck_control.method import Empty
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayState, GatewayStatus, StartParams
from potluck_control.resources import bundled_checkpoint

from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck_daemon.configuration import Configuration
from potluck_daemon.supervisor.gateway import Gateway
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.topics.topic import Topic, answers

_TOKEN_BYTES = 32
_RUNS = (GatewayState.STARTING, GatewayState.READY)


class GatewayTopic(Topic):
    def __init__(self, configuration: Configuration, supervisor: Supervisor) -> None:
        self._configuration = configuration
        self._supervisor = supervisor
        self._gateway = Gateway()

    @answers(gateway.START)
    async def _start(self, params: StartParams) -> GatewayStatus:
        """Start a gateway, unless one runs for the same swarm. One that runs for another swarm ends."""
        configuration = self._configuration
        name = params.swarm or (configuration.swarm.name if configuration.swarm is not None else None)
        membership = configuration.swarms.find(name)
        now = self._gateway.status
        if now.state in _RUNS and now.swarm == membership.swarm.name:
            return now
        opening = self._opening(membership)
        await self._gateway.stop()
        idle_s = configuration.settings.chat.end_after_s
        self._gateway.start(
            configuration.engine_python, configuration.engine_environment(), opening, end_after_s=idle_s
        )
        return self._gateway.status

    def _opening(self, membership: Membership) -> GatewayOpening:
        """Return what the gateway is to open. Raises UsageError for a swarm that nobody can find yet."""
        configuration, swarm = self._configuration, membership.swarm
        is_served = configuration.swarm is not None and configuration.swarm.name == swarm.name
        if is_served:
            swarm = configuration.invited_swarm(self._supervisor.addresses)
        if not swarm.bootstrap_peers:
            raise UsageError(f"the swarm {swarm.name} cannot be found", hint="serve it, or ask a member for an invite")
        settings = configuration.settings
        folder = settings.serve.checkpoint if is_served else ""
        return GatewayOpening(
            membership=replace(membership.for_client(), swarm=swarm),
            token=secrets.token_urlsafe(_TOKEN_BYTES),
            checkpoint=folder or str(bundled_checkpoint(swarm.model) or swarm.model),
            max_tokens=settings.chat.max_tokens,
            socket=str(configuration.places.socket),
            find_nearby=settings.serve.find_nearby,
        )

    @answers(gateway.STOP)
    async def _stop(self, _: Empty) -> GatewayStatus:
        await self._gateway.stop()
        return self._gateway.status

    @answers(gateway.STATUS)
    async def _status(self, _: Empty) -> GatewayStatus:
        return self._gateway.status

    async def close(self) -> None:
        await self._gateway.stop()
