"""The daemon's side of a set-up: starts the process that makes an environment, follows its progress, and ends it."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from potluck_control.methods.setup import Problem, SetupProgress, Step
from potluck_control.own_python import python_command

from potluck.protocol.codec import CodecError, decode
from potluck.sentences import sentence
from potluck_daemon.child import Child, started

log = logging.getLogger(__name__)

PROGRAM = python_command(sys.executable, "-m", "potluck_daemon.environment")
END_TIMEOUT_S = 10.0  # from the request to end until it is killed


@dataclass(frozen=True, slots=True)
class SetupLine:
    """One line that the process prints."""

    progress: SetupProgress | None = None
    problem: Problem | None = None


class SetupProcess:
    """Runs at most one set-up at a time.

    Attributes:
        progress: how far the set-up is; None: none runs.
        problem: the error of the last set-up; None if it succeeded or was cancelled.
    """

    def __init__(self, on_progress: Callable[[], None]) -> None:
        self._on_progress = on_progress
        self._child: Child | None = None
        self._is_ending = False
        self.progress: SetupProgress | None = None
        self.problem: Problem | None = None

    async def run(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        """Run a set-up to its end, unless one runs. Never raises for what it does."""
        self.progress, self.problem, self._is_ending = (
            SetupProgress(Step.LOOK, sentence("checking this machine")),
            None,
            False,
        )
        try:
            self.problem = await self._follow((*PROGRAM, *arguments), environment)
        except OSError as error:
            self.problem = Problem(
                sentence("the set-up cannot be started: {why}", why=str(error.strerror)),
                sentence("is there enough memory?"),
            )
        finally:
            self.progress = self._child = None
        if self.problem is not None:
            log.warning("the set-up of the engine failed: %s", self.problem.text)

    async def end(self) -> None:
        """Ask the set-up to end, so that the next one can continue; `run` returns after that."""
        self._is_ending, child = True, self._child
        if child is None:
            return
        child.ask_to_end()
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                await child.wait()
        except TimeoutError:
            log.warning("the set-up does not end; killing it")
            child.kill()

    async def _follow(self, command: Sequence[str], environment: Mapping[str, str]) -> Problem | None:
        async with started(command, environment) as child:
            self._child = child
            if self._is_ending:
                child.ask_to_end()
            problem = await self._hear(child)
            code = await child.wait()
        if self._is_ending or code == 0:
            return None
        why = await child.last_words() or f"exit code {code}"
        return problem or Problem(
            sentence("the set-up ended: {why}", why=why), sentence("try again: it continues where it stopped")
        )

    async def _hear(self, child: Child) -> Problem | None:
        """Follow its progress to its end; return why it failed, if it says so."""
        problem = None
        while line := await child.line():
            try:
                told = decode(SetupLine, line)
            except CodecError:
                log.debug("the set-up printed something else: %.100r", line)
                continue
            problem = told.problem or problem
            self.progress = told.progress or self.progress
            self._on_progress()
        return problem
