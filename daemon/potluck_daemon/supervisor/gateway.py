"""Runs the gateway's process for the daemon: starts it, follows its reports, ends it when nobody uses it.

One that has served and then fails is started again after growing delays, at the same port and with the same token.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from urllib.parse import urlsplit

from msgspec import structs
from potluck_control.gateway_messages import GatewayChange, GatewayOpening, GatewayReport, GatewaySwarm
from potluck_control.methods.gateway import GatewayState, GatewayStatus
from potluck_control.own_python import python_command
from potluck_control.schema import AuditStatus, Transition
from potluck_control.states import Reason, State

from potluck.errors import PotluckError
from potluck.p2p.runtime_dir import remove_dead
from potluck.protocol.codec import decode, encode
from potluck.protocol.swarm import Swarm
from potluck.sentences import NOTHING, Sentence, sentence
from potluck.tasks import cancel_and_wait, start_task
from potluck_daemon.child import Child, started
from potluck_daemon.gateway_keys import GatewayKeys
from potluck_daemon.supervisor.backoff import STABLE_S, delay_s
from potluck_daemon.supervisor.diagnosis import signal_name

log = logging.getLogger(__name__)
gateway_log = logging.getLogger("gateway")

_TOKEN_BYTES = 32
_MAX_WRONG = 20  # servers that are named
_END_TIMEOUT_S = 5.0  # for a process that has closed its output
_GAMES = (Reason.GAME, Reason.EXCLUSIVE_APP, Reason.FULL_SCREEN)
START_TIMEOUT_S = 600.0  # time to read a cold disk and to download the embeddings


class Gateway:
    """Holds at most one gateway process. Times are Unix seconds, because people see them."""

    def __init__(self, keys: GatewayKeys, on_found: Callable[[Sentence], None]) -> None:
        """`keys` lets programs in. `on_found` hears of servers that computed wrongly."""
        self.keys = keys
        self._on_found = on_found
        self.found = NOTHING  # what `on_found` heard last
        self._swarm = ""  # prefix of the swarm that is used, or was used last
        self._audits = self._earlier_audits = AuditStatus()  # of the process that runs, and of those before
        self._distrusted: set[str] = set()  # people
        self.status = GatewayStatus(GatewayState.STOPPED)
        self._task: asyncio.Task[None] | None = None
        self._child: Child | None = None
        self._offered: tuple[GatewaySwarm, ...] = ()  # to the process that runs
        self.token = ""
        self._port = 0  # at which it has served; 0: it has not
        self._end_after_s = 0.0
        self._stays = False
        self._has_game = False
        self._is_asked_for = asyncio.Event()  # so that one that failed starts without a delay

    @property
    def audits(self) -> AuditStatus:
        """What all processes for that swarm found."""
        return _added(self._earlier_audits, self._audits)

    def start(
        self,
        python: str,
        environment: Mapping[str, str],
        swarm: Swarm,
        opening: Callable[[], Awaitable[GatewayOpening]],
        *,
        end_after_s: float,
        stays: bool = False,
    ) -> None:
        """Start the process. None may be running.

        Args:
            opening: what to open, with the new `token`; awaited while the process imports. It may raise PotluckError.
            stays: it does not end when nobody uses it.
        """
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._end_after_s, self._stays = end_after_s, stays
        if swarm.prefix != self._swarm:
            self._swarm, self._earlier_audits = swarm.prefix, AuditStatus()
        self.status = GatewayStatus(GatewayState.STOPPED, swarm=swarm.name, model=swarm.model)
        self._begin_again()
        command = python_command(python, "-m", "potluck_gateway")
        self._task = start_task(self._life(partial(self._run, command, environment, opening)))

    def go_on(self, *, stays: bool) -> None:
        """Keep the process that runs, or start one that failed without waiting. `stays`: even if nobody uses it."""
        if stays:
            self._stays = True
            self.status = structs.replace(self.status, ends_at=None)
        if self.status.state is GatewayState.FAILED:
            self._begin_again()

    async def tell_keys(self) -> None:
        """Let in only those with one of the keys, and those with the token."""
        if self._child is not None:
            await self._child.say(encode(GatewayChange(key_hashes=self.keys.hashes())) + b"\n")

    async def tell_swarms(self, swarms: tuple[GatewaySwarm, ...]) -> None:
        """Offer these swarms, the one that was opened at first, and no others."""
        is_new = [each.identity for each in swarms] != [each.identity for each in self._offered]
        if self._child is not None and is_new:
            self._offered = swarms
            await self._child.say(encode(GatewayChange(swarms=swarms)) + b"\n")

    def hear(self, transition: Transition) -> None:
        """End the process when a game starts, unless it was asked to stay. It may be started again during the game."""
        had_game, self._has_game = self._has_game, transition.state is State.YIELDED and transition.reason in _GAMES
        if self._has_game and not had_game and not self._stays and not self.is_over:
            start_task(self.stop())

    @property
    def is_over(self) -> bool:
        """Return whether no process runs, and none will before the next `start`."""
        return self._task is None or self._task.done()

    async def stop(self) -> None:
        has_failed = self.is_over and self.status.state is GatewayState.FAILED
        await cancel_and_wait(self._task)
        self._task = None
        if not has_failed:
            self.status = GatewayStatus(GatewayState.STOPPED)

    def _begin_again(self) -> None:
        """Note that the process starts, and end the wait before that."""
        state, old = GatewayState.STARTING, self.status
        self.status = GatewayStatus(state, swarm=old.swarm, model=old.model, step=sentence("Starting"))
        self._is_asked_for.set()

    async def _life(self, run: Callable[[], Awaitable[Sentence]]) -> None:
        """Run the process, and again if it fails after it has served, until nobody uses it."""
        failures, self._port = 0, 0
        while True:
            begin = time.monotonic()
            problem = await run()
            old = self.status
            ended = self.status = GatewayStatus(GatewayState.STOPPED, swarm=old.swarm, model=old.model)
            if not problem:
                return
            self.status = structs.replace(ended, state=GatewayState.FAILED, is_waiting=old.is_waiting, problem=problem)
            log.warning("the chat gateway ended: %s", problem)
            if not self._port:
                return
            failures = 1 if time.monotonic() - begin >= STABLE_S else failures + 1
            self._is_asked_for.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay_s(failures, explained=False)):
                    await self._is_asked_for.wait()
            self._begin_again()

    async def _run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        opening: Callable[[], Awaitable[GatewayOpening]],
    ) -> Sentence:
        """Run one process to its end. Return why it failed; nothing if it ended because nobody used it."""
        try:
            async with started(command, environment) as child:
                telling = start_task(self._tell_opening(child, opening))
                try:
                    if await self._follow(child):
                        return NOTHING
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_END_TIMEOUT_S):
                            await child.wait()
                finally:
                    await cancel_and_wait(telling)
            for line in await child.last_lines():
                gateway_log.info("%s", line)
            return self.status.problem or _reason(await child.wait(), await child.last_words())
        except OSError as error:
            return sentence("cannot run {path}: {why}", path=command[0], why=str(error.strerror))
        except Exception as error:  # of either side
            log.exception("the chat gateway cannot be followed")
            return sentence("the gateway is not understood: {why}", why=str(error))
        finally:
            self._child = None
            self._earlier_audits, self._audits = self.audits, AuditStatus()
            remove_dead()  # it was killed, so its node's sockets are still there

    async def _tell_opening(self, child: Child, opening: Callable[[], Awaitable[GatewayOpening]]) -> None:
        """Tell the process what to open, or end it if there is nothing."""
        try:
            wanted = await opening()
        except PotluckError as error:
            self.status, self._port = (
                structs.replace(self.status, problem=error.whole),
                0,
            )  # the next one would get the same answer
            child.kill()
            return
        wanted = structs.replace(wanted, distrusted=tuple(sorted(self._distrusted)), port=self._port or wanted.port)
        await child.say(encode(wanted) + b"\n")
        self._child, self._offered = child, wanted.swarms

    async def _follow(self, child: Child) -> bool:
        """Follow the reports. Return True when nobody has used the gateway for long, False when it has ended."""
        wait_s = START_TIMEOUT_S
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    line = await child.line()
            except TimeoutError:
                is_ready = self.status.state is GatewayState.READY
                if is_ready and self._stays:
                    continue
                if not is_ready:
                    self.status = structs.replace(self.status, problem=sentence("it did not start in time"))
                return is_ready
            if not line:
                return False
            self._hear(decode(GatewayReport, line))
            if self.status.state is GatewayState.READY:
                wait_s = self._end_after_s
                self.status = structs.replace(self.status, ends_at=None if self._stays else time.time() + wait_s)

    def _hear(self, report: GatewayReport) -> None:
        if report.audits is not None:
            self._audits = report.audits
        if report.found:
            self._distrusted |= set(report.distrusted)
            self.found = report.found
            self._on_found(report.found)
        if report.url:
            ready, self._port = GatewayState.READY, urlsplit(report.url).port or 0
            self.status = structs.replace(
                self.status,
                state=ready,
                url=report.url,
                token=self.token,
                step=NOTHING,
                is_waiting=False,
                notice=report.notice,
            )
        elif report.key_hash:
            self.keys.note_answer(report.key_hash, report.tokens)
        elif report.problem:
            self.status = structs.replace(self.status, problem=report.problem)
        elif report.step:
            self.status = structs.replace(self.status, step=report.step, is_waiting=report.is_waiting)


def _reason(code: int, last_words: str) -> Sentence:
    if code < 0:
        return sentence("it was ended by signal {name}", name=signal_name(-code))
    if not last_words:
        return sentence("it ended with code {number}", number=code)
    return sentence("it ended with code {number}: {why}", number=code, why=last_words)


def _added(one: AuditStatus, other: AuditStatus) -> AuditStatus:
    wrong = tuple(dict.fromkeys((*one.wrong, *other.wrong)))[-_MAX_WRONG:]
    return AuditStatus(one.checked + other.checked, one.undecided + other.undecided, wrong)
