"""Runs the gateway's process: starts it, follows its reports, and ends it when nobody uses it.

`GatewayTopic` starts a gateway again that has failed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from msgspec import structs
from potluck_control.api.schema import AuditStatus, Transition
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.processes.gateway_messages import (
    GatewayChange,
    GatewayOpening,
    GatewayReport,
    GatewaySwarm,
    key_hash,
)
from potluck_control.processes.python_command import python_command
from potluck_control.states import Reason, State

from potluck.errors import PotluckError
from potluck.p2p.runtime_dir import remove_dead
from potluck.protocol.codec import decode, encode
from potluck.protocol.swarm import Draft, Swarm
from potluck.sentences import NOTHING, Sentence, sentence, verbatim
from potluck.tasks import cancel_and_wait, start_task
from potluck_daemon.child_process import ChildProcess, running_child
from potluck_daemon.settings.configuration import Configuration
from potluck_daemon.settings.state import TimedAnswer
from potluck_daemon.supervisor.failures import signal_name
from potluck_daemon.supervisor.gateway_keys import GatewayKeys

log = logging.getLogger(__name__)
gateway_log = logging.getLogger("gateway")

_MAX_WRONG = 20  # the status names no more servers than this
_END_TIMEOUT_S = 5.0  # limit for a process that has closed its output
_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN)
START_TIMEOUT_S = 600.0  # includes reading a cold disk and downloading the embeddings
Opening = Callable[[], Awaitable[GatewayOpening]]


class Gateway:
    """Holds at most one gateway process. Times are Unix seconds, because people see them.

    Args:
        keys: let programs in.
        on_found: called with a sentence about servers that returned wrong results.
        on_answer: called after each answer.
    """

    def __init__(
        self,
        keys: GatewayKeys,
        configuration: Configuration,
        on_found: Callable[[Sentence], None],
        on_answer: Callable[[TimedAnswer], None],
    ) -> None:
        self.keys = keys
        self._configuration = configuration
        self._on_found = on_found
        self._on_answer = on_answer
        self.found = NOTHING  # the last sentence about wrong results
        self._swarm = ""  # prefix of the swarm that is in use, or was last
        self._audits = self._earlier_audits = AuditStatus()  # what the running process found, and earlier ones
        self._distrusted: set[str] = set()  # people whose servers returned wrong results
        self._status = GatewayStatus(GatewayState.STOPPED)
        self._task: asyncio.Task[None] | None = None
        self._child: ChildProcess | None = None
        self._offered: tuple[GatewaySwarm, ...] = ()  # swarms that the running process offers
        self._token, self._notice = "", NOTHING
        self.port = 0  # the port of a gateway that serves or has crashed; 0: there is none
        self._has_game = False
        self._may_draft = True

    @property
    def audits(self) -> AuditStatus:
        """The findings of all processes for the swarm in use."""
        return _added(self._earlier_audits, self._audits)

    @property
    def stays(self) -> bool:
        """True if the settings want the gateway of this swarm to run always."""
        return self._configuration.keeps_gateway(self._status.swarm)

    @property
    def status(self) -> GatewayStatus:
        return structs.replace(self._status, ends_at=None) if self.stays else self._status

    def start(self, swarm: Swarm, opening: Opening, token: str, notice: Sentence) -> None:
        """Start the process. None may be running.

        Args:
            opening: what to open; awaited while the process imports. It may raise PotluckError.
            token: lets in programs that get it with the status.
            notice: shown to the user once the gateway is ready.
        """
        if swarm.prefix != self._swarm:
            self._swarm, self._earlier_audits, self.port = swarm.prefix, AuditStatus(), 0
        self._token, self._notice = token, notice
        step = sentence("Starting")
        self._status = GatewayStatus(GatewayState.STARTING, swarm=swarm.name, model=swarm.model, step=step)
        self._task = start_task(self._life(opening))

    def clear_problem(self) -> GatewayStatus:
        """Return the status of the gateway that runs, without what `show_problem` added."""
        self._status = structs.replace(self._status, notice=self._notice if self._status.url else NOTHING)
        return self.status

    def show_problem(self, problem: Sentence) -> None:
        """Show why no gateway can be started, although one should run."""
        if problem not in (self._status.problem, self._status.notice):
            log.warning("the gateway cannot start: %s", problem)
        if self.is_over:
            self._status = structs.replace(self._status, state=GatewayState.FAILED, problem=problem)
        else:  # it still serves at its old address
            self._status = structs.replace(self._status, notice=problem)

    async def send_keys(self) -> None:
        """Have the gateway let in programs with one of the present keys or the token, and no others."""
        if self._child is not None:
            await self._child.send(encode(GatewayChange(key_hashes=self._hashes())) + b"\n")

    def _hashes(self) -> tuple[str, ...]:
        return *self.keys.hashes(), key_hash(self._token)

    async def send_swarms(self, swarms: tuple[GatewaySwarm, ...]) -> None:
        """Have the gateway offer these swarms and no others. The first one must be the one it was opened with."""
        if self._child is not None and _named(swarms) != _named(self._offered):
            self._offered = swarms
            await self._child.send(encode(GatewayChange(swarms=swarms)) + b"\n")

    def give_way(self, transition: Transition) -> None:
        """End the process when a game starts, unless it is permanent. It may be started again during the game.

        A gateway that runs during a game, or while memory is short, drafts with no model of its own.
        """
        had_game, could_draft = self._has_game, self._may_draft
        self._has_game = transition.state is State.YIELDED and transition.reason in _GAMES
        self._may_draft = not self._has_game and transition.reason is not Reason.RAM_PRESSURE
        if self._has_game and not had_game and not self.stays and not self.is_over:
            start_task(self.stop())
        elif self._may_draft != could_draft and self._child is not None:
            start_task(self._child.send(encode(GatewayChange(may_draft=self._may_draft)) + b"\n"))

    @property
    def is_over(self) -> bool:
        """True if no process runs."""
        return self._task is None or self._task.done()

    async def stop(self) -> None:
        """End the process and wait for its end."""
        task = self._task
        await cancel_and_wait(task)
        if self._task is task:  # else another one has been started meanwhile
            self._task, self.port = None, 0
            self._status = GatewayStatus(GatewayState.STOPPED)

    async def _life(self, opening: Opening) -> None:
        """Run the process to its end."""
        problem = await self._run(opening)
        old = self._status
        state = GatewayState.FAILED if problem else GatewayState.STOPPED
        self._status = GatewayStatus(
            state, swarm=old.swarm, model=old.model, is_waiting=old.is_waiting, problem=problem
        )
        if problem:
            log.warning("the gateway ended: %s", problem)
        else:
            self.port = 0

    async def _run(self, opening: Opening) -> Sentence:
        """Run the process to its end. Return why it failed; nothing if it ended because nobody used it."""
        python, environment = self._configuration.engine_place
        command = python_command(python, "-m", "potluck_gateway")
        try:
            async with running_child(command, environment) as child:
                sending = start_task(self._send_opening(child, opening))
                try:
                    if await self._follow(child):
                        return NOTHING
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_END_TIMEOUT_S):
                            await child.wait()
                finally:
                    await cancel_and_wait(sending)
            for line in await child.last_lines():
                gateway_log.info("%s", line)
            return self._status.problem or _reason(await child.wait(), await child.last_error())
        except OSError as error:
            return sentence("cannot run {path}: {why}", path=command[0], why=str(error.strerror))
        except Exception as error:  # a mistake of either side
            log.exception("the chat gateway cannot be followed")
            return sentence("the gateway is not understood: {why}", why=str(error))
        finally:
            self._child = None
            self._earlier_audits, self._audits = self.audits, AuditStatus()
            remove_dead()  # a killed process leaves its node's sockets behind

    async def _send_opening(self, child: ChildProcess, opening: Opening) -> None:
        """Send the process what to open, or end it if there is nothing to open."""
        try:
            wanted = await opening()
        except (PotluckError, OSError) as error:
            why = error.whole if isinstance(error, PotluckError) else verbatim(str(error))
            self._status = structs.replace(self._status, problem=why)
            child.kill()
            return
        distrusted = tuple(sorted(self._distrusted))
        wanted = structs.replace(wanted, key_hashes=self._hashes(), distrusted=distrusted, may_draft=self._may_draft)
        self._child, self._offered = child, wanted.swarms  # later changes are sent after this line
        await child.send(encode(wanted) + b"\n")

    async def _follow(self, child: ChildProcess) -> bool:
        """Follow the reports. Return True when the gateway is out of use, False when it has ended by itself."""
        wait_s = START_TIMEOUT_S
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    line = await child.read_line()
            except TimeoutError:
                is_ready = self._status.state is GatewayState.READY
                if is_ready and self.stays:
                    continue
                if not is_ready:
                    self._status = structs.replace(self._status, problem=sentence("it did not start in time"))
                return is_ready
            if not line:
                return False
            self._apply(decode(GatewayReport, line))
            if self._status.state is GatewayState.READY:
                wait_s = self._configuration.settings.chat.end_after_s
                self._status = structs.replace(self._status, ends_at=time.time() + wait_s)

    def _apply(self, report: GatewayReport) -> None:
        if report.audits is not None:
            self._audits = report.audits
        if report.found:
            self._distrusted |= set(report.distrusted)
            self.found = report.found
            self._on_found(report.found)
        if report.url:
            old, self.port = self._status, urlsplit(report.url).port or 0
            self._status = GatewayStatus(
                GatewayState.READY, report.url, self._token, old.swarm, old.model, notice=self._notice
            )
        elif report.key_hash:
            self.keys.count_answer(report.key_hash, report.tokens)
            self._on_answer(TimedAnswer(report.swarm, time.time(), report.timed_tokens, report.answer_s))
        elif report.problem:
            self._status = structs.replace(self._status, problem=report.problem)
        elif report.step:
            self._status = structs.replace(self._status, step=report.step, is_waiting=report.is_waiting)


def _named(swarms: tuple[GatewaySwarm, ...]) -> list[tuple[Swarm, Draft | None]]:
    """Return the parts of these swarms that a gateway loads."""
    return [(each.identity, each.membership.swarm.draft) for each in swarms]


def _reason(code: int, last_error: str) -> Sentence:
    if code < 0:
        return sentence("it was ended by signal {name}", name=signal_name(-code))
    if not last_error:
        return sentence("it ended with code {number}", number=code)
    return sentence("it ended with code {number}: {why}", number=code, why=last_error)


def _added(one: AuditStatus, other: AuditStatus) -> AuditStatus:
    wrong = tuple(dict.fromkeys((*one.wrong, *other.wrong)))[-_MAX_WRONG:]
    return AuditStatus(one.checked + other.checked, one.undecided + other.undecided, wrong)
