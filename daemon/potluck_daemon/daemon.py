"""The daemon's composition root: makes the parts, connects them, and starts and stops them in order.

Start: lock, state, ledger, settings, control socket, READY, loop. Stop: engine, ledger, probes, socket, state, lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial

from potluck_control.engine_messages import EngineReport
from potluck_control.places import Places
from potluck_control.schema import Transition

from potluck.errors import UsageError
from potluck.files import remove_litter
from potluck.sentences import NOTHING, Sentence
from potluck.tasks import first_of, keep_running, start_task
from potluck_daemon.account import ServingAccount
from potluck_daemon.configuration import Configuration
from potluck_daemon.control.events import Broadcast
from potluck_daemon.control.peers import AccessRule
from potluck_daemon.control.server import ControlServer
from potluck_daemon.gateway_keys import GatewayKeys
from potluck_daemon.host.instance import InstanceLock
from potluck_daemon.host.notify import ServiceManager
from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.lookout import Lookout
from potluck_daemon.loop import ServingLoop
from potluck_daemon.parts import Parts
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.reporting import logs
from potluck_daemon.reporting.display import failures, slowness
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.metrics.page import MetricsPage
from potluck_daemon.settings.state import StateFile
from potluck_daemon.supervisor.gateway import Gateway
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.keeping import MembersKeeper
from potluck_daemon.swarms.reports import ReportBook
from potluck_daemon.topics.activity import ActivityTopic
from potluck_daemon.topics.computers import ComputersTopic
from potluck_daemon.topics.contribution import ContributionTopic
from potluck_daemon.topics.earnings import EarningsTopic
from potluck_daemon.topics.gateway import GatewayTopic
from potluck_daemon.topics.health import HealthTopic
from potluck_daemon.topics.machine import MachineTopic
from potluck_daemon.topics.members import MembersTopic
from potluck_daemon.topics.models import ModelsTopic
from potluck_daemon.topics.programs import ProgramsTopic
from potluck_daemon.topics.records import RecordsTopic
from potluck_daemon.topics.serving import ServingTopic
from potluck_daemon.topics.settings import SettingsTopic
from potluck_daemon.topics.setup import SetupTopic
from potluck_daemon.topics.swarms import SwarmsTopic
from potluck_daemon.topics.topic import Topic
from potluck_daemon.topics.updates import UpdatesTopic

log = logging.getLogger(__name__)

PUBLISH_INTERVAL_S = 1.0  # of numbers that change by themselves, while somebody looks
CHORES_INTERVAL_S = 5.0
LOG_LOOK_S = 3600.0
MEND_INTERVAL_S = 600.0  # between attempts to set the engine up again, for which there may be no network yet
_OTHER_TOPICS: tuple[type[Topic], ...] = (
    ServingTopic,
    RecordsTopic,
    SettingsTopic,
    ProgramsTopic,
    SwarmsTopic,
    MembersTopic,
    ComputersTopic,
    HealthTopic,
    ActivityTopic,
    MachineTopic,
    ContributionTopic,
    EarningsTopic,
    ModelsTopic,
    UpdatesTopic,
)


class Daemon:
    """Call `run` once; `end` makes it return. Members of `group` may speak to a system service."""

    def __init__(self, places: Places, *, group: str | None, environment: Mapping[str, str] = os.environ) -> None:
        self.places = places
        self._lock = InstanceLock(places.lock_file)
        self._manager = ServiceManager(environment)
        self._memory = StateFile(places.state_file)
        self._state_notice = NOTHING
        self._socket_problem = ""
        self._broadcast = Broadcast()
        self._history = HistoryFile(places.history_file)
        reader = NvmlReader()
        self._supervisor = Supervisor(
            self.wake,
            lambda message: self._clerk.hear(message),
            lambda launch, message: self._members.hear(launch, message),
            lambda launch, message: self._reports.hear(launch.swarm, message),
            lambda: self.configuration.take_less_memory(),
        )
        self._clerk = Clerk(places.ledger_file, places.identity_file, places.receipts, self._supervisor.tell)
        self.configuration = Configuration(places, environment, self._memory, self._obey_configuration)
        self._members = MembersKeeper(self.configuration, self._supervisor)
        self._reports = ReportBook(self._memory, lambda: self.configuration.swarms.machine().public_key)
        self.account = ServingAccount(places.contribution_file, environment, reader, self._supervisor)
        self._lookout = Lookout(environment, reader, self.wake)
        self._loop = ServingLoop(
            *(self.configuration, self._memory, self._supervisor, self._lookout, self.account),
            on_transition=self._announce,
            on_step=self._publish_status,
        )
        self._page = MetricsPage(lambda: (self.parts.status(), self._supervisor.facts.report.metrics))
        self._turning_page: asyncio.Task[None] | None = None
        self.parts = Parts(
            memory=self._memory,
            configuration=self.configuration,
            supervisor=self._supervisor,
            gateway=Gateway(GatewayKeys(places.gateway_keys_file), self._keep_in_history),
            clerk=self._clerk,
            members=self._members,
            reports=self._reports,
            account=self.account,
            lookout=self._lookout,
            loop=self._loop,
            history=self._history,
            page=self._page,
            broadcast=self._broadcast,
            notices=self._notices,
        )
        self._setup, self._gateway = SetupTopic(self.parts), GatewayTopic(self.parts)
        self._topics = (self._setup, self._gateway, *(topic(self.parts) for topic in _OTHER_TOPICS))
        handlers = {name: handler for topic in self._topics for name, handler in topic.handlers().items()}
        self._server = ControlServer(places.socket, AccessRule(os.getuid(), group), handlers, self._broadcast)

    async def run(self) -> None:
        """Serve until `end`. Raises AlreadyRunningError."""
        self._lock.acquire()
        try:
            for folder in (self.places.config, self.places.state):
                remove_litter(folder, time.time())
            self._state_notice = self._memory.load()
            self.account.open(self._memory.state)
            self._history.load()
            await self._clerk.start()
            self.configuration.start()
            await self._server.start()
            self._manager.ready()
            log.info("daemon %s started as process %d", self.parts.version, os.getpid())
            await self._serve()
        finally:
            await self._close()

    def wake(self) -> None:
        self._loop.wake()

    def end(self) -> None:
        """Leave politely, as signals and `shutdown` ask."""
        self._loop.end()

    async def _serve(self) -> None:
        """Decide and act until `end`. Beside that goes whatever may fail without making the decisions wrong."""
        chores: tuple[tuple[str, float, Callable[[], Awaitable[None]]], ...] = (
            ("watching the swarm's members", CHORES_INTERVAL_S, self._tend_members),
            ("watching the limits", CHORES_INTERVAL_S, self._watch_use),
            ("listening for commands", CHORES_INTERVAL_S, self._keep_listening),
            ("looking after updates, reports and the gateway", CHORES_INTERVAL_S, self._tick),
            ("dropping old logs", LOG_LOOK_S, self._drop_old_logs),
            ("mending the engine's installation", MEND_INTERVAL_S, self._setup.mend),
            ("showing fresh numbers", PUBLISH_INTERVAL_S, self._publish_numbers),
        )
        if self._manager.watchdog_s is not None:
            chores += (("telling the service manager", self._manager.watchdog_s / 3, self._keep_alive),)
        loops = [keep_running(what, partial(_every, interval_s, chore)) for what, interval_s, chore in chores]
        await first_of(self._loop.run(), *loops)

    async def _close(self) -> None:
        """End the engine first and release the lock last: a second daemon must not meet a leftover of this one."""
        self._manager.stopping()
        await self._supervisor.close()
        await self._members.close()
        await self._clerk.close()
        await self._lookout.watch.close()
        await self._page.close()
        for topic in self._topics:
            await topic.close()
        await self._server.close()
        self._remember()
        self._memory.try_to_save()
        self.account.book.close()
        self._lock.release()
        log.info("daemon ended")

    # --- what the parts tell each other ------------------------------------------------------------------------------

    def _obey_configuration(self) -> None:
        if self.configuration.swarm is not None:
            self._clerk.serve(self.configuration.swarm)
        self._turning_page = start_task(self._page.apply(self.configuration.settings.metrics))
        self._lookout.apply(self.configuration.settings)
        self.wake()

    def _announce(self, transition: Transition) -> None:
        self._history.append(transition)
        self._manager.status(str(transition.text))
        self._broadcast.publish_transition(transition)
        self._gateway.hear(transition)
        self._remember()
        self._memory.try_to_save()

    def _keep_in_history(self, text: Sentence) -> None:
        """Write down something that happened, while the state stays as it is."""
        shown = self._loop.shown
        kept = Transition(time.time(), shown.state, shown.state, shown.reason, text)
        self._history.append(kept)

    def _publish_status(self) -> None:
        if self._broadcast.num_readers:
            self._broadcast.publish_status(self.parts.status())

    def _notices(self) -> tuple[Sentence, ...]:
        report = self._supervisor.facts.report if self._supervisor.pid is not None else EngineReport()
        own = self._state_notice, self._clerk.notice, slowness(report)
        notices = (*own, *failures(report), *(topic.notice for topic in self._topics))
        return tuple(filter(None, notices))

    def _remember(self) -> None:
        self._memory.state = replace(self.account.remember(self._memory.state), swarm=self.parts.swarm())

    # --- beside the loop ---------------------------------------------------------------------------------------------

    async def _publish_numbers(self) -> None:
        """Send fresh numbers once somebody reads events."""
        await self._broadcast.wait_for_readers()
        self.account.count_tokens()
        self._publish_status()

    async def _drop_old_logs(self) -> None:
        logs.drop_old(self.places.log_file, time.time())

    async def _tend_members(self) -> None:
        self.configuration.reload_if_changed()
        self._members.tend()

    async def _watch_use(self) -> None:
        """Count what the engine uses, and decide again: a cap may be reached."""
        self._loop.look_at_memory()
        if self._supervisor.pid is not None:
            await self.account.sample_use(self.configuration.settings.limits)
            self.wake()
            self._remember()
            self._memory.save_if_due()
        self.account.book.save_if_due()

    async def _keep_listening(self) -> None:
        """Make the control socket again where it was removed, as by a log-out or whatever cleans temporary folders."""
        place, problem = self.places.socket, ""
        try:
            if await self._server.keep(place):
                log.warning("the control socket was gone; it is now %s", place)
        except (OSError, UsageError) as error:
            problem = f"the control socket is gone and cannot be made: {error}"
            if problem != self._socket_problem:
                log.error("%s", problem)
        self._socket_problem = problem

    async def _tick(self) -> None:
        """Give each topic its turn, and raise afterwards what one of them raised."""
        errors = []
        for topic in self._topics:
            try:
                topic.tick(time.time())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    async def _keep_alive(self) -> None:
        """Give the watchdog its sign of life from the loop, so that it stops when the loop hangs."""
        self._manager.alive()


async def _every(interval_s: float, chore: Callable[[], Awaitable[None]]) -> None:
    while True:
        await chore()
        await asyncio.sleep(interval_s)
