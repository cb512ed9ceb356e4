"""The daemon's parts: made, connected, and put together into the one status that shows what they know.

It starts and stops nothing: see `daemon`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version

from potluck_control.api.schema import STATUS_EVENT, TRANSITION_EVENT, Status, SwarmStatus, Transition
from potluck_control.methods.models import Served
from potluck_control.places import Places
from potluck_control.processes import engine_messages
from potluck_control.processes.launch_spec import LaunchSpec

from potluck.sentences import NOTHING, Sentence
from potluck.tasks import start_task
from potluck_daemon.accounting.account import ServingAccount
from potluck_daemon.accounting.clerk import Clerk
from potluck_daemon.control.events import Broadcast
from potluck_daemon.host.systemd import ServiceManager
from potluck_daemon.loop import ServingLoop
from potluck_daemon.presence.lookout import Lookout
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.metrics_page import MetricsPage
from potluck_daemon.reporting.status import download, load_status, notices, served, swarm_status
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.settings.state import StateFile
from potluck_daemon.supervisor.gateway import Gateway
from potluck_daemon.supervisor.gateway_keys import GatewayKeys
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.members_sync import MembersSync
from potluck_daemon.swarms.reports import ReportBook


class Parts:
    """The parts that topics use.

    Attributes:
        topic_notices: returns the sentences of topics for the status; topics are made after the parts.
    """

    def __init__(self, places: Places, environment: Mapping[str, str]) -> None:
        reader = NvmlReader()
        self.places = places
        self.manager = ServiceManager(environment)
        self.memory = StateFile(places.state_file)
        self.history = HistoryFile(places.history_file)
        self.broadcast = Broadcast()
        self.supervisor = Supervisor(self.wake, self._dispatch, self._on_engine_end)
        self.clerk = Clerk(places, self.supervisor.send)
        self.configuration = Configuration(places, environment, self.memory, self._apply_configuration)
        self.members = MembersSync(self.configuration, self.supervisor)
        self.reports = ReportBook(self.memory, lambda: self.configuration.swarms.machine().public_key)
        self.account = ServingAccount(self.clerk.hours, environment, reader, self.supervisor)
        self.lookout = Lookout(environment, reader, self.wake)
        self.loop = ServingLoop(
            *(self.configuration, self.memory, self.supervisor, self.lookout, self.account),
            on_transition=self.announce,
            on_step=self.publish_status,
        )
        keys = GatewayKeys(places.gateway_keys_file)
        self.gateway = Gateway(keys, self.configuration, self._record, self.memory.add_answer)
        self.page = MetricsPage(lambda: (self.status(), self.supervisor.facts.report.metrics))
        self.topic_notices: Callable[[], Iterable[Sentence]] = tuple
        self.state_notice = NOTHING
        self.version = version("potluck")
        self.started_at = time.time()
        self._opening_page: asyncio.Task[None] | None = None

    def wake(self) -> None:
        """Have the loop decide again."""
        self.loop.wake()

    def announce(self, transition: Transition) -> None:
        """Record a new state and send it to everybody who follows the daemon."""
        self.history.append(transition)
        self.manager.status(str(transition.text))
        self.broadcast.publish(TRANSITION_EVENT, transition)
        self.gateway.give_way(transition)
        self.remember()
        self.memory.try_to_save()

    def publish_status(self) -> None:
        """Send the status to those who read events."""
        if self.broadcast.num_readers:
            self.broadcast.publish(STATUS_EVENT, self.status())

    def remember(self) -> None:
        """Put what is known of the swarm into the state, which the next save writes."""
        self.memory.state = replace(self.memory.state, swarm=self.swarm())

    def status(self) -> Status:
        """Return all that the status of the control API shows."""
        shown, decision, report = self.loop.shown, self.loop.decision, self.supervisor.facts.report
        facts = self.supervisor.facts_of(self.configuration.swarm)
        return Status(
            state=shown.state,
            reason=shown.reason,
            text=shown.text,
            since=shown.at,
            version=self.version,
            until=self.loop.until,
            engine=self.supervisor.status(),
            swarm=self.swarm(),
            load=load_status(self.account.load(), report),
            tokens_per_s=round(self.account.counts.tokens_per_s(time.monotonic()), 2),
            sessions=report.sessions,
            tokens_today=self.clerk.tokens_today(time.time()),
            ends=decision.ends,
            app=decision.app,
            app_title=decision.app_title,
            duty=decision.duty,
            use=self.account.use_status(self.configuration.settings.limits),
            probes=self.lookout.watch.statuses(),
            notices=self._notices(),
            loading=download(facts),
            network=facts.report.network,
            nearby=facts.nearby,
            ports=self.supervisor.ports,
            audits=self.gateway.audits,
            questions=tuple(item for item in self.memory.state.questions if item.is_open),
            is_confirmed=self.configuration.standing.is_confirmed,
            leader_heard_at=self.members.leader_heard_at(self.configuration.swarm),
        )

    def swarm(self) -> SwarmStatus | None:
        """Return what is known of the served swarm, from the engine or from what is remembered of an earlier one."""
        swarm = self.configuration.swarm
        facts = self.supervisor.facts_of(swarm)
        age_s = time.monotonic() - facts.reported_at
        return swarm_status(swarm, facts, self.memory.state, time.time(), age_s=age_s)

    def served(self) -> Served | None:
        """Return what this machine serves, and how."""
        facts = self.supervisor.facts_of(self.configuration.swarm)
        return served(self.swarm(), facts, is_running=self.supervisor.pid is not None)

    def _notices(self) -> tuple[Sentence, ...]:
        facts = self.supervisor.facts_of(self.configuration.swarm)
        report = self.supervisor.facts.report if self.supervisor.pid is not None else engine_messages.EngineReport()
        own = *self.configuration.notices, self.state_notice, self.clerk.notice
        return tuple(filter(None, (*own, *notices(facts, report), *self.topic_notices())))

    def _dispatch(self, launch: LaunchSpec, message: engine_messages.Said) -> None:
        """Pass a message of a node that was started with `launch` to the part that it concerns."""
        match message:
            case engine_messages.SignedReceipt():
                self.clerk.book_soon(message)
            case engine_messages.Confirmed() | engine_messages.Examined():
                self.reports.apply(launch.swarm, message)
            case engine_messages.Joining():
                self.clerk.catch_up()
                self.members.apply(launch, message)
            case engine_messages.MemberRecords() | engine_messages.Met() | engine_messages.StandbyOnline():
                self.members.apply(launch, message)

    def _on_engine_end(self, is_memory_short: bool) -> None:
        """Book what an engine left, and give the next one less memory if this one ran out of it."""
        self.clerk.catch_up()
        if is_memory_short:
            self.configuration.halve_memory()

    def _apply_configuration(self) -> None:
        if self.configuration.swarm is not None:
            self.clerk.name_model(self.configuration.swarm)
        self._opening_page = start_task(self.page.apply(self.configuration.settings.metrics))
        self.lookout.apply(self.configuration.settings)
        self.wake()

    def _record(self, text: Sentence) -> None:
        """Write into the history something that happened while the state stayed the same."""
        shown = self.loop.shown
        self.history.append(Transition(time.time(), shown.state, shown.state, shown.reason, text))
