"""Starts one engine process, speaks with it through a pipe, and reports its end.

The child gets one end of a socket pair and leads a process group of its own, so that everything it started can be ended
with it. It dies with the daemon: the kernel sends it SIGTERM, and it leaves when the pipe closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from potluck_control.processes import engine_messages

from potluck.allowance import memory_kills
from potluck.errors import UsageError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck.tasks import start_task
from potluck_daemon.supervisor.failures import EngineExit

log = logging.getLogger(__name__)
engine_log = logging.getLogger("engine")

KEPT_LINES = 30
MAX_LOG_LINE_BYTES = 4096


class EngineProcess:
    """A running engine. The task `ended` returns how it ended; by then, nothing of its process group lives."""

    def __init__(
        self, process: asyncio.subprocess.Process, pipe: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._process = process
        self._pipe = pipe
        self._writer = writer
        self._last_lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._failed: engine_messages.Failed | None = None
        self._killed_because = NOTHING
        self._memory_kills = memory_kills()
        self._has_launch = False
        self.ended: asyncio.Task[EngineExit]

    @classmethod
    async def start(
        cls, command: Sequence[str], environment: Mapping[str, str], on_message: Callable[[engine_messages.Said], None]
    ) -> EngineProcess:
        """Start `command --pipe FD --parent PID`.

        Raises:
            UsageError: the interpreter is missing or may not be run, or no process can have that environment.
        """
        ours, theirs = socket.socketpair()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                f"--pipe={theirs.fileno()}",
                f"--parent={os.getpid()}",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                env=dict(environment),
                start_new_session=True,
            )
        except BaseException as error:
            ours.close()
            if isinstance(error, OSError | ValueError):
                why = str(error.strerror if isinstance(error, OSError) else error)
                problem = sentence("cannot run {path}: {why}", path=command[0], why=why)
                raise UsageError(problem, hint=sentence("see serve.python")) from error
            raise
        finally:
            theirs.close()
        pipe, writer = await asyncio.open_connection(sock=ours, limit=engine_messages.MAX_LINE_BYTES)
        engine = cls(process, pipe, writer)
        engine.ended = start_task(engine._run(on_message))
        return engine

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, command: engine_messages.Command | engine_messages.MemberRecords) -> None:
        """Queue a command. A command to a dead engine is dropped."""
        self._has_launch |= isinstance(command, engine_messages.Launch)
        if not self._writer.is_closing():
            self._writer.write(engine_messages.encode(command))

    def stop(self) -> None:
        """Ask the process to end, or kill it before its launch, because it reads nothing while it imports, for seconds.

        Before its launch it holds nothing, and writes only compiled modules, which Python replaces atomically.
        """
        if self._has_launch:
            self.send(engine_messages.Stop())
        else:
            self._signal(signal.SIGKILL)

    def terminate(self) -> None:
        """Send SIGTERM to the process group."""
        self._signal(signal.SIGTERM)

    def kill(self, because: Sentence) -> None:
        """End the whole process group at once."""
        self._killed_because = self._killed_because or because
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def _run(self, on_message: Callable[[engine_messages.Said], None]) -> EngineExit:
        output = start_task(self._read_output())
        reading = start_task(self._read_messages(on_message))
        try:
            returncode = await self._process.wait()
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)  # what a killed engine leaves behind, such as p2pd
            _, late = await asyncio.wait({output, reading}, timeout=1.0)
            for task in late:
                task.cancel()
            self._writer.close()
        before, after = self._memory_kills, memory_kills()
        new_kills = None if before is None or after is None else after - before
        return EngineExit(returncode, tuple(self._last_lines), self._failed, self._killed_because, new_kills)

    async def _read_messages(self, on_message: Callable[[engine_messages.Said], None]) -> None:
        try:
            while line := await self._pipe.readline():
                message = engine_messages.decode(line)
                match message:
                    case engine_messages.Hello(_, version) if version != engine_messages.PIPE_VERSION:
                        self.kill(_other_version(version))
                        return  # this version cannot read its other messages
                    case engine_messages.Failed():
                        self._failed = message
                if message is not None:
                    on_message(message)
        except ConnectionError:
            pass  # the engine died; `_run` returns how
        except Exception as error:  # a mistake of either side; nothing would read the engine's messages any more
            log.exception("a message of the engine cannot be handled")
            self.kill(sentence("the daemon could not handle its message: {why}", why=str(error)))

    async def _read_output(self) -> None:
        assert self._process.stdout is not None
        rest = b""
        while chunk := await self._process.stdout.read(1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._log(line)
            if len(rest) > MAX_LOG_LINE_BYTES:
                self._log(rest)
                rest = b""
        if rest:
            self._log(rest)

    def _log(self, line: bytes) -> None:
        text = line[:MAX_LOG_LINE_BYTES].decode(errors="replace").rstrip()
        if text:
            self._last_lines.append(text)
            engine_log.info("%s", text)


def _other_version(theirs: int) -> Sentence:
    return sentence(
        "it is of another version (pipe {theirs}, the daemon {ours}); set it up again: potluck setup",
        theirs=theirs,
        ours=engine_messages.PIPE_VERSION,
    )
