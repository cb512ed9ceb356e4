"""Passes members' records on between the file of this user's swarms and the node that runs.

    the node learned records    ->  file  ->  the swarm is tended
    the node reached its swarm  ->  the node gets what was decided since its launch, and the swarm is tended
    somebody decides here       ->  file  ->  node, which passes it on to others

To tend a swarm means to do what needs nobody's decision, such as confirming guests: see `JoinedSwarms.tend`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from potluck_control.processes.engine_messages import Joining, MemberRecords, Met, StandbyOnline
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.errors import PotluckError
from potluck.membership.membership import Membership
from potluck.membership.records import Content, Record
from potluck.protocol.swarm import Swarm
from potluck.tasks import BackgroundTasks
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.supervisor.supervisor import Supervisor

log = logging.getLogger(__name__)


class MembersSync:
    """Keeps the members' records of the file and of the node equal. Its owner calls `tend` every few seconds."""

    def __init__(self, configuration: Configuration, supervisor: Supervisor) -> None:
        self._leader_heard: tuple[Swarm, float] | None = None  # the swarm, and Unix seconds
        self._configuration = configuration
        self._supervisor = supervisor
        self._tasks = BackgroundTasks()
        self._turns = asyncio.Lock()  # records are stored in the order in which the node sends them
        self._tended: object = None  # `member_list_key` when the swarm was last tended
        self._sent: frozenset[bytes] = frozenset()  # the records that the node has; commands add others to the file

    def apply(self, launch: LaunchSpec, message: MemberRecords | Met | Joining | StandbyOnline) -> None:
        """Take a message of a node of this computer that was started with `launch`."""
        match message:
            case Met(addresses):
                self._configuration.remember_met(launch.swarm, addresses)
            case MemberRecords(records, leader_heard):
                if leader_heard:
                    self._leader_heard = launch.swarm, time.time()
                if records:
                    self._tasks.start(self._learn(launch.swarm.name, records))
            case _:
                self._catch_up(launch)

    def leader_heard_at(self, swarm: Swarm | None) -> float | None:
        """Return when this computer's node last compared records with a leader's in a swarm; None: never yet."""
        if swarm is None or self._leader_heard is None or not self._leader_heard[0].is_same(swarm):
            return None
        return self._leader_heard[1]

    async def lead(
        self, name: str, decide: Callable[[Membership], Sequence[Content]]
    ) -> tuple[Membership, list[Record], bool]:
        """Write what a leader decides, as `JoinedSwarms.lead`. The last value is whether others learn it now."""
        async with self._turns:
            lead = partial(self._configuration.swarms.lead, name, decide, may_lag=not self._has_reached(name))
            membership, new = await asyncio.to_thread(lead)
        return membership, new, self.publish(name, [record.data for record in new])

    async def change_own(self, name: str, change: Callable[[Membership], Membership]) -> bool:
        """Change which computers are this person's. Return whether others learn it now."""
        changed = await asyncio.to_thread(self._configuration.swarms.change, name, change)
        return self.publish(name, [changed.machines])

    def publish(self, name: str, records: Sequence[bytes]) -> bool:
        """Have a running node pass on what is new in the file. Return whether one runs."""
        self._configuration.reload_if_changed()
        is_known = self._has_reached(name)
        if is_known and records:
            self._supervisor.send(MemberRecords(tuple(records)))
        return is_known

    def tend(self) -> None:
        """Tend the served swarm if its membership has changed and a node has compared it with others."""
        self._tasks.start(self._tend())

    async def close(self) -> None:
        """Wait for the work that was begun."""
        await self._tasks.wait()

    def _has_reached(self, name: str) -> bool:
        """Return whether a node of this computer is among the members of a swarm."""
        served = self._configuration.swarm
        return served is not None and served.name == name and self._supervisor.has_reached(served)

    async def _learn(self, name: str, records: Sequence[bytes]) -> None:
        async with self._turns:
            try:
                await asyncio.to_thread(self._configuration.swarms.learn, name, records)
            except Exception as error:  # peers may send anything, and the node sends it again later
                is_odd = not isinstance(error, PotluckError)
                log.warning("members' records cannot be stored: %s", error, exc_info=is_odd)
                return
            self._sent |= frozenset(records)
            self._configuration.reload_if_changed()  # the records may let this computer in or remove it
        self.tend()

    def _catch_up(self, launch: LaunchSpec) -> None:
        membership = self._configuration.membership
        if membership is not None and membership.swarm.name == launch.swarm.name:
            self._sent = frozenset(launch.membership.all_records)
            self._send_rest(membership)
        self.tend()

    async def _tend(self) -> None:
        async with self._turns:
            membership = self._configuration.membership
            if membership is None or member_list_key(membership) == self._tended:
                return
            if not self._supervisor.has_reached(membership.swarm):
                return
            name = membership.swarm.name
            try:
                tended, new = await asyncio.to_thread(self._configuration.swarms.tend, name)
            except PotluckError as error:
                log.warning("guests of the swarm cannot be confirmed: %s", error)
                return
            self._tended = member_list_key(membership)
            if new:
                log.info("made %d routine decisions about the members of %s", len(new), name)
            self._send_rest(tended)

    def _send_rest(self, membership: Membership) -> None:
        """Send the node the records that it lacks, in order: an entry is worth nothing without those before it."""
        rest = [record for record in membership.all_records if record not in self._sent]
        if self.publish(membership.swarm.name, rest):
            self._sent = frozenset(membership.all_records)


def member_list_key(membership: Membership) -> tuple[object, ...]:
    """Return everything in a membership on which the list of members depends, to compare it with an earlier value."""
    seeds = membership.person_seed, membership.founder_seed
    return membership.swarm.name, membership.all_records, membership.machines, *seeds
