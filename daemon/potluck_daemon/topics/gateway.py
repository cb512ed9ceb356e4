"""`gateway.*` of the control API."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial

from potluck_control.gateway_messages import GatewayOpening, GatewaySwarm
from potluck_control.method import Empty
from potluck_control.methods import gateway
from potluck_control.methods.gateway import GatewayStatus, KeyList, KeyName, MadeKey, StartParams
from potluck_control.resources import bundled_checkpoint

from potluck.errors import UsageError
from potluck.membership.membership import Membership
from potluck.model_folder import downloaded
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.parts import Parts
from potluck_daemon.settings.launch import chosen_checkpoint
from potluck_daemon.settings.listening import listening_problem
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

_LOOK_S = 0.1  # while the engine starts, for its addresses
_RETRY_S = 60.0  # after a gateway that should run could not be started, or ended


class GatewayTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._gateway = parts.gateway
        self._was_stopped = False  # by its user, who wants it to stay so until somebody starts it
        self._retry_at = 0.0  # Unix

    @property
    def notice(self) -> Sentence:
        return self._gateway.found if self._gateway.audits.wrong else NOTHING

    def tick(self, now: float) -> None:
        """Start the gateway if it should always run, or anew if the swarm changed its model. Tell it of the others."""
        wanted = self._configuration.settings.gateway
        status, served = self._gateway.status, self._configuration.swarm
        has_new_model = served is not None and served.name == status.swarm and served.model != status.model
        is_due = now >= self._retry_at and not self._was_stopped and (has_new_model or self._gateway.is_over)
        if wanted.start_with_daemon and is_due:
            self._retry_at = now + _RETRY_S
            self.tasks.start(self._start_by_itself(StartParams(wanted.swarm, stays=True)))
        elif not self._gateway.is_over:
            self.tasks.start(self._tell_swarms())

    async def _start_by_itself(self, params: StartParams) -> None:
        try:
            await self._start(params)
        except UsageError as error:  # a swarm that is not joined yet, or that nobody can find yet
            log.debug("the gateway cannot start yet: %s", error.message)

    @answers(gateway.START)
    async def _start(self, params: StartParams) -> GatewayStatus:
        """Start a gateway, unless one runs for the same swarm and model. One that runs for another swarm ends."""
        self._was_stopped = False
        configuration = self._configuration
        membership = configuration.find(params.swarm)
        always = configuration.settings.gateway
        stays = params.stays or (always.start_with_daemon and params.swarm in ("", always.swarm))
        now = self._gateway.status
        is_same = (now.swarm, now.model) == (membership.swarm.name, membership.swarm.model)
        if is_same and not self._gateway.is_over:
            self._gateway.go_on(stays=stays)
            return self._gateway.status
        if not (configuration.serves(membership.swarm.name) and self._supervisor.is_starting):
            self._opening(membership)  # refuses a swarm that nobody can find
        await self._gateway.stop()
        self._gateway.start(
            configuration.engine_python,
            configuration.environment_of(configuration.engine_python),
            membership.swarm,
            partial(self._opening_soon, membership),
            end_after_s=configuration.settings.chat.end_after_s,
            stays=stays,
        )
        return self._gateway.status

    async def _opening_soon(self, membership: Membership) -> GatewayOpening:
        """Return what the gateway is to open, once an engine that starts has addresses. Raises UsageError."""
        while True:
            try:
                return self._opening(membership)
            except UsageError:
                if not self._supervisor.is_starting:
                    raise
            await asyncio.sleep(_LOOK_S)

    def _opening(self, membership: Membership) -> GatewayOpening:
        """Return what the gateway is to open. Raises UsageError for an address that nothing may listen at, and
        for a swarm that nobody can find yet."""
        configuration = self._configuration
        wanted = configuration.settings.gateway
        if problem := listening_problem("gateway", wanted.address, is_allowed=wanted.allow_remote):
            raise UsageError(problem)
        return GatewayOpening(
            swarms=self._offered(membership),
            token=self._gateway.token,
            settings=configuration.settings,
            socket=str(configuration.places.socket),
            key_hashes=self._gateway.keys.hashes(),
        )

    def _offered(self, first: Membership) -> tuple[GatewaySwarm, ...]:
        """Return the joined swarms, `first` at first. Raises UsageError if nobody can find that one yet."""
        offered = [self._offer(first)]
        for membership in self._configuration.swarms.load().values():
            if membership.swarm.name != first.swarm.name:
                with suppress(UsageError):
                    offered.append(self._offer(membership))
        return tuple(offered)

    def _offer(self, membership: Membership) -> GatewaySwarm:
        """Return what the gateway needs to use a swarm. Raises UsageError for one that nobody can find yet."""
        configuration, swarm = self._configuration, membership.swarm
        is_served = configuration.serves(swarm.name)
        if is_served:
            swarm = configuration.invited_swarm(self._supervisor.facts_of(swarm).addresses)
        if not swarm.bootstrap_peers:
            raise UsageError(
                sentence("the swarm {name} cannot be found", name=swarm.name),
                hint=sentence("serve it, or ask a member for an invite"),
            )
        folder = chosen_checkpoint(configuration.settings.serve.checkpoint, swarm) if is_served else ""
        if not folder and (found := downloaded(swarm, configuration.models_folder)) is not None:
            folder = str(found)
        checkpoint = folder or str(bundled_checkpoint(swarm.model) or swarm.model)
        return GatewaySwarm(replace(membership.for_client(), swarm=swarm), checkpoint)

    async def _tell_swarms(self) -> None:
        """Tell the gateway which swarms are joined now, and end it if its own was left."""
        first = self._configuration.swarms.load().get(self._gateway.status.swarm)
        if first is None:
            await self._gateway.stop()
            return
        with suppress(UsageError):  # its own can't be found at the moment
            await self._gateway.tell_swarms(self._offered(first))

    @answers(gateway.STOP)
    async def _stop(self, _: Empty) -> GatewayStatus:
        self._was_stopped = True
        await self._gateway.stop()
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
        await self._gateway.tell_keys()
        return MadeKey(params.name, made)

    @answers(gateway.REVOKE_KEY)
    async def _revoke_key(self, params: KeyName) -> KeyList:
        self._gateway.keys.revoke(params.name)
        await self._gateway.tell_keys()
        return KeyList(self._gateway.keys.listed())

    async def close(self) -> None:
        await super().close()
        await self._gateway.stop()
        self._gateway.keys.flush()
