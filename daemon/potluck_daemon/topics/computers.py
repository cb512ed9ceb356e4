"""`computers.*` of the control API."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
import time
from dataclasses import replace

from potluck_control.engine_messages import Members
from potluck_control.method import Empty
from potluck_control.methods import computers as methods

from potluck.errors import PotluckError, UsageError
from potluck.membership.backup import back_up, read_backup
from potluck.membership.joined import machine_name
from potluck.membership.membership import Membership
from potluck.membership.pairing import PairingCode
from potluck.membership.statements import Statement
from potluck_daemon.configuration import Configuration
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.adding import Adding, go_to
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)


class ComputersTopic(Topic):
    def __init__(self, configuration: Configuration, supervisor: Supervisor) -> None:
        self._configuration = configuration
        self._supervisor = supervisor
        self._adding = Adding(self._publish)

    @answers(methods.ADD)
    async def _add(self, params: methods.AddParams) -> methods.Adding:
        served = self._configuration.membership
        name = params.swarm or (served.swarm.name if served is not None else None)
        membership = self._configuration.swarms.find(name)
        if membership.swarm.is_open:
            raise UsageError(f"{membership.swarm.name} is open to everybody, so it has no members")
        await self._adding.start(self._reachable(membership), params.address)
        return self._shown()

    @answers(methods.ADDING)
    async def _get(self, _: Empty) -> methods.Adding:
        return self._shown()

    @answers(methods.CANCEL)
    async def _cancel(self, _: Empty) -> methods.Adding:
        await self._adding.stop()
        return self._shown()

    @answers(methods.JOIN)
    async def _join(self, params: methods.CodeParams) -> methods.Added:
        swarms = self._configuration.swarms
        found = await go_to(PairingCode.read(params.code), swarms.machine(), machine_name())
        membership = swarms.adopt(found)
        self._configuration.reload()
        owner = membership.roster(time.time()).owner_of_key(swarms.machine().public_key)
        log.info("this computer was added to the swarm %s", membership.swarm.name)
        return methods.Added(membership.swarm.name, membership.swarm.model, "" if owner is None else owner.name)

    @answers(methods.BACK_UP)
    async def _back_up(self, params: methods.BackupParams) -> methods.Backup:
        memberships = [self._reachable(each) for each in self._configuration.swarms.load().values()]
        sealed = await asyncio.to_thread(back_up, memberships, params.password)
        return methods.Backup(base64.b64encode(sealed).decode())

    @answers(methods.RESTORE)
    async def _restore(self, params: methods.RestoreParams) -> methods.Restored:
        try:
            sealed = base64.b64decode(params.data, validate=True)
        except binascii.Error as error:
            raise UsageError("this is not a backup of Potluck, or it is damaged") from error
        found = await asyncio.to_thread(read_backup, sealed, params.password)
        adopted = [self._configuration.swarms.adopt(each).swarm.name for each in found]
        self._configuration.reload()
        log.info("restored the keys of %d swarms", len(adopted))
        return methods.Restored(tuple(adopted))

    async def close(self) -> None:
        await self._adding.stop()

    def _reachable(self, membership: Membership) -> Membership:
        """Return the membership with addresses at which a further computer finds the swarm."""
        served = self._configuration.swarm
        if served is None or served.name != membership.swarm.name:
            return membership
        try:
            swarm = self._configuration.invited_swarm(self._supervisor.facts.addresses)
        except UsageError:  # nothing runs yet; the other computer may find it later through the same addresses
            return membership
        return replace(membership, swarm=swarm)

    def _publish(self, membership: Membership, statement: Statement) -> None:
        """Keep the certificate of a new computer, and have a running engine tell the others."""
        try:
            self._configuration.learn_members(membership.swarm, [statement.data])
        except PotluckError as error:
            log.warning("the certificate of a computer cannot be kept here; it shows it itself: %s", error)
        self._supervisor.tell(Members((statement.data,)))

    def _shown(self) -> methods.Adding:
        waiting = self._adding.waiting
        if waiting is None:
            return methods.Adding()
        has_ended = bool(waiting.added or waiting.problem)
        code = "" if has_ended else str(waiting.code)
        return methods.Adding(waiting.swarm, code, waiting.expires_at, waiting.added, waiting.problem)
