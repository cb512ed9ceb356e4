"""The daemon's parts, for its topics, and the one status that is put together from what they know."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version

from potluck_control.methods.models import Served
from potluck_control.schema import Status, SwarmStatus

from potluck.sentences import Sentence
from potluck_daemon.account import ServingAccount
from potluck_daemon.configuration import Configuration
from potluck_daemon.control.events import Broadcast
from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.lookout import Lookout
from potluck_daemon.loop import ServingLoop
from potluck_daemon.metering.load import CpuMeter
from potluck_daemon.reporting.display import changed_files, download, load_status, served, swarm_status
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.metrics.page import MetricsPage
from potluck_daemon.settings.state import StateFile
from potluck_daemon.supervisor.gateway import Gateway
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.keeping import MembersKeeper
from potluck_daemon.swarms.reports import ReportBook


@dataclass(frozen=True, slots=True)
class Parts:
    """`notices` returns what the status page should say of parts that do not say it themselves."""

    memory: StateFile
    configuration: Configuration
    supervisor: Supervisor
    gateway: Gateway
    clerk: Clerk
    members: MembersKeeper
    reports: ReportBook
    account: ServingAccount
    lookout: Lookout
    loop: ServingLoop
    history: HistoryFile
    page: MetricsPage
    broadcast: Broadcast
    notices: Callable[[], tuple[Sentence, ...]]
    meter: CpuMeter = field(default_factory=CpuMeter)
    version: str = version("potluck")
    started_at: float = field(default_factory=time.time)

    def status(self) -> Status:
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
            load=load_status(self.meter.sample(self.supervisor.pid), report),
            tokens_per_s=round(self.account.counts.tokens_per_s, 2),
            sessions=report.sessions,
            tokens_today=self.account.tokens_today,
            ends=decision.ends,
            app=decision.app,
            app_title=decision.app_title,
            duty=decision.duty,
            use=self.account.budget.status(self.configuration.settings.limits),
            probes=self.lookout.watch.statuses(),
            notices=(*self.configuration.notices, *self.notices(), *changed_files(facts)),
            loading=download(facts),
            network=facts.report.network,
            nearby=facts.nearby,
            ports=self.supervisor.ports,
            audits=self.gateway.audits,
            questions=tuple(item for item in self.memory.state.questions if item.is_open),
            is_confirmed=self.configuration.is_confirmed,
            leader_heard_at=self.members.leader_heard_at(self.configuration.swarm),
        )

    def swarm(self) -> SwarmStatus | None:
        """Return what is known of the served swarm, from the engine or from what is remembered of an earlier one."""
        swarm = self.configuration.swarm
        facts = self.supervisor.facts_of(swarm)
        age_s = time.monotonic() - facts.reported_at
        return swarm_status(swarm, facts, self.memory.state.swarm, age_s, time.time())

    def served(self) -> Served | None:
        """Return what this machine serves, and how."""
        facts = self.supervisor.facts_of(self.configuration.swarm)
        return served(self.swarm(), facts, is_running=self.supervisor.pid is not None)
