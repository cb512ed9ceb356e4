"""The daemon: holds the pieces together and turns the policy's decisions into orders.

    something happens (a probe, the engine, a command, a timer)  ->  `wake`
    `_step`: gather inputs -> `policy.decide` -> order to the supervisor, level to the probes, news to readers

Start: lock, state, settings, control socket, READY, loop. Stop: engine, probes, socket, state, lock. While it is paused
nothing wakes it but the end of the pause, a command, the watchdog and a look at two files every few seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from potluck_control.engine_messages import Signed, Vouched
from potluck_control.methods.models import Served
from potluck_control.places import Places
from potluck_control.schema import Metrics, Status, SwarmStatus, Transition
from potluck_control.states import Reason, State

from potluck.errors import PotluckError, UsageError
from potluck.files import remove_litter
from potluck.protocol.swarm import Swarm
from potluck_daemon.commands import Commands
from potluck_daemon.control.events import Broadcast
from potluck_daemon.control.peers import AccessRule
from potluck_daemon.control.server import ControlServer
from potluck_daemon.environment.interpreter import engine_python, has_torch
from potluck_daemon.host.instance import InstanceLock
from potluck_daemon.host.notify import ServiceManager
from potluck_daemon.ledger.clerk import Clerk
from potluck_daemon.metering.energy import Power
from potluck_daemon.metering.load import CpuMeter, available_memory_bytes
from potluck_daemon.metering.measuring import Measuring
from potluck_daemon.metering.usage import DayUse
from potluck_daemon.policy.budget import Budget, models_folder
from potluck_daemon.policy.decide import Decision, Inputs, Limits, decide, has_game, is_finished
from potluck_daemon.policy.terms import network_caps
from potluck_daemon.presence.agents import AgentReports
from potluck_daemon.presence.choose import probes_for
from potluck_daemon.presence.nvml import NvmlReader
from potluck_daemon.presence.probe import Surroundings
from potluck_daemon.presence.watch import Level, Watch
from potluck_daemon.reporting import logs
from potluck_daemon.reporting.contribution import ContributionBook, Counters, given
from potluck_daemon.reporting.counters import TokenCounts, count, stopped
from potluck_daemon.reporting.display import download, load_status, served, swarm_status
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.metrics.families import families
from potluck_daemon.reporting.metrics.page import MetricsPage
from potluck_daemon.settings.accepted import AcceptedSettings
from potluck_daemon.settings.schema import Settings
from potluck_daemon.settings.state import Pause, StateFile
from potluck_daemon.settings.store import Loaded
from potluck_daemon.settings.wanted import Wanted, read_wanted, stamps
from potluck_daemon.supervisor.supervisor import Supervisor
from potluck_daemon.swarms.contact import free_port, peers_to_ask

log = logging.getLogger(__name__)

PUBLISH_INTERVAL_S = 1.0  # of numbers that change by themselves, while somebody looks
CHORES_INTERVAL_S = 5.0
LOG_LOOK_S = 3600.0
MEMORY_LOOK_S = 2.0  # while a game runs beside an engine that has not ended


class Daemon:
    """`run()` once; `end()` makes it return. `group`: whose members may speak to a system service."""

    def __init__(self, places: Places, *, group: str | None, environment: Mapping[str, str] = os.environ) -> None:
        self.environment = environment
        self.places = places
        self._lock = InstanceLock(places.lock_file)
        self._manager = ServiceManager(environment)
        self._settings = AcceptedSettings(places.settings_file, places.accepted_settings_file, environment)
        self._memory = StateFile(places.state_file)
        self._broadcast = Broadcast()
        self._supervisor = Supervisor(self.wake, self._hear_of_receipts)
        self.clerk = Clerk(places.ledger_file, places.identity_file, places.receipts, self._supervisor.tell)
        self._commands = Commands(self)
        self._server = ControlServer(
            places.socket, AccessRule(os.getuid(), group), self._commands.handlers(), self._broadcast
        )
        self._meter = CpuMeter()
        self._changed = asyncio.Event()
        self._is_ending = False
        self._finish_by: float | None = None  # monotonic; told to finish what is open and to end then
        self._counts = TokenCounts()
        self._shown = Transition(time.time(), State.IDLE, State.IDLE, Reason.START_UP, "Starting up")
        self._until: float | None = None
        self._decision: Decision | None = None
        self._state_notice: str | None = None
        self._wanted = Wanted()
        self._surroundings = Surroundings(environment=environment)
        self._reader = NvmlReader()
        self._budget = Budget(environment, self._reader)
        self.agents = AgentReports()
        self._stamps = stamps(places)
        self._page = MetricsPage(lambda: families(self.status(), self._supervisor.facts.report.metrics))
        self._turning_page: asyncio.Task[None] | None = None
        self._watch = self._new_watch()
        self.loaded = Loaded(Settings())  # the settings that are obeyed
        self.measuring = Measuring((), 0.0)
        self.contribution = ContributionBook(places.contribution_file)
        self._counters = Counters(0.0, False, 0, DayUse())
        self.version = version("potluck")
        self.started_at = time.time()
        self.history = HistoryFile(places.history_file)

    async def run(self) -> None:
        """Serve until `end()`. Raises AlreadyRunningError."""
        self._lock.acquire()
        try:
            for folder in (self.places.config, self.places.state):
                remove_litter(folder, time.time())
            self._settings.take_back()
            self._state_notice = self._memory.load()
            self._counts = TokenCounts(self._memory.state.tokens_day, self._memory.state.tokens)
            self._budget.use = self._memory.state.use
            self.measuring = Measuring(self._memory.state.devices, self._memory.state.measured_at)
            self._counters = Counters(time.monotonic(), False, 0, self._budget.use)
            self.contribution.open()
            self._choose_port()
            self.history.load()
            await self.clerk.start()
            self.reload()
            await self._server.start()
            self._manager.ready()
            log.info("daemon %s started as process %d", self.version, os.getpid())
            await self._serve()
        finally:
            await self._close()

    # --- what commands may do ----------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Something changed: decide again soon."""
        self._changed.set()

    def end(self) -> None:
        """Leave politely: called by signals and by `shutdown`."""
        self._is_ending = True
        self.wake()

    def drain(self, seconds: float) -> None:
        """Take no new work, let sessions end for so long, then `end`; `resume` takes it back."""
        self._finish_by = time.monotonic() + seconds
        self._step()
        self.wake()

    def pause(self, until: float | None, *, until_game_ends: bool = False, at_once: bool = False) -> None:
        """Until a Unix time, or None: until resumed. `at_once`: the memory first, everything else after that.

        Raises:
            UsageError: there is no game whose end to wait for.
        """
        if until_game_ends and not has_game(self._watch.presence):
            raise UsageError("no game is running as far as one can see", hint="name a time: potluck pause 2h")
        self._memory.state = replace(self._memory.state, pause=Pause(time.time(), until, until_game_ends, at_once))
        self._memory.save()
        self._step()  # now, so that the caller's answer shows it
        self.wake()

    def resume(self) -> None:
        """End a pause, a wait after a failure and the quiet time after a game; a game that still runs is obeyed."""
        self._finish_by = None
        self._memory.state = replace(self._memory.state, pause=None)
        self._memory.save()
        self._supervisor.forgive()
        self._watch.forget_quiet()
        self._step()
        self.wake()

    def reload(self) -> None:
        """Read settings and swarms again; the engine is started anew if it has to differ."""
        self._stamps = stamps(self.places)
        self.loaded = self._settings.read()
        wanted = read_wanted(self.loaded, self.places, port=self._memory.state.port)
        for notice in wanted.notices:
            log.warning("%s", notice)
        before, self._wanted = self._wanted, wanted
        if wanted.swarm is not None:
            self.clerk.serve(wanted.swarm)
        self._turning_page = asyncio.create_task(self._page.apply(wanted.settings.metrics))
        if not _same_probes(wanted.settings, before.settings):
            self._watch.set_level(Level.ASLEEP)
            self._watch = self._new_watch()
        self.wake()

    def look_again(self) -> None:
        """The user said what counts: what was seen before does not make anybody wait."""
        self._watch.forget_quiet()
        self._step()

    def invite(self) -> Swarm:
        """The served swarm with an address of this machine among those that newcomers ask first.

        Raises:
            UsageError: there is no swarm, or nobody to ask yet.
        """
        swarm = self._wanted.swarm
        if swarm is None:
            raise UsageError("no swarm is joined", hint="join one with: potluck join INVITE")
        peers = peers_to_ask(swarm.bootstrap_peers, self._supervisor.facts.addresses)
        if not peers:
            raise UsageError("the swarm cannot be found by others yet", hint="try again once this machine serves")
        return replace(swarm, bootstrap_peers=peers)

    def publish(self, event: str, value: object) -> None:
        """To all who read events: one of `schema.EVENT_TYPES`."""
        self._broadcast.publish(event, value)

    @property
    def engine_python(self) -> str:
        """The interpreter of the processes that compute for us."""
        return engine_python(self.places, self._wanted.settings.serve.python)

    @property
    def has_game(self) -> bool:
        """Whether somebody needs the device now."""
        return has_game(self._watch.presence)

    @property
    def models_folder(self) -> Path:
        """Of downloads, as it is wanted now."""
        return models_folder(self._wanted.settings, self.environment)

    def served(self) -> Served | None:
        """What this machine serves, and how."""
        return served(self._swarm_status(), self._supervisor.facts, is_running=self._supervisor.pid is not None)

    @property
    def is_serving(self) -> bool:
        return self._shown.state is State.SERVING

    @property
    def power(self) -> Power:
        """Of serving, lately."""
        return self._budget.power

    @property
    def swarm(self) -> Swarm | None:
        """The one that is served, or would be."""
        return self._wanted.swarm

    def status(self) -> Status:
        report = self._supervisor.facts.report
        return Status(
            state=self._shown.state,
            reason=self._shown.reason,
            text=self._shown.text,
            since=self._shown.at,
            version=self.version,
            until=self._until,
            engine=self._supervisor.status(),
            swarm=self._swarm_status(),
            load=load_status(self._meter.sample(self._supervisor.pid), report),
            tokens_per_s=round(self._counts.tokens_per_s, 2),
            sessions=report.sessions,
            tokens_today=self._counts.today if self._counts.day == _today() else 0,
            ends=self._decision.ends if self._decision else "",
            app=self._decision.app if self._decision else "",
            app_title=self._decision.app_title if self._decision else "",
            duty=self._decision.duty if self._decision else 1.0,
            use=self._budget.status(self._wanted.settings.limits),
            probes=self._watch.statuses(),
            notices=(
                *self._wanted.notices,
                *filter(None, (self._state_notice, self.clerk.notice)),
                *self._commands.notices,
            ),
            loading=download(self._supervisor.facts),
            network=report.network,
        )

    def metrics(self) -> Metrics:
        facts = self._supervisor.facts
        age_s = round(time.monotonic() - facts.reported_at, 1) if facts.reported_at else None
        return Metrics(facts.report.metrics, age_s, self._page.url or "", self._page.problem or "")

    # --- the loop ----------------------------------------------------------------------------------------------------

    async def _serve(self) -> None:
        tasks = [asyncio.create_task(work) for work in (self._keep_alive(), self._keep_publishing(), self._do_chores())]
        try:
            while not self._is_ending:
                self._changed.clear()
                with contextlib.suppress(TimeoutError):  # the decision's own time has come
                    async with asyncio.timeout(self._step()):
                        await self._changed.wait()
            self._step()
        finally:
            for task in tasks:
                task.cancel()

    async def _close(self) -> None:
        """The engine first, the lock last: nobody may start a second daemon beside a leftover of this one."""
        self._manager.stopping()
        await self._supervisor.close()
        await self.clerk.close()
        await self._watch.close()
        await self._page.close()
        await self.measuring.close()
        await self._commands.close()
        await self._server.close()
        self._remember()
        self._memory.save()
        self.contribution.close()
        self._lock.release()
        log.info("daemon ended")

    def _step(self) -> float | None:
        """Decide and act once; returns seconds until the next decision is due, None for never."""
        self._count_tokens()
        self.count_given()
        self._end_expired_pause()
        python = self.engine_python
        inputs = self._inputs(python)
        if inputs.finish_left_s is not None and is_finished(inputs):
            self._is_ending = True
            inputs = replace(inputs, is_ending=True)
            self.wake()
        decision = decide(inputs, time.monotonic())
        self._supervisor.obey(decision.order, self._wanted.launch, python, self.engine_environment())
        self._supervisor.throttle(decision.duty)
        self._supervisor.limit_network(network_caps(self._wanted.settings, inputs.presence))
        self._tell_probes()
        self.clerk.value(self._supervisor.facts.report.accounts)
        self._watch.set_level(Level.RELAXED if inputs.is_pause_of_game else _level(decision))
        self._decision = decision
        self._show(decision)
        is_climbing_down = bool(self._watch.presence.evidence) and self._supervisor.pid is not None
        times = (decision.wake_in_s, MEMORY_LOOK_S if is_climbing_down else None)
        return min((max(item, 0.0) for item in times if item is not None), default=None)

    def _tell_probes(self) -> None:
        situation = self._watch.situation
        situation.engine_pid = self._supervisor.pid
        situation.engine_gpu = self._supervisor.facts.report.gpu
        situation.needed_bytes = self._supervisor.needed_bytes

    def _hear_of_receipts(self, message: Signed | Vouched | None) -> None:
        if message is None:
            self.clerk.look_into_outbox()
        else:
            self.clerk.hear(message)

    def _inputs(self, python: str) -> Inputs:
        settings = self._wanted.settings
        presence = self._watch.presence
        pause = self._memory.state.pause
        swarm = self._wanted.swarm
        return Inputs(
            limits=_limits(settings),
            engine=self._supervisor.view(swarm.model if swarm else "", self._wanted.launch, python),
            presence=presence,
            bars=self._budget.bars(settings, may_download=self._supervisor.pid is None),
            is_ending=self._is_ending,
            finish_left_s=max(self._finish_by - time.monotonic(), 0.0) if self._finish_by is not None else None,
            is_paused=pause is not None,
            pause_left_s=max(pause.until - time.time(), 0.0) if pause and pause.until is not None else None,
            is_pause_of_game=pause is not None and pause.until_game_ends,
            is_pause_at_once=pause is not None and pause.at_once,
            is_enabled=settings.serve.enabled,
            has_swarm=swarm is not None,
            has_engine=self._supervisor.pid is not None or has_torch(python),
            is_memory_short=bool(presence.evidence) and available_memory_bytes() < settings.yield_.reserve_mb << 20,
            is_settled=self._watch.is_settled,
        )

    def _new_watch(self) -> Watch:
        settings = self._wanted.settings
        probes, off = probes_for(settings, self._surroundings, self.agents, self._reader)
        given = settings.yield_
        return Watch(probes, self.wake, likely_interval_s=given.likely_interval_s, never=given.never, switched_off=off)

    def _choose_port(self) -> None:
        if not self._memory.state.port:
            self._memory.state = replace(self._memory.state, port=free_port())
            self._memory.save()

    def _end_expired_pause(self) -> None:
        pause = self._memory.state.pause
        if pause is None:
            return
        has_game_ended = pause.until_game_ends and not has_game(self._watch.presence)
        if has_game_ended or (pause.until is not None and pause.until <= time.time()):
            self._memory.state = replace(self._memory.state, pause=None)

    def engine_environment(self) -> dict[str, str]:
        """Of the processes that compute for us."""
        private = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")  # the engine must not speak for us
        given = {name: value for name, value in self.environment.items() if name not in private}
        return given | {"HF_HUB_CACHE": str(models_folder(self._wanted.settings, self.environment))}

    def _show(self, decision: Decision) -> None:
        """Tell history, log, service manager and readers what changed."""
        self._until = time.time() + decision.left_s if decision.left_s is not None else None
        before = self._shown
        if (before.state, before.reason, before.text) != (decision.state, decision.reason, decision.text):
            self._shown = Transition(
                *(time.time(), before.state, decision.state, decision.reason, decision.text),
                app=decision.app,
                app_title=decision.app_title,
            )
            fields = {"POTLUCK_STATE": decision.state, "POTLUCK_REASON": decision.reason}
            log.info("%s (%s): %s", decision.state, decision.reason, decision.text, extra={"journal": fields})
            self.history.append(self._shown)
            self._manager.status(decision.text)
            self._broadcast.publish_transition(self._shown)
            self._remember()
            self._memory.save()
        if self._broadcast.has_readers:
            self._broadcast.publish_status(self.status())

    def _swarm_status(self) -> SwarmStatus | None:
        facts = self._supervisor.facts
        age_s = time.monotonic() - facts.reported_at
        return swarm_status(self._wanted.swarm, facts, self._memory.state.swarm, age_s, time.time())

    def _count_tokens(self) -> None:
        facts = self._supervisor.facts
        if facts.reported_at > self._counts.last_at:
            self._counts = count(self._counts, facts.report.total_tokens, facts.reported_at, _today())
        if self._supervisor.pid is None:
            self._counts = stopped(self._counts)

    def count_given(self) -> None:
        """Up to now, under the state that is shown."""
        now = Counters(time.monotonic(), self.is_serving, self._counts.served, self._budget.use)
        self.contribution.add(time.time(), given(self._counters, now))
        self._counters = now

    def _remember(self) -> None:
        counts = self._counts
        self._memory.state = replace(
            self._memory.state,
            tokens_day=counts.day,
            tokens=counts.today,
            use=self._budget.use,
            swarm=self._swarm_status(),
            devices=self.measuring.known,
            measured_at=self.measuring.measured_at,
        )

    async def _keep_publishing(self) -> None:
        """Fresh numbers for those who look; nothing at all while nobody does."""
        while True:
            await self._broadcast.wait_for_readers()
            self._count_tokens()
            self._broadcast.publish_status(self.status())
            await asyncio.sleep(PUBLISH_INTERVAL_S)

    async def _do_chores(self) -> None:
        looked_at_log = -math.inf
        while True:
            if time.monotonic() - looked_at_log > LOG_LOOK_S:
                looked_at_log = time.monotonic()
                logs.drop_old(self.places.log_file, time.time())
            await asyncio.sleep(CHORES_INTERVAL_S)
            if stamps(self.places) != self._stamps:
                log.info("settings, swarms or the engine's environment changed")
                self.reload()
            if self._supervisor.pid is not None:
                await self.count_use()
                self._remember()
                self._memory.save_if_due()
            self.contribution.save_if_due()
            self._commands.tick(time.time())

    async def count_use(self) -> None:
        """Traffic and energy up to now, unless that was just done; a cap that is reached does not wait."""
        try:
            await self._budget.sample(
                self._supervisor.pid, self._supervisor.facts.report.gpu, self._wanted.settings.limits
            )
        except PotluckError as error:
            self._supervisor.give_up(error.message)
        if self._budget.bars(self._wanted.settings, may_download=False):
            self.wake()

    async def _keep_alive(self) -> None:
        """The watchdog's sign of life comes from the loop, so it stops when the loop hangs."""
        while self._manager.watchdog_s is not None:
            self._manager.alive()
            await asyncio.sleep(self._manager.watchdog_s / 3)


_ASLEEP = frozenset(
    {
        *(Reason.USER, Reason.TIMER, Reason.NO_SWARM, Reason.SWITCHED_OFF, Reason.SCHEDULE, Reason.DISK),
        *(Reason.UPLOAD_CAP, Reason.DOWNLOAD_CAP, Reason.COST_CAP, Reason.NO_ENGINE),
    }
)


def _level(decision: Decision) -> Level:
    if decision.reason in _ASLEEP and decision.state is not State.DRAINING:
        return Level.ASLEEP
    return Level.RELAXED if decision.state in (State.YIELDED, State.IDLE, State.DRAINING) else Level.URGENT


def _limits(settings: Settings) -> Limits:
    given = settings.yield_
    return Limits(
        quiet_certain_s=given.quiet_certain_s,
        quiet_likely_s=given.quiet_likely_s,
        end_engine_after_s=given.end_engine_after_s,
        only_when_idle=settings.when.only_when_idle,
        active_duty=settings.when.active_percent / 100,
        same_gpu_only=given.same_gpu_only,
    )


def _same_probes(one: Settings, other: Settings) -> bool:
    return (one.yield_, one.when, one.limits) == (other.yield_, other.when, other.limits)


def _today() -> str:
    return time.strftime("%Y-%m-%d")
