"""What the daemon shows of itself: one status put together from what its parts know. It changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version

from potluck_control.methods.models import Served
from potluck_control.schema import AuditStatus, Status, SwarmStatus

from potluck.sentences import Sentence
from potluck_daemon.account import ServingAccount
from potluck_daemon.configuration import Configuration
from potluck_daemon.lookout import Lookout
from potluck_daemon.loop import ServingLoop
from potluck_daemon.metering.load import CpuMeter
from potluck_daemon.reporting.display import changed_files, download, load_status, served, swarm_status
from potluck_daemon.settings.state import StateFile
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.keeping import MembersKeeper


class DaemonView:
    """`notices` and `audits` add what the status page should say of parts that the view does not know."""

    def __init__(
        self,
        loop: ServingLoop,
        configuration: Configuration,
        memory: StateFile,
        supervisor: Supervisor,
        lookout: Lookout,
        account: ServingAccount,
        members: MembersKeeper,
        notices: Callable[[], tuple[Sentence, ...]],
        audits: Callable[[], AuditStatus],
    ) -> None:
        self._loop = loop
        self._configuration = configuration
        self._memory = memory
        self._supervisor = supervisor
        self._lookout = lookout
        self._account = account
        self._members = members
        self._notices = notices
        self._audits = audits
        self._meter = CpuMeter()
        self.version = version("potluck")
        self.started_at = time.time()

    @property
    def is_serving(self) -> bool:
        return self._loop.is_serving

    def status(self) -> Status:
        shown, decision, report = self._loop.shown, self._loop.decision, self._supervisor.facts.report
        facts = self._supervisor.facts_of(self._configuration.swarm)
        return Status(
            state=shown.state,
            reason=shown.reason,
            text=shown.text,
            since=shown.at,
            version=self.version,
            until=self._loop.until,
            engine=self._supervisor.status(),
            swarm=self.swarm(),
            load=load_status(self._meter.sample(self._supervisor.pid), report),
            tokens_per_s=round(self._account.counts.tokens_per_s, 2),
            sessions=report.sessions,
            tokens_today=self._account.tokens_today,
            ends=decision.ends,
            app=decision.app,
            app_title=decision.app_title,
            duty=decision.duty,
            use=self._account.budget.status(self._configuration.settings.limits),
            probes=self._lookout.watch.statuses(),
            notices=(*self._configuration.notices, *self._notices(), *changed_files(facts)),
            loading=download(facts),
            network=facts.report.network,
            nearby=facts.nearby,
            ports=self._supervisor.ports,
            audits=self._audits(),
            questions=tuple(item for item in self._memory.state.questions if item.is_open),
            is_confirmed=self._configuration.is_confirmed,
            leader_heard_at=self._members.leader_heard_at(self._configuration.swarm),
        )

    def swarm(self) -> SwarmStatus | None:
        """Return what is known of the served swarm, from the engine or from what is remembered of an earlier one."""
        swarm = self._configuration.swarm
        facts = self._supervisor.facts_of(swarm)
        age_s = time.monotonic() - facts.reported_at
        return swarm_status(swarm, facts, self._memory.state.swarm, age_s, time.time())

    def served(self) -> Served | None:
        """Return what this machine serves, and how."""
        facts = self._supervisor.facts_of(self._configuration.swarm)
        return served(self.swarm(), facts, is_running=self._supervisor.pid is not None)
