"""`updates.*` of the control API, and a daily look for a newer version if the user allows it.

Processes of `potluck update` do the work and write notes about their progress, which this topic shows. A check is a
child of the daemon; an update outlives the daemon.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import time
from importlib.metadata import version
from pathlib import Path

from msgspec import structs
from potluck_control.method import Empty
from potluck_control.methods import updates
from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import Offered, UpdateProgress, UpdatesState
from potluck_control.own_python import python_command
from potluck_control.settings import UpdateSettings

from potluck.errors import PotluckError, UsageError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.child import started
from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers
from potluck_daemon.updates.manifest import is_newer, require_publisher
from potluck_daemon.updates.notes import Notes, NotesFile
from potluck_daemon.updates.versions import not_ours, own_versions

_DAY_S = 86400.0
_JITTER_S = 3 * 3600.0  # so that machines don't all ask in the same minute
_CHECK_S = 25.0  # below the control API's own limit
_BEGIN_S = 20.0  # for a started process to take the lock
_LOOK_S = 0.3
_TRY_LATER = sentence("try again later; check the network and the setting updates.url")
_COMMAND = ("potluck_cli.main", "update", "--json")


class UpdatesTopic(Topic):
    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._file = NotesFile(parts.configuration.places)
        self._versions = own_versions()
        self._running = version("potluck")
        self._jitter_s = random.uniform(0, _JITTER_S)
        self._notes: Notes | None = None  # as of the last tick
        self._settings: UpdateSettings | None = None
        self._shown: UpdatesState | None = None
        self._showing: asyncio.Task[None] | None = None  # follows the notes while another process writes them
        self._checking: asyncio.Task[None] | None = None

    def tick(self, now: float) -> None:
        settings = self._configuration.settings.updates
        notes = self._file.read()
        if not (notes is self._notes and settings is self._settings):  # a process that begins something notes it
            self._notes, self._settings = notes, settings
            if self._file.is_locked():
                self._show_while_locked()
            self._show(notes)
        is_allowed = settings.check and settings.names_publisher
        if is_allowed and is_due(now, notes.asked_at, self._parts.started_at, self._jitter_s):
            self._begin_check()

    @property
    def notice(self) -> Sentence:
        offered = self._shown.offered if self._shown is not None else None
        if offered is None:
            return NOTHING
        return sentence("Potluck {version} is offered; see: potluck update --check", version=offered.version)

    @answers(updates.STATE)
    async def _state(self, _: Empty) -> UpdatesState:
        return self._show(self._file.read())

    @answers(updates.CHECK)
    async def _check(self, _: Empty) -> UpdatesState:
        require_publisher(self._configuration.settings.updates)
        await asyncio.shield(self._begin_check())
        return self._show(self._file.read())

    @answers(updates.INSTALL)
    async def _install(self, _: Empty) -> UpdatesState:
        from potluck_daemon.updates.succession import start_outside

        require_publisher(self._configuration.settings.updates)
        state = self._show(self._file.read())
        if self._versions is None or not state.can_install:
            raise not_ours()
        if self._checking is not None:
            await asyncio.shield(self._checking)
        if self._file.is_locked():
            raise UsageError(sentence("an update is already running"), hint=sentence("wait for its end"))
        python = self._versions.folder(self._versions.current()) / "bin" / "python3"  # the switch keeps it
        before = self._file.read()
        command = python_command(python, "-m", *_COMMAND)
        await asyncio.to_thread(start_outside, command, self._configuration.environment_of(str(python)))
        await self._wait_begun(before)
        self._show_while_locked()
        return self._show(self._file.read())

    async def _wait_begun(self, before: Notes) -> None:
        """Wait until the update has begun. Raises PotluckError if it does not."""
        deadline = time.monotonic() + _BEGIN_S
        while self._file.read().asked_at == before.asked_at:
            if time.monotonic() > deadline:
                raise PotluckError(
                    sentence("the update does not begin"), hint=sentence("in a terminal: potluck update")
                )
            await asyncio.sleep(_LOOK_S)

    def _begin_check(self) -> asyncio.Task[None]:
        """Start a check, unless one runs already, and return its task."""
        if self._checking is None or self._checking.done():
            self._checking = self.tasks.start(self._ask_publisher())
        return self._checking

    async def _ask_publisher(self) -> None:
        before = self._file.read()
        problem = await self._run_check()
        after = self._file.read()
        has_said_so = after != before and after.problem is not None
        if problem is not None and not has_said_so:
            await asyncio.to_thread(self._note, problem)
        self._show(self._file.read())

    async def _run_check(self) -> Problem | None:
        """Run a check. Return why it failed; None: it did not."""
        try:
            command = python_command(sys.executable, "-m", *_COMMAND, "--check")
            async with started(command, self._configuration.environment_of(sys.executable)) as child:
                async with asyncio.timeout(_CHECK_S):
                    code = await child.wait()
        except TimeoutError:
            return Problem(sentence("the publisher did not answer within {time} s", time=f"{_CHECK_S:.0f}"), _TRY_LATER)
        except OSError as error:
            return Problem(
                sentence("cannot check for updates: {why}", why=str(error.strerror)),
                sentence("is there enough memory?"),
            )
        if code == 0:
            return None
        said = await child.last_words()
        text = sentence("the check for updates failed: {why}", why=said or f"exit code {code}")
        return Problem(text, sentence("to see more, in a terminal: potluck update --check"))

    def _note(self, problem: Problem) -> None:
        """Note a problem for a process that could not, so that the next tick does not try again."""
        with contextlib.suppress(PotluckError, OSError), self._file.lock() as notes:
            self._file.write(structs.replace(notes, asked_at=time.time(), step=None, problem=problem))

    def _show_while_locked(self) -> None:
        if self._showing is None or self._showing.done():
            self._showing = self.tasks.start(self._keep_showing())

    async def _keep_showing(self) -> None:
        while await asyncio.to_thread(self._file.is_locked):
            self._show(self._file.read())
            await asyncio.sleep(_LOOK_S)
        self._show(self._file.read())

    def _show(self, notes: Notes) -> UpdatesState:
        """Publish the state if it has changed, and return it."""
        state = self._as_state(notes)
        if state != self._shown:
            self._shown = state
            self._parts.broadcast.publish(updates.EVENT, state)
        return state

    def _as_state(self, notes: Notes) -> UpdatesState:
        settings = self._configuration.settings.updates
        seen, is_busy = notes.seen, self._file.is_locked()
        is_known = seen.anchor == settings.key and is_newer(seen.version, self._running)
        was_killed = notes.step is not None and not is_busy and seen.version != self._running
        interrupted = (
            Problem(sentence("the last try was interrupted"), sentence("nothing is lost: try again"))
            if was_killed
            else None
        )
        return UpdatesState(
            running=self._running,
            is_allowed=settings.check,
            is_configured=settings.names_publisher,
            can_install=self._versions is not None and _is_writable(self._versions.root),
            offered=Offered(seen.version, seen.changes, seen.issued_at) if is_known else None,
            checked_at=notes.checked_at,
            progress=(notes.step or UpdateProgress(sentence("beginning"))) if is_busy else None,
            error=notes.problem or interrupted,
        )


def is_due(now: float, asked_at: float, started_at: float, jitter_s: float) -> bool:
    """Tell whether the daily look is due: not right after a start, and also after a clock was set back."""
    earliest = asked_at + _DAY_S if asked_at <= now else 0.0
    return now >= max(earliest, started_at) + jitter_s


def _is_writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
