"""Runs at most one engine and brings it to the phase that the policy wants, one order at a time.

    phase        on                                 to
    ended        START                              starting
    ended        PREPARE                            preparing    (it imports, and waits for its launch)
    preparing    START                              starting
    starting     Joining                            joining
    joining      Online                             online
    online       DRAIN                              finishing    (its sessions go on)
    online       OFFLOAD                            offloading   (Freed, or killed after OFFLOAD_TIMEOUT_S)
    offloading   Freed                              offloaded
    offloaded, finishing    RESTORE                 restoring
    restoring    Online                             online
    online, restoring   FilesChanged, not served    joining
    any          STOP                               stopping     (exit, SIGTERM after STOP_TIMEOUT_S, then SIGKILL;
                                                                  SIGKILL at once before it got its launch)
    any          exit, silence for SILENCE_S        ended        (a failure, unless it was asked to stop)

An engine that misses a deadline is killed: that frees its memory at once, and its clients continue elsewhere. Only the
time in which this process runs counts, so a computer may sleep. An engine that somebody stopped (SIGSTOP) is silent,
too, but does not hang: it is left alone while nobody needs its memory.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from potluck_control.api.liveness import STOPPED, read_pulse
from potluck_control.api.schema import EngineStatus
from potluck_control.processes import engine_messages
from potluck_control.processes.engine_report import NetworkCaps
from potluck_control.processes.launch_spec import LaunchSpec
from potluck_control.processes.python_command import python_command

from potluck.errors import UsageError
from potluck.p2p.listening import tcp_ports
from potluck.p2p.runtime_dir import remove_dead
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Sentence, sentence
from potluck.tasks import sleep_running, start_task
from potluck_daemon.policy.model import EngineOrder, EngineView, Phase
from potluck_daemon.supervisor.facts import EngineFacts
from potluck_daemon.supervisor.failures import STABLE_AFTER_S, EngineExit, delay_s, diagnose
from potluck_daemon.supervisor.process import EngineProcess
from potluck_daemon.supervisor.standby import OnMessage, Standby

log = logging.getLogger(__name__)

HELLO_TIMEOUT_S = 120.0  # importing torch from a cold disk
SILENCE_S = 30.0
OFFLOAD_TIMEOUT_S = 3.0
STOP_TIMEOUT_S = 8.0
TERM_TIMEOUT_S = 3.0
_DRAIN_S = 600.0  # time for open sessions to end after the swarm has changed its model
_LOADED = (Phase.STARTING, Phase.JOINING, Phase.ONLINE, Phase.FINISHING, Phase.RESTORING)
_SERVING = (Phase.ONLINE, Phase.FINISHING)
_JOINED = (Phase.JOINING, Phase.ONLINE, Phase.OFFLOADING, Phase.OFFLOADED, Phase.RESTORING, Phase.FINISHING)


class Supervisor:
    """Starts, watches and ends the engine. The event loop runs the callbacks.

    Args:
        on_change: called after everything that may change a decision.
        on_message: called with each message of the engine or the standby node, and the launch that it got.
        on_end: called when an engine has ended, with True if an engine of its size would run out of memory again.
    """

    def __init__(
        self,
        on_change: Callable[[], None],
        on_message: OnMessage = lambda launch, message: None,
        on_end: Callable[[bool], None] = lambda is_memory_short: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_change = on_change
        self._on_message = on_message
        self._on_end = on_end
        self._clock = clock
        self._engine: EngineProcess | None = None
        self._standby = Standby(on_message)
        self._handing_over: asyncio.Task[None] | None = None
        self._phase = Phase.ENDED
        self._last_change: tuple[str, float] | None = None  # the swarm's new prefix, and until when sessions may go on
        self._launch: LaunchSpec | None = None  # None: there is no engine, or it is only prepared
        self._python = ""  # the interpreter of the last engine
        self._is_greeted = False
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.Task[None] | None = None
        self._is_stopped = False  # somebody stopped its process (SIGSTOP)
        self._started_at = 0.0
        self._online_at: float | None = None
        self._failures = 0  # failures in a row
        self._restarts = 0
        self._failure = NOTHING
        self._retry_at: float | None = None
        self._duty = 1.0
        self._caps: NetworkCaps | None = None  # the caps that the engine knows
        self._online_bytes = 0  # device memory that it used when it last served
        self.facts = EngineFacts()

    @property
    def pid(self) -> int | None:
        return self._engine.pid if self._engine is not None else None

    def facts_of(self, swarm: Swarm | None) -> EngineFacts:
        """Return what the nodes of this computer know of a swarm and its present model.

        The span is the one that is served now. At the addresses others find this computer, or found it last.
        """
        facts, node = self.facts.in_swarm(swarm), self._standby
        if self._phase not in _SERVING:
            facts = facts.without_serving()
        if swarm is None or node.swarm is None or not node.swarm.is_same(swarm):
            return facts
        nearby = facts.nearby if node.nearby is None else node.nearby
        return replace(facts, addresses=node.addresses or facts.addresses, nearby=nearby)

    def has_reached(self, swarm: Swarm | None) -> bool:
        """Return whether a node of this computer has reached the swarm and can send its members something."""
        reached = self.facts.swarm if self._phase in _JOINED else self._standby.swarm
        is_in = self._phase in _JOINED or bool(self._standby.addresses)
        return is_in and swarm is not None and reached is not None and reached.is_same(swarm)

    @property
    def is_starting(self) -> bool:
        """True if an engine is on its way into the swarm and will be found there soon."""
        return self._phase in (Phase.STARTING, Phase.JOINING)

    @property
    def ports(self) -> tuple[int, ...]:
        """The TCP ports at which others find this computer now."""
        return tcp_ports(self._standby.addresses or (self.facts.addresses if self._engine is not None else ()))

    def view(self, wanted: LaunchSpec | None, python: str) -> EngineView:
        """Return what the policy needs to know. The failure of an engine in another `python` causes no wait."""
        facts, runs = self.facts, self._launch or wanted
        is_same = python == self._python
        is_outdated = self._task is not None and not (is_same and self._launch in (None, wanted))
        return EngineView(
            phase=self._phase,
            serving=facts.serving(runs.swarm.model if runs is not None else ""),
            failure=self._failure,
            retry_at=self._retry_at if is_same else None,
            is_outdated=is_outdated,
            sessions=facts.report.sessions,
            gpu=facts.report.gpu,
            lacking=facts.lacking,
            waiting=facts.waiting,
            drains=is_outdated and self._drains_for(wanted),
            is_stopped=self._is_stopped,
        )

    def _drains_for(self, wanted: LaunchSpec | None) -> bool:
        """Return whether open sessions may go on, because only the swarm's model changed, and not long ago."""
        before = self._launch
        if before is None or wanted is None or before.swarm.prefix == wanted.swarm.prefix:
            return False
        if before.swarm.founder_key is None or before.swarm.founder_key != wanted.swarm.founder_key:
            return False
        if self._last_change is None or self._last_change[0] != wanted.swarm.prefix:
            self._last_change = wanted.swarm.prefix, self._clock() + _DRAIN_S
        return self._clock() < self._last_change[1]

    def status(self) -> EngineStatus:
        """Return what the status of the control API shows of the engine."""
        uptime_s = self._clock() - self._started_at if self._engine is not None else 0.0
        report = self.facts.report
        return EngineStatus(
            *(self.pid, round(uptime_s, 1), self._restarts, self._failure),
            runs_on=report.runs_on,
            runs_on_hint=report.runs_on_hint,
            slow_why=report.slow_why,
        )

    def obey(self, order: EngineOrder, launch: LaunchSpec | None, python: str, environment: Mapping[str, str]) -> None:
        """Carry out an order of the policy without waiting. Only START needs `launch`."""
        match order:
            case EngineOrder.PREPARE if self._task is None:
                self._start(None, python, environment)
            case EngineOrder.START if launch is not None and self._task is None:
                self._start(launch, python, environment)
            case EngineOrder.START if launch is not None and self._phase is Phase.PREPARING:
                self._phase = Phase.STARTING
                self._set_launch(launch)
                self._send_launch()
            case EngineOrder.DRAIN:
                self._enter(Phase.FINISHING, engine_messages.Drain())
            case EngineOrder.OFFLOAD:
                self._enter(
                    Phase.OFFLOADING,
                    engine_messages.Offload(),
                    OFFLOAD_TIMEOUT_S,
                    sentence("it did not free its memory"),
                )
            case EngineOrder.RESTORE:
                self._duty = 1.0  # restoring makes a new throttle
                self._enter(Phase.RESTORING, engine_messages.Restore())
            case EngineOrder.STOP:
                self._stop()

    def stand_by(
        self, launch: LaunchSpec | None, python: str, environment: Mapping[str, str], *, may_begin: bool = True
    ) -> None:
        """Keep a small node in the swarm while no engine is; None: don't.

        An engine that is being started takes over from it, so a node that runs stays until then, and none begins.
        With `may_begin` False none begins either, because an engine will be started in a moment.
        """
        is_needed = may_begin and self._task is None
        if self._handing_over is not None or not (is_needed or self._standby.is_held):
            launch = None
        self._standby.hold(launch, _command(python, "--standby"), environment)

    def throttle(self, duty: float) -> None:
        """Let the engine compute in this share of the time. Only a change is sent."""
        if self._engine is not None and self._phase is Phase.ONLINE and duty != self._duty:
            self._duty = duty
            self._engine.send(engine_messages.Throttle(duty))

    def limit_network(self, caps: NetworkCaps) -> None:
        """Send an engine that has reached its swarm what it may use of the network. Only a change is sent."""
        if self._engine is not None and self._phase in (Phase.JOINING, Phase.ONLINE) and caps != self._caps:
            self._caps = caps
            self._engine.send(engine_messages.Network(caps))

    def send(self, message: engine_messages.Worth | engine_messages.MemberRecords) -> None:
        """Send a message about people to a node that is in the swarm. Other nodes get it when they reach it."""
        if self._engine is not None and self._phase in _JOINED:
            self._engine.send(message)
        if isinstance(message, engine_messages.MemberRecords):
            self._standby.send(message)

    def kill(self, because: Sentence) -> None:
        """Kill the engine, which counts as a failure."""
        if self._engine is not None:
            log.error("killing the engine: %s", because)
            self._engine.kill(because)

    @property
    def needed_bytes(self) -> int:
        """The device memory that the engine lacks to serve as it did before."""
        if self._phase in _LOADED:
            return 0
        return max(self._online_bytes - self.facts.report.memory_used_bytes, 0)

    def forgive(self) -> None:
        """Forget failures, because the user asked for another try."""
        if self._is_stopped:
            self.kill(sentence("its process was stopped"))
        self._retry_at = None
        self._failures = 0

    async def stop(self, timeout_s: float | None = None) -> None:
        """Stop the engine, and wait for its end for at most `timeout_s`."""
        if self._phase is not Phase.STOPPING:
            self._stop()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout_s)

    async def close(self) -> None:
        """Stop the engine and wait for its end."""
        await self.stop()
        await self._standby.leave()

    def _start(self, launch: LaunchSpec | None, python: str, environment: Mapping[str, str]) -> None:
        self._set_launch(launch)
        self._python = python
        self._is_greeted = False
        self._phase = Phase.STARTING if launch is not None else Phase.PREPARING
        self._started_at = self._clock()
        self._online_at = None
        self._retry_at = None
        self._duty = 1.0
        self._caps = None
        self._task = start_task(self._life(_command(python), environment))

    def _set_launch(self, launch: LaunchSpec | None) -> None:
        self._launch = launch
        if launch is not None and self.facts.swarm != launch.swarm:
            self.facts = replace(self.facts_of(launch.swarm), swarm=launch.swarm)

    async def _life(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run one engine from its start to its end."""
        try:
            engine = await EngineProcess.start(command, environment, self._apply)
        except UsageError as error:
            end = EngineExit(127, failed=engine_messages.Failed(error.sentence, error.advice))
        else:
            self._engine = engine
            log.info("engine started as process %d", engine.pid)
            if self._phase is Phase.STOPPING:  # asked for while the process was being started
                self._stop()
            else:
                self._expect(HELLO_TIMEOUT_S, sentence("it did not start in time"))
            end = await engine.ended
        self._ended(end)

    def _ended(self, end: EngineExit) -> None:
        self._cancel_deadline()
        self._is_stopped = False
        self._handing_over = None
        was_asked = self._phase is Phase.STOPPING
        if self._launch is not None:
            remove_dead(self._launch.runtime_dir)
        ran_s = self._clock() - (self._online_at or self._clock())
        self._engine = self._task = None
        self._phase = Phase.ENDED
        self.facts = self.facts.after_end()
        if was_asked:
            log.info("engine ended")
        else:
            self._failures = 1 if ran_s >= STABLE_AFTER_S else self._failures + 1
            self._restarts += 1
            self._failure = diagnose(end)
            wait_s = delay_s(self._failures, explained=end.failed is not None)
            self._retry_at = self._clock() + wait_s
            log.error("%s; next try in %.0f s", self._failure, wait_s)
        is_memory_short = end.ran_out_of_memory and not was_asked
        if is_memory_short:
            self._online_bytes = 0  # the next one will use less
        self._on_end(is_memory_short)
        self._on_change()

    def _apply(self, message: engine_messages.Said) -> None:
        if self._is_stopped:
            self._is_stopped = False
            self._on_change()
        before, self.facts = self.facts, self.facts.after(message, self._clock())
        match message:
            case engine_messages.Hello():
                self._is_greeted = True
                self._send_launch()
            case engine_messages.EngineReport() if self._phase is Phase.ONLINE:
                self._online_bytes = message.memory_used_bytes
            case engine_messages.Joining():
                self._advance({Phase.STARTING: Phase.JOINING})
            case engine_messages.Online():
                self._advance(dict.fromkeys((Phase.STARTING, Phase.JOINING, Phase.RESTORING), Phase.ONLINE))
            case engine_messages.Offline() if self._phase is Phase.OFFLOADING:
                log.info("the swarm knows that this server steps aside")
            case engine_messages.Freed():
                self._advance({Phase.OFFLOADING: Phase.OFFLOADED})
            case engine_messages.FilesChanged(file, is_served) if file and not is_served:
                self._advance(dict.fromkeys((Phase.ONLINE, Phase.RESTORING), Phase.JOINING))
        if self._launch is not None:
            self._on_message(self._launch, message)
        if self._phase not in (Phase.OFFLOADING, Phase.STOPPING, Phase.ENDED):  # these have deadlines of their own
            self._expect(SILENCE_S, sentence("it stopped answering"))
        if self._phase is not Phase.STOPPING and self._is_news(message, before):
            self._on_change()

    def _is_news(self, message: engine_messages.Said, before: EngineFacts) -> bool:
        """Return whether a message may change a decision; `before`: the facts before it."""
        match message:
            case engine_messages.SignedReceipt() | engine_messages.SwarmServers():
                return False
            case engine_messages.EngineReport() if self._phase is Phase.ONLINE:
                return _decisive(message) != _decisive(before.report)
        return True

    def _send_launch(self) -> None:
        """Send the launch once the engine has sent its hello and something is to be served."""
        if self._is_greeted and self._engine is not None and self._launch is not None:
            self._handing_over = start_task(self._hand_over(self._engine, self._launch))

    async def _hand_over(self, engine: EngineProcess, launch: LaunchSpec) -> None:
        """Send the launch when the standby node has left identity and port to the engine."""
        await self._standby.leave()
        engine.send(engine_messages.Launch(launch))

    def _advance(self, moves: Mapping[Phase, Phase]) -> None:
        self._phase = moves.get(self._phase, self._phase)
        if self._phase is Phase.ONLINE:
            self._online_at = self._online_at or self._clock()
            self._failure = NOTHING

    def _enter(
        self,
        phase: Phase,
        command: engine_messages.Command,
        timeout_s: float | None = None,
        because: Sentence = NOTHING,
    ) -> None:
        if self._engine is None:
            return
        self._phase = phase
        self._engine.send(command)
        if timeout_s is not None:
            self._expect(timeout_s, because)

    def _stop(self) -> None:
        if self._task is None:
            return
        self._phase = Phase.STOPPING
        self._cancel_deadline()
        if self._engine is not None:
            self._engine.stop()
            self._deadline = start_task(_after(STOP_TIMEOUT_S, self._terminate))

    def _terminate(self) -> None:
        if self._engine is not None:
            log.warning("the engine does not stop; sending SIGTERM")
            self._engine.terminate()
            self._expect(TERM_TIMEOUT_S, sentence("it did not stop"))

    def _expect(self, timeout_s: float, because: Sentence) -> None:
        """Kill the engine after `timeout_s` unless something cancels or renews this deadline."""
        self._cancel_deadline()
        self._deadline = start_task(_after(timeout_s, partial(self._miss, timeout_s, because)))

    def _miss(self, timeout_s: float, because: Sentence) -> None:
        pulse = read_pulse(self.pid)
        if pulse is None or pulse.state not in STOPPED or self._phase in (Phase.OFFLOADING, Phase.STOPPING):
            self.kill(because)
            return
        log.warning("the engine's process is stopped")
        self._is_stopped = True
        self._expect(timeout_s, because)
        self._on_change()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def _after(seconds: float, act: Callable[[], None]) -> None:
    await sleep_running(seconds)
    act()


def _decisive(report: engine_messages.EngineReport) -> tuple[object, ...]:
    """Return the part of a report that may change a decision about an engine that is online."""
    return report.sessions, report.total_tokens, report.gpu


def _command(python: str, *options: str) -> list[str]:
    """Return the engine's command. It logs as much as its daemon does."""
    verbose = ["--verbose"] if log.isEnabledFor(logging.DEBUG) else []
    return python_command(python or sys.executable, "-m", "potluck_engine", *options, *verbose)
