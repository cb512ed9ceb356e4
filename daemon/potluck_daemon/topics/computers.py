"""`computers.*` of the control API."""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from dataclasses import replace

from potluck_control.methods import members as methods
from potluck_control.methods.members import MembersChanged, SwarmParams

from potluck.errors import UsageError
from potluck.membership.backup import back_up, read_backup
from potluck.membership.invite import TICKET_LIVES_S, encode_invite, machine_invite
from potluck.membership.membership import Membership
from potluck.sentences import sentence
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)


class ComputersTopic(Topic):
    """This person's computers: letting another one in, and moving keys by a backup."""

    @answers(methods.ADD_COMPUTER)
    async def _add(self, params: SwarmParams) -> methods.MachineInvite:
        membership, now_s = self._reachable(self._configuration.find(params.swarm, has_members=True)), time.time()
        made = machine_invite(membership, now_s)
        if not membership.is_confirmed(self._configuration.swarms.machine().public_key):
            raise UsageError(
                sentence("you are a guest yourself"),
                hint=sentence("try again when a leader's computer has been online"),
            )
        if not membership.swarm.bootstrap_peers:
            raise UsageError(
                sentence("the swarm cannot be found by others yet"), hint=sentence("try again once this machine serves")
            )
        return methods.MachineInvite(membership.swarm.name, encode_invite(made), now_s + TICKET_LIVES_S)

    @answers(methods.CONFIRM_COMPUTER)
    async def _confirm(self, params: methods.ConfirmParams) -> MembersChanged:
        membership = self._configuration.find(params.swarm, has_members=True)
        name = membership.swarm.name
        asking = membership.members().request_to(membership.person_public, time.time())
        if asking is None or asking.name != params.name:
            hint = sentence("join the swarm there with an invite for one machine: potluck members add-computer")
            raise UsageError(sentence("no computer named {name} asks to be yours", name=params.name), hint=hint)
        is_known = await self._parts.members.change_own(name, lambda own: own.with_machine(asking))
        log.info("a computer was added to the swarm %s", name)
        return MembersChanged(name, f"{asking.name} is yours now", is_known)

    @answers(methods.BACK_UP)
    async def _back_up(self, params: methods.BackupParams) -> methods.Backup:
        memberships = [self._reachable(each) for each in self._configuration.swarms.load().values()]
        sealed = await asyncio.to_thread(back_up, memberships, params.password)
        return methods.Backup(base64.b64encode(sealed).decode())

    @answers(methods.RESTORE)
    async def _restore(self, params: methods.RestoreParams) -> methods.Restored:
        try:
            sealed = base64.b64decode(params.data, validate=True)
        except ValueError as error:
            raise UsageError(sentence("this is not a backup of Potluck, or it is damaged")) from error
        found = await asyncio.to_thread(read_backup, sealed, params.password)
        adopted = [self._configuration.swarms.adopt(each).swarm.name for each in found]
        self._configuration.reload()
        log.info("restored the keys of %d swarms", len(adopted))
        return methods.Restored(tuple(adopted))

    def _reachable(self, membership: Membership) -> Membership:
        """Return the membership with addresses at which a further computer finds the swarm."""
        if not self._configuration.serves(membership.swarm.name):
            return membership
        try:
            addresses = self._supervisor.facts_of(membership.swarm).addresses
            swarm = self._configuration.invited_swarm(addresses, for_others=True)
        except UsageError:  # no address is known yet; the other computer may find the swarm later through the old ones
            return membership
        return replace(membership, swarm=swarm)
