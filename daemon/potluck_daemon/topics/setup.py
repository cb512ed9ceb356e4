"""`setup.*` of the control API. A process of its own makes the engine's environment, and prints its progress."""

from __future__ import annotations

import asyncio
import logging
import sys
import time

from msgspec import structs
from potluck_control.api.method import Empty
from potluck_control.methods import installation
from potluck_control.methods.installation import BeginParams, Problem, SetupState, WorkProgress
from potluck_control.processes.python_command import python_command

from potluck.errors import PotluckError, UsageError
from potluck.processes import tied_to_parent
from potluck.protocol.codec import encode
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, in_own_thread, start_task
from potluck_daemon.child_process import follow_work
from potluck_daemon.environment.hardware import Hardware, read_hardware
from potluck_daemon.environment.plan import SetupRequest, read_state
from potluck_daemon.environment.store import Store
from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

PROGRAM = python_command(sys.executable, "-m", "potluck_daemon.environment")
HARDWARE_INTERVAL_S = 60.0  # GPUs and driver are read again after so long, because reading them takes a moment
REPAIR_INTERVAL_S = 600.0  # interval of attempts to set the engine up again; there may be no network yet


class SetupTopic(Topic):
    """The engine's environment: its state, and at most one set-up at a time. It repairs one whose Python is gone."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._asked = BeginParams()  # the request of the set-up that runs
        self._machine: Hardware | None = None
        self._read_at = 0.0  # monotonic; when `_machine` was read
        self._repair_at = 0.0  # monotonic
        self._state: SetupState | None = None  # lacks the progress, which `_with_progress` adds
        self._task: asyncio.Task[None] | None = None
        self._progress: WorkProgress | None = None  # None: no set-up runs
        self._problem: Problem | None = None  # why the last set-up failed

    def tick(self, now: float) -> None:
        """Set the engine up again, now and then, if its Python is gone."""
        if time.monotonic() >= self._repair_at:
            self._repair_at = time.monotonic() + REPAIR_INTERVAL_S
            self.tasks.start(self._repair())

    async def _repair(self) -> None:
        """Make an environment whose Python is gone anew, in the same variant, so that a server serves again."""
        configuration = self._configuration
        orphan = await asyncio.to_thread(Store(configuration.places.engines).orphan)
        if orphan is None or configuration.settings.serve.python or self._progress is not None:
            return
        log.warning("the engine's Python %s is gone; the engine is set up with another one", orphan.python)
        try:
            await self._begin(BeginParams(orphan.variant))
        except PotluckError as error:
            log.warning("the engine cannot be set up: %s", error)

    async def close(self) -> None:
        """End a set-up that runs; the next one continues it."""
        await super().close()
        await cancel_and_wait(self._task)

    @answers(installation.SETUP_STATE)
    async def _get(self, _: Empty) -> SetupState:
        return self._with_progress(await self._read_state(self._asked))

    @answers(installation.BEGIN_SETUP)
    async def _begin(self, params: BeginParams) -> SetupState:
        """Start a set-up. `_read_state` refuses what no machine could have; the process finds the rest."""
        self._refuse_second()
        await self._read_state(params)
        return await self._start(SetupRequest(self._engines, params))

    @answers(installation.ROLL_BACK_SETUP)
    async def _roll_back(self, _: Empty) -> SetupState:
        self._refuse_second()
        if not (await self._read_state(BeginParams())).can_roll_back:
            raise UsageError(sentence("there is no earlier environment to go back to"))
        return await self._start(SetupRequest(self._engines, rolls_back=True))

    @answers(installation.CANCEL_SETUP)
    async def _cancel(self, _: Empty) -> SetupState:
        """End a set-up that runs; the next one continues it."""
        await cancel_and_wait(self._task)
        state = await self._get(Empty())
        self._publish()
        return state

    def _refuse_second(self) -> None:
        if self._progress is not None:
            raise UsageError(
                sentence("the engine is being set up already"), hint=sentence("wait until that is done, or cancel it")
            )

    @property
    def _engines(self) -> str:
        return str(self._configuration.places.engines)

    async def _start(self, request: SetupRequest) -> SetupState:
        self._refuse_second()  # another one may have begun while `_read_state` waited
        self._asked, self._problem = request.asked, None
        self._progress = WorkProgress(sentence("checking this machine"))
        self._task = start_task(self._make(request))
        return await self._get(Empty())

    async def _make(self, request: SetupRequest) -> None:
        problem = None
        try:
            command = tied_to_parent([*PROGRAM, encode(request).decode()], has_pipe=True)
            environment = self._configuration.environment_of(sys.executable)
            problem = await follow_work(command, environment, self._show, _ended)
        finally:
            self._asked, self._progress, self._problem = BeginParams(), None, problem
        if problem is not None:
            log.warning("the set-up of the engine failed: %s", problem.text)
        await self._read_state(self._asked)
        self._publish()
        self._parts.loop.wake()  # the engine runs in the new environment from then on

    def _show(self, progress: WorkProgress) -> None:
        self._progress = progress
        self._publish()

    async def _read_state(self, asked: BeginParams) -> SetupState:
        """Read the state of the environment. Raises UsageError if `asked` cannot be made on any machine."""
        if self._machine is None or time.monotonic() - self._read_at > HARDWARE_INTERVAL_S:
            self._machine, self._read_at = await in_own_thread(read_hardware), time.monotonic()
        named = self._configuration.settings.serve.python
        self._state = await asyncio.to_thread(read_state, self._configuration.places, named, self._machine, asked)
        return self._state

    def _with_progress(self, state: SetupState) -> SetupState:
        return structs.replace(state, progress=self._progress, error=self._problem)

    def _publish(self) -> None:
        if self._state is not None:
            self._parts.broadcast.publish(installation.SETUP_EVENT, self._with_progress(self._state))


def _ended(why: str) -> Problem:
    return Problem(sentence("the set-up ended: {why}", why=why), sentence("try again: it continues where it stopped"))
