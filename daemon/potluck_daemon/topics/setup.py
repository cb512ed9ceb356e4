"""`setup.*` of the control API. A process of its own makes the engine's environment."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Sequence

from msgspec import structs
from potluck_control.method import Empty
from potluck_control.methods import setup
from potluck_control.methods.setup import BeginParams, SetupState

from potluck.errors import PotluckError, UsageError
from potluck.sentences import sentence
from potluck.tasks import start_task
from potluck_daemon.environment.machine import Hardware, look
from potluck_daemon.environment.setup_process import SetupProcess
from potluck_daemon.environment.state import read_state
from potluck_daemon.environment.store import Store
from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)

TELL_INTERVAL_S = 0.5
LOOK_INTERVAL_S = 60.0  # between looks at GPUs and driver, which take a moment


class SetupTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._making = SetupProcess(self._tell_soon)
        self._asked = BeginParams()  # parameters of the set-up that runs
        self._machine: Hardware | None = None
        self._looked_at = 0.0  # monotonic
        self._state: SetupState | None = None  # without the progress
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._told_at = 0.0  # monotonic

    async def mend(self) -> None:
        """Make the environment anew if its Python is gone, in the same variant, so that a server serves again."""
        configuration = self._configuration
        orphan = await asyncio.to_thread(Store(configuration.places.engines).orphan)
        if orphan is None or configuration.settings.serve.python or self._task_runs:
            return
        log.warning("the engine's Python %s is gone; the engine is set up with another one", orphan.python)
        try:
            await self._begin(BeginParams(orphan.variant))
        except PotluckError as error:
            log.warning("the engine cannot be set up: %s", error)

    @property
    def _task_runs(self) -> bool:
        return self._task is not None and not self._task.done()

    async def close(self) -> None:
        await self._stop()
        if self._timer is not None:
            self._timer.cancel()

    @answers(setup.STATE)
    async def _get(self, _: Empty) -> SetupState:
        return self._with_progress(await self._look(self._asked))

    @answers(setup.BEGIN)
    async def _begin(self, params: BeginParams) -> SetupState:
        """Start a set-up. `_look` refuses what no machine could have; the process finds what this one cannot run."""
        await self._refuse_second()
        await self._look(params)
        index = self._configuration.settings.setup.index
        wanted = {"--variant": params.variant, "--folder": params.folder, "--index": index}
        return await self._start([f"{name}={value}" for name, value in wanted.items() if value], params)

    @answers(setup.ROLL_BACK)
    async def _roll_back(self, _: Empty) -> SetupState:
        await self._refuse_second()
        if not (await self._look(BeginParams())).can_roll_back:
            raise UsageError(sentence("there is no earlier environment to go back to"))
        return await self._start(["--roll-back"], BeginParams())

    @answers(setup.CANCEL)
    async def _cancel(self, _: Empty) -> SetupState:
        await self._stop()
        return await self._get(Empty())

    async def _refuse_second(self) -> None:
        if self._making.progress is not None:
            raise UsageError(
                sentence("the engine is being set up already"), hint=sentence("wait until that is done, or cancel it")
            )
        if self._task is not None:
            await asyncio.wait({self._task})  # its process has ended, and its result is being read

    async def _start(self, arguments: Sequence[str], asked: BeginParams) -> SetupState:
        await self._refuse_second()  # another one may have begun while `_look` waited
        self._asked = asked
        self._task = start_task(self._make(arguments))
        return self._with_progress(await self._look(asked))

    async def _make(self, arguments: Sequence[str]) -> None:
        engines = f"--engines={self._configuration.places.engines}"
        await self._making.run([engines, *arguments], self._configuration.environment_of(sys.executable))
        self._asked = BeginParams()
        await self._look(self._asked)
        self._tell()
        self._parts.loop.wake()  # the engine runs in the new environment from then on

    async def _stop(self) -> None:
        if self._task is not None:
            await self._making.end()
            await asyncio.wait({self._task})

    async def _look(self, asked: BeginParams) -> SetupState:
        """Read the state of the environment. Raises UsageError if `asked` cannot be made on any machine."""
        if self._machine is None or time.monotonic() - self._looked_at > LOOK_INTERVAL_S:
            self._machine, self._looked_at = await asyncio.to_thread(look), time.monotonic()
        named = self._configuration.settings.serve.python
        self._state = await asyncio.to_thread(read_state, self._configuration.places, named, self._machine, asked)
        return self._state

    def _with_progress(self, state: SetupState) -> SetupState:
        return structs.replace(state, progress=self._making.progress, error=self._making.problem)

    def _tell_soon(self) -> None:
        """Publish at most twice a second, and the last state in any case."""
        if self._timer is None:
            left_s = max(self._told_at + TELL_INTERVAL_S - time.monotonic(), 0.0)
            self._timer = asyncio.get_running_loop().call_later(left_s, self._tell)

    def _tell(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._told_at = None, time.monotonic()
        if self._state is not None:
            self._parts.broadcast.publish(setup.EVENT, self._with_progress(self._state))
