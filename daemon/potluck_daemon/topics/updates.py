"""`updates.*` of the control API, and a daily check for a newer version if the user allows it.

A child asks the publisher, fetches and unpacks. Then the daemon drains and becomes the new version.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from importlib.metadata import version

from potluck_control.api.method import Empty
from potluck_control.methods import installation
from potluck_control.methods.installation import Offered, Problem, UpdatesState, WorkProgress
from potluck_control.processes.python_command import python_command

from potluck.errors import UsageError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.child_process import follow_work
from potluck_daemon.parts import Parts
from potluck_daemon.topics.topic import Topic, answers
from potluck_daemon.updates.manifest import is_newer, require_publisher
from potluck_daemon.updates.publisher import NotesFile
from potluck_daemon.updates.versions import failed_update_notice, other_tool_updates, own_versions

_DAY_S = 86400.0
_JITTER_S = 3 * 3600.0  # a random part of it keeps machines from asking all in the same minute
_CHECK_S = 25.0  # the control API's own limit is 30 s
_DRAIN_S = 600.0  # time for open sessions to end
_TRY_LATER = sentence("try again later; check the network and the setting updates.url")


class UpdatesTopic(Topic):
    """What the publisher offers, and at most one check or update at a time."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self._file = NotesFile(parts.configuration.places)
        self._notes = self._file.read()
        self._asked_at = self._notes.asked_at
        self._versions = own_versions()
        self._failed = self._versions.failed() if self._versions is not None else ""
        self._failure_notice = failed_update_notice(self._versions) if self._versions is not None else NOTHING
        self._running = version("potluck")
        self._jitter_s = random.uniform(0, _JITTER_S)
        self._progress: WorkProgress | None = None
        self._problem: Problem | None = None  # why the last try since the daemon's start failed
        self._work: asyncio.Task[None] | None = None

    def tick(self, now: float) -> None:
        settings = self._configuration.settings.updates
        is_allowed = settings.check and settings.names_publisher
        if is_allowed and not self._is_busy and is_due(now, self._asked_at, self._parts.started_at, self._jitter_s):
            self._begin()

    @property
    def notice(self) -> Sentence:
        offered = self._offered()
        if offered is not None and offered.version != self._failed:
            return sentence("Potluck {version} is offered; see: potluck update --check", version=offered.version)
        return self._failure_notice

    @answers(installation.UPDATES_STATE)
    async def _get(self, _: Empty) -> UpdatesState:
        self._notes = self._file.read()  # `potluck update --check` may have written it
        return self._state()

    @answers(installation.CHECK_FOR_UPDATE)
    async def _check(self, _: Empty) -> UpdatesState:
        require_publisher(self._configuration.settings.updates)
        await asyncio.shield(self._work if self._work is not None and self._is_busy else self._begin())
        return self._state()

    @answers(installation.INSTALL_UPDATE)
    async def _install(self, _: Empty) -> UpdatesState:
        require_publisher(self._configuration.settings.updates)
        if not self._can_install:
            raise other_tool_updates()
        if self._is_busy or self._parts.loop.successor:
            raise UsageError(sentence("an update is already running"), hint=sentence("wait for its end"))
        self._begin(is_update=True)
        return self._state()

    @property
    def _is_busy(self) -> bool:
        return self._work is not None and not self._work.done()

    @property
    def _can_install(self) -> bool:
        return self._versions is not None and self._versions.is_writable

    def _begin(self, *, is_update: bool = False) -> asyncio.Task[None]:
        """Start a check or an update, and return its task."""
        self._asked_at = time.time()
        self._problem, self._progress = None, WorkProgress(sentence("asking the publisher"))
        self._work = self.tasks.start(self._run(is_update=is_update))
        return self._work

    async def _run(self, *, is_update: bool) -> None:
        command = python_command(sys.executable, "-m", "potluck_daemon.updates", *(("--stage",) if is_update else ()))
        environment = self._configuration.environment_of(sys.executable)
        try:
            async with asyncio.timeout(None if is_update else _CHECK_S):
                self._problem = await follow_work(command, environment, self._show, _ended)
        except TimeoutError:
            text = sentence("the publisher did not answer within {time} s", time=f"{_CHECK_S:.0f}")
            self._problem = Problem(text, _TRY_LATER)
        self._notes = self._file.read()
        if is_update and self._problem is None and (offered := self._offered()) is not None:
            self._parts.loop.drain(_DRAIN_S, successor=offered.version)
        self._show(None)

    def _show(self, progress: WorkProgress | None) -> None:
        self._progress = progress
        self._parts.broadcast.publish(installation.UPDATES_EVENT, self._state())

    def _offered(self) -> Offered | None:
        seen = self._notes.seen
        is_known = seen.anchor == self._configuration.settings.updates.key and is_newer(seen.version, self._running)
        return Offered(seen.version, seen.changes, seen.issued_at) if is_known else None

    def _state(self) -> UpdatesState:
        settings = self._configuration.settings.updates
        failed = Problem(self._failure_notice, sentence("see why: potluck logs")) if self._failure_notice else None
        draining = WorkProgress(sentence("waiting for open sessions to end")) if self._parts.loop.successor else None
        return UpdatesState(
            running=self._running,
            is_allowed=settings.check,
            is_configured=settings.names_publisher,
            can_install=self._can_install,
            offered=self._offered(),
            checked_at=self._notes.checked_at,
            progress=self._progress or draining,
            error=self._problem or failed,
        )


def is_due(now: float, asked_at: float, started_at: float, jitter_s: float) -> bool:
    """Return whether the daily check is due: not right after a start, and also after the clock was set back."""
    earliest = asked_at + _DAY_S if asked_at <= now else 0.0
    return now >= max(earliest, started_at) + jitter_s


def _ended(why: str) -> Problem:
    hint = sentence("to see more, in a terminal: potluck update --check")
    return Problem(sentence("the check for updates failed: {why}", why=why), hint)
