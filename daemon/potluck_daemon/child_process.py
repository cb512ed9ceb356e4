"""Runs a helper process that reports its progress in lines, and ends it with everything that it started.

The process's standard input stays open while the daemon lives, so its end tells the process that the daemon has gone.
`print_work` is the side of a process that does long work; `follow_work` is the daemon's side of it. Nothing here knows
what the work is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from potluck_control.methods.installation import Problem, WorkProgress

from potluck.errors import PotluckError, explained
from potluck.protocol.codec import decode, encode
from potluck.sentences import sentence

OnProgress = Callable[[WorkProgress], None]
_LAST_LINES = 30
_INTERVAL_S = 0.5  # the least time between lines about bytes


class ChildProcess:
    """A running process, made by `running_child`."""

    def __init__(self, process: asyncio.subprocess.Process, errors: asyncio.Task[bytes]) -> None:
        self._process = process
        self._errors = errors

    async def send(self, line: bytes) -> None:
        """Write a line to the process, unless it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    async def read_line(self) -> bytes:
        """Return the next line; empty at the end of the output."""
        assert self._process.stdout is not None
        return await self._process.stdout.readline()

    async def wait(self) -> int:
        """Wait until it has ended by itself. Return its exit code, negative for a signal."""
        return await self._process.wait()

    async def last_lines(self) -> list[str]:
        """Return the last lines of its errors after its end."""
        return (await self._errors).decode(errors="replace").strip().splitlines()[-_LAST_LINES:]

    async def last_error(self) -> str:
        """Return the last line of its errors after its end; empty if there is none."""
        return "".join((await self.last_lines())[-1:])

    async def failure(self) -> str:
        """Wait until it has ended by itself. Return why it failed; empty if it did not."""
        code = await self.wait()
        return "" if code == 0 else await self.last_error() or f"exit code {code}"

    def kill(self) -> None:
        """End the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End the process, and wait for its end."""
        self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.shield(asyncio.gather(self._process.wait(), self._errors))


@contextlib.asynccontextmanager
async def running_child(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[ChildProcess]:
    """Run `command` inside the context; nothing of it is left after that. Raises OSError if it cannot be started."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,  # its process group ends with it
    )
    assert process.stderr is not None
    child = ChildProcess(process, asyncio.create_task(process.stderr.read()))
    try:
        yield child
    finally:
        await child.close()


class WorkLine(Struct, frozen=True):
    """One line that a process prints about its work."""

    progress: WorkProgress | None = None
    problem: Problem | None = None


def print_work(work: Callable[[OnProgress], None], place: Path) -> int:
    """Do `work` in this process and print its progress, or why it failed. Return the exit code.

    Args:
        place: the file or folder that an error of the disk is about, if the error names none.
    """
    printed_at = 0.0

    def on_progress(progress: WorkProgress) -> None:
        nonlocal printed_at
        if not progress.total or time.monotonic() - printed_at > _INTERVAL_S:
            printed_at = time.monotonic()
            _print_line(WorkLine(progress))

    try:
        work(on_progress)
    except (PotluckError, OSError) as error:
        known = error if isinstance(error, PotluckError) else explained(error, place)
        if known is None:
            raise
        _print_line(WorkLine(problem=Problem(known.sentence, known.advice)))
        return 1
    return 0


async def follow_work(
    command: Sequence[str],
    environment: Mapping[str, str],
    on_progress: OnProgress,
    describe_end: Callable[[str], Problem],
) -> Problem | None:
    """Run a process that calls `print_work` to its end. Return why it failed; None if it did not.

    Args:
        describe_end: returns the problem of a process that ended for this reason without a line about it.
    """
    problem = None
    try:
        async with running_child(command, environment) as child:
            while line := await _read_work_line(child):
                problem = line.problem or problem
                if line.progress is not None:
                    on_progress(line.progress)
            why = await child.failure()
    except OSError as error:
        text = sentence("cannot run {path}: {why}", path=command[0], why=str(error.strerror))
        return Problem(text, sentence("is there enough memory?"))
    return problem or (describe_end(why) if why else None)


async def _read_work_line(child: ChildProcess) -> WorkLine | None:
    """Return the next line about the work; None at the end of the output."""
    while True:
        try:
            line = await child.read_line()
            return decode(WorkLine, line) if line else None
        except ValueError:  # a library printed it, or it is longer than any line about work
            continue


def _print_line(line: WorkLine) -> None:
    sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()
