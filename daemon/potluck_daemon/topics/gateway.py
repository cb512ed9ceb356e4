"""`gateway.*` of the control API."""

from __future__ import annotations

import asyncio
import errno
import math
import secrets
from contextlib import suppress
from dataclasses import replace
from functools import partial

from potluck_control.api.method import Empty
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayStatus, KeyList, KeyName, MadeKey, StartParams
from potluck_control.processes.gateway_messages import GatewayOpening, GatewaySwarm, gateway_url, remote_access_notice
from potluck_control.settings import GatewaySettings, Settings

from potluck.errors import NetworkError, PotluckError, UsageError
from potluck.membership.membership import Membership
from potluck.p2p.listening import require_free_ports, tcp_port, with_free_ports
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.host.listening import listening_problem, port_holder
from potluck_daemon.parts import Parts
from potluck_daemon.supervisor.failures import STABLE_AFTER_S, delay_s
from potluck_daemon.topics.topic import Topic, answers

_TOKEN_BYTES = 32
_LOOK_S = 0.1  # interval of checks for the addresses of an engine that starts


class GatewayTopic(Topic):
    """Starts and stops the gateway, and starts it again if it crashed or the settings want it to run always.

    `gateway.start` with `stays` and `gateway.stop` change these settings.
    """

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._gateway = parts.gateway
        self._changing = asyncio.Lock()  # held to start or stop it
        self._tries, self._retry_at = 0, 0.0  # Unix; infinite: its user stopped it, whatever the environment says
        self._was_wanted = False  # the settings wanted a gateway when they were last read

    @property
    def notice(self) -> Sentence:
        return self._gateway.found if self._gateway.audits.wrong else NOTHING

    def tick(self, now: float) -> None:
        """Start the gateway if one should run, and tell one that runs which swarms are joined."""
        gateway, wanted = self._gateway, self._configuration.settings.gateway
        if gateway.status.url and now > self._retry_at + STABLE_AFTER_S:
            self._tries = 0
        if wanted.start_with_daemon and not self._was_wanted:  # somebody has just switched the setting on
            self._retry_at = 0.0
        self._was_wanted = wanted.start_with_daemon
        if not gateway.is_over:
            self.tasks.start(self._update_swarms())
        elif (wanted.start_with_daemon or gateway.port) and now >= self._retry_at:
            self._tries += 1
            self._retry_at = now + delay_s(self._tries, explained=False)
            self.tasks.start(self._start_again(wanted.swarm if wanted.start_with_daemon else gateway.status.swarm))

    async def _start_again(self, swarm: str) -> None:
        try:
            await self._open(swarm, by_itself=True)
        except PotluckError as error:
            self._gateway.show_problem(error.whole)
            self._tries = max(self._tries - 1, 0)  # no process was started, so trying again costs little

    @answers(gateway.START)
    async def _start(self, params: StartParams) -> GatewayStatus:
        """Start a gateway, unless one runs for the same swarm and model. One that runs for another swarm ends."""
        self._tries, self._retry_at = 0, 0.0
        if params.stays:
            await self._make_permanent(params.swarm)
            self._was_wanted = True
        return await self._open(params.swarm)

    async def _make_permanent(self, swarm: str) -> None:
        """Set the gateway to run always, at a port that does not change. Raises UsageError, OSError."""
        configuration = self._configuration
        before = configuration.settings.gateway
        name, port = swarm or before.swarm, before.port or self._gateway.port or GatewaySettings().port
        configuration.find(name)
        if replace(before, start_with_daemon=True, swarm=name, port=port) != before:
            await configuration.change(
                {"gateway.start_with_daemon": True, "gateway.swarm": name or None, "gateway.port": port}
            )

    async def _open(self, swarm: str, *, by_itself: bool = False) -> GatewayStatus:
        async with self._changing:
            configuration, gateway, status = self._configuration, self._gateway, self._gateway.status
            if by_itself and self._retry_at == math.inf:  # its user stopped it meanwhile
                return status
            settings, wanted = configuration.settings, configuration.settings.gateway
            kept = wanted.swarm if wanted.swarm in configuration.swarms.load() else ""  # it may have been left
            membership = configuration.find(swarm or kept)
            name, model = membership.swarm.name, membership.swarm.model
            meant = gateway_url(wanted.address, wanted.port) if gateway.stays and wanted.port else status.url
            is_same = (status.swarm, status.model, status.url or meant) == (name, model, meant)
            if is_same and not gateway.is_over:
                return gateway.clear_problem()
            if gateway.stays and not gateway.is_over and name != status.swarm:
                text = sentence("the gateway stays for the swarm {name}", name=status.swarm)
                raise UsageError(text, hint=sentence("ask it for the other swarm's model, or: potluck gateway stop"))
            listening, notice = self._listening(wanted, stays=configuration.keeps_gateway(name))
            if not (configuration.serves(name) and self._supervisor.is_starting):
                self._offer(membership)  # refuses a swarm that nobody can find
            if not gateway.is_over:
                await gateway.stop()
            token = self._parts.memory.state.gateway_token or secrets.token_urlsafe(_TOKEN_BYTES)
            self._parts.memory.update(gateway_token=token)
            opening = partial(self._opening_soon, membership, replace(settings, gateway=listening))
            gateway.start(membership.swarm, opening, token, notice)
            return gateway.status

    def _listening(self, wanted: GatewaySettings, *, stays: bool) -> tuple[GatewaySettings, Sentence]:
        """Return the settings with the port to listen at, and a notice about who can reach it.

        Raises:
            UsageError: nothing may listen at the address, or another program has the port of a gateway that stays.
            NetworkError: this machine has no such address.
        """
        if problem := listening_problem("gateway", wanted.address, is_allowed=wanted.allow_remote):
            raise UsageError(problem)
        port, notice = wanted.port or self._gateway.port, remote_access_notice(wanted)
        address = f"/ip{6 if ':' in wanted.address else 4}/{wanted.address}/tcp/{port}"
        try:
            if self._gateway.is_over or port != self._gateway.port:
                require_free_ports([address])
        except NetworkError as error:
            if not isinstance(error.__cause__, OSError) or error.__cause__.errno != errno.EADDRINUSE:
                raise
            taken = sentence("port {number} (gateway.port) is taken by {holder}", number=port, holder=port_holder(port))
            if stays:  # programs would look for it there
                hint = sentence("end that program, or: potluck config set gateway.port NUMBER")
                raise UsageError(taken, hint=hint) from error
            taken = sentence("{what}, so this address is for now", what=taken)
            notice = sentence("{what}; {other}", what=taken, other=notice) if notice else taken
            port = tcp_port(with_free_ports([address]))
        return replace(wanted, port=port), notice

    async def _opening_soon(self, membership: Membership, settings: Settings) -> GatewayOpening:
        """Return what the gateway is to open. Wait for the addresses of an engine that starts. Raises UsageError."""
        while True:
            try:
                places = self._configuration.places
                return GatewayOpening(self._offered(membership), settings, str(places.socket), str(places.head_socket))
            except UsageError:
                if not self._supervisor.is_starting:
                    raise
            await asyncio.sleep(_LOOK_S)

    def _offered(self, first: Membership) -> tuple[GatewaySwarm, ...]:
        """Return the joined swarms, beginning with `first`. Raises UsageError if nobody can find that one yet."""
        offered = [self._offer(first)]
        for membership in self._configuration.swarms.load().values():
            if membership.swarm.name != first.swarm.name:
                with suppress(UsageError):
                    offered.append(self._offer(membership))
        return tuple(offered)

    def _offer(self, membership: Membership) -> GatewaySwarm:
        """Return what the gateway needs to use a swarm. Raises UsageError for one that nobody can find yet."""
        configuration, swarm = self._configuration, membership.swarm
        if configuration.serves(swarm.name):
            swarm = configuration.invited_swarm(self._supervisor.facts_of(swarm).addresses)
        if not swarm.bootstrap_peers:
            raise UsageError(
                sentence("the swarm {name} cannot be found", name=swarm.name),
                hint=sentence("serve it, or ask a member for an invite"),
            )
        return GatewaySwarm(replace(membership.for_client(), swarm=swarm), configuration.model_place(swarm))

    async def _update_swarms(self) -> None:
        """Send the gateway the swarms that are joined now, and end it if the user left its own.

        A permanent one is started anew if the swarm's model or the address in the settings has changed.
        """
        first = self._configuration.swarms.load().get(self._gateway.status.swarm)
        if first is None:
            await self._gateway.stop()
            return
        if self._gateway.stays:
            await self._start_again(first.swarm.name)
        with suppress(UsageError):  # its own can't be found at the moment
            await self._gateway.send_swarms(self._offered(first))

    @answers(gateway.STOP)
    async def _stop(self, _: Empty) -> GatewayStatus:
        """End the gateway for good, and its token."""
        self._retry_at = math.inf
        async with self._changing:
            await self._gateway.stop()
            if self._configuration.settings.gateway.start_with_daemon:
                await self._configuration.change({"gateway.start_with_daemon": None, "gateway.swarm": None})
            self._was_wanted = self._configuration.settings.gateway.start_with_daemon
            self._parts.memory.update(gateway_token="")
            return self._gateway.status

    @answers(gateway.STATUS)
    async def _status(self, _: Empty) -> GatewayStatus:
        return self._gateway.status

    @answers(gateway.KEYS)
    async def _list_keys(self, _: Empty) -> KeyList:
        return KeyList(self._gateway.keys.listed())

    @answers(gateway.MAKE_KEY)
    async def _make_key(self, params: KeyName) -> MadeKey:
        made = self._gateway.keys.make(params.name)
        await self._gateway.send_keys()
        return MadeKey(params.name, made)

    @answers(gateway.REVOKE_KEY)
    async def _revoke_key(self, params: KeyName) -> KeyList:
        self._gateway.keys.revoke(params.name)
        await self._gateway.send_keys()
        return KeyList(self._gateway.keys.listed())

    async def close(self) -> None:
        await super().close()
        await self._gateway.stop()
        self._gateway.keys.flush()
