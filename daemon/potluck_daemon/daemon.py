"""The daemon's composition root: makes parts and topics, and starts and stops them in order.

Start: lock, state, ledger, settings, control socket, READY, loop. Stop: engine, ledger, probes, socket, state, lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from potluck_control.places import Places

from potluck.errors import UsageError
from potluck.files import remove_temporary_files
from potluck.tasks import keep_running, run_until_first_ends
from potluck_daemon.control.connection import AccessRule
from potluck_daemon.control.server import ControlServer
from potluck_daemon.host.instance import InstanceLock
from potluck_daemon.parts import Parts
from potluck_daemon.topics.computers import ComputersTopic
from potluck_daemon.topics.earnings import EarningsTopic
from potluck_daemon.topics.gateway import GatewayTopic
from potluck_daemon.topics.machine import MachineTopic
from potluck_daemon.topics.members import MembersTopic
from potluck_daemon.topics.models import ModelsTopic
from potluck_daemon.topics.programs import ProgramsTopic
from potluck_daemon.topics.serving import ServingTopic
from potluck_daemon.topics.settings import SettingsTopic
from potluck_daemon.topics.setup import SetupTopic
from potluck_daemon.topics.swarms import SwarmsTopic
from potluck_daemon.topics.topic import Topic
from potluck_daemon.topics.updates import UpdatesTopic

log = logging.getLogger(__name__)

PUBLISH_INTERVAL_S = 1.0  # interval of numbers that change by themselves, while somebody reads events
CHORES_INTERVAL_S = 5.0
_TOPICS: tuple[type[Topic], ...] = (
    ServingTopic,
    SettingsTopic,
    ProgramsTopic,
    SwarmsTopic,
    MembersTopic,
    ComputersTopic,
    MachineTopic,
    EarningsTopic,
    ModelsTopic,
    GatewayTopic,
    SetupTopic,
    UpdatesTopic,
)


class Daemon:
    """Call `run` once; `end` makes it return. Members of `group` may speak to a system service."""

    def __init__(self, places: Places, *, group: str | None, environment: Mapping[str, str] = os.environ) -> None:
        self.places = places
        self.parts = Parts(places, environment)
        self._lock = InstanceLock(places.lock_file)
        self._socket_problem = ""
        self._topics = tuple(topic(self.parts) for topic in _TOPICS)
        self.parts.topic_notices = lambda: [topic.notice for topic in self._topics]
        handlers = {name: handler for topic in self._topics for name, handler in topic.handlers().items()}
        rule = AccessRule(os.getuid(), group)
        self._server = ControlServer(places.socket, rule, handlers, self.parts.broadcast)

    async def run(self) -> None:
        """Serve until `end`. Raises AlreadyRunningError."""
        self._lock.acquire()
        try:
            for folder in (self.places.config, self.places.state):
                remove_temporary_files(folder, time.time())
            self.parts.state_notice = self.parts.memory.load()
            self.parts.history.load()
            await self.parts.clerk.start()
            self.parts.configuration.start()
            await self._server.start()
            self.parts.manager.ready()
            log.info("daemon %s started as process %d", self.parts.version, os.getpid())
            await self._serve()
        finally:
            await self._close()

    def end(self) -> None:
        """End in order, as signals and `shutdown` ask."""
        self.parts.loop.end()

    async def _serve(self) -> None:
        """Decide and act until `end`, and run the chores, whose failures leave decisions right."""
        chores: tuple[tuple[str, float, Callable[[], Awaitable[None]]], ...] = (
            ("watching the swarm's members", CHORES_INTERVAL_S, self._tend_members),
            ("watching the limits", CHORES_INTERVAL_S, self._watch_use),
            ("listening for commands", CHORES_INTERVAL_S, self._keep_listening),
            ("looking after updates, reports and the gateway", CHORES_INTERVAL_S, self._tick),
            ("showing fresh numbers", PUBLISH_INTERVAL_S, self._publish_numbers),
        )
        if self.parts.manager.watchdog_s is not None:
            chores += (("reporting to the service manager", self.parts.manager.watchdog_s / 3, self._keep_alive),)
        loops = [keep_running(what, partial(_every, interval_s, chore)) for what, interval_s, chore in chores]
        await run_until_first_ends(self.parts.loop.run(), *loops)

    async def _close(self) -> None:
        """End the engine first and release the lock last: a second daemon must not meet a leftover of this one."""
        if not self.parts.loop.successor:  # a successor takes over this very process
            self.parts.manager.stopping()
        await self.parts.supervisor.close()
        await self.parts.members.close()
        await self.parts.clerk.close()
        await self.parts.lookout.watch.close()
        self.parts.page.close()
        for topic in self._topics:
            await topic.close()
        await self._server.close()
        self.parts.remember()
        self.parts.memory.try_to_save()
        self._lock.release()
        log.info("daemon ended")
        if self.parts.loop.successor:
            self.parts.manager.alive()  # the watchdog waits from here on for the new version

    async def _publish_numbers(self) -> None:
        """Send fresh numbers once somebody reads events."""
        await self.parts.broadcast.wait_for_readers()
        self.parts.account.count_tokens()
        self.parts.publish_status()

    async def _tend_members(self) -> None:
        self.parts.configuration.reload_if_changed()
        self.parts.members.tend()

    async def _watch_use(self) -> None:
        """Count what the engine uses, and decide again: a cap may be reached."""
        self.parts.loop.check_memory()
        await self.parts.account.sample_use(self.parts.configuration.settings.limits)
        if self.parts.supervisor.pid is not None:
            self.parts.wake()
            self.parts.remember()
            self.parts.memory.save_if_due()

    async def _keep_listening(self) -> None:
        """Make the control socket again if it was removed, as a log-out or a cleaner of temporary folders does."""
        place, problem = self.places.socket, ""
        try:
            if await self._server.rebind_if_gone(place):
                log.warning("the control socket was gone; it is now %s", place)
        except (OSError, UsageError) as error:
            problem = f"the control socket is gone and cannot be made: {error}"
            if problem != self._socket_problem:
                log.error("%s", problem)
        self._socket_problem = problem

    async def _tick(self) -> None:
        """Let each topic do what is due. Raise the first of their errors at the end."""
        errors = []
        for topic in self._topics:
            try:
                topic.tick(time.time())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def _keep_alive(self) -> None:
        """Send the watchdog a sign of life from the loop, so that a loop that hangs sends none."""
        self.parts.manager.alive()


async def _every(interval_s: float, chore: Callable[[], Awaitable[None]]) -> None:
    while True:
        await chore()
        await asyncio.sleep(interval_s)
