"""Runs a helper process that reports its progress in lines, and ends it with everything that it started.

`print_line` is the process's side. Nothing here knows what the lines say. The process's standard input stays open while
the daemon lives, so its end tells the process that nobody waits for it.

Long work in a process of its own, which tells the daemon by lines how far it is: both sides of that.

Nothing here knows what the work is.
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

_LAST_LINES = 30


class ChildProcess:
    """A running process, made by `running_child`."""

    def __init__(self, process: asyncio.subprocess.Process, errors: asyncio.Task[bytes]) -> None:
        self._process = process
        self._errors = errors

    async def say(self, line: bytes) -> None:
        """Write a line to the process, unless it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    async def line(self) -> bytes:
        """Return the next line; empty at the end of the output."""
        assert self._process.stdout is not None
        return await self._process.stdout.readline()

    async def wait(self) -> int:
        """Wait until it has ended by itself. Return its exit code, negative for a signal."""
        return await self._process.wait()

    async def last_lines(self) -> list[str]:
        """Return the last lines of its errors after its end."""
        return (await self._errors).decode(errors="replace").strip().splitlines()[-_LAST_LINES:]

    async def last_words(self) -> str:
        """Return the last line of its errors after its end; empty if there is none."""
        return "".join((await self.last_lines())[-1:])

    async def failure(self) -> str:
        """Wait until it has ended by itself. Return why it failed; empty if it did not."""
        code = await self.wait()
        return "" if code == 0 else await self.last_words() or f"exit code {code}"

    def kill(self) -> None:
        """End the process and everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
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
        start_new_session=True,  # so that what it starts ends with it
    )
    assert process.stderr is not None
    child = ChildProcess(process, asyncio.create_task(process.stderr.read()))
    try:
        yield child
    finally:
        await child.close()


def print_line(line: object) -> None:
    """Print one line for the daemon that started this process."""
    sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()


OnProgress = Callable[[WorkProgress], None]
_INTERVAL_S = 0.5  # between lines about bytes


class WorkLine(Struct, frozen=True):
    """One line that the process prints."""

    progress: WorkProgress | None = None
    problem: Problem | None = None


def print_work(work: Callable[[OnProgress], None], place: Path) -> int:
    """Do `work` in this process and print its progress, or why it failed. Return the exit code.

    Args:
        place: what an error of the disk is about, if it names no file.
    """
    said_at = 0.0

    def tell(progress: WorkProgress) -> None:
        nonlocal said_at
        if not progress.total or time.monotonic() - said_at > _INTERVAL_S:
            said_at = time.monotonic()
            print_line(WorkLine(progress))

    try:
        work(tell)
    except (PotluckError, OSError) as error:
        known = error if isinstance(error, PotluckError) else explained(error, place)
        if known is None:
            raise
        print_line(WorkLine(problem=Problem(known.sentence, known.advice)))
        return 1
    return 0


async def follow_work(
    command: Sequence[str],
    environment: Mapping[str, str],
    on_progress: OnProgress,
    ended: Callable[[str], Problem],
) -> Problem | None:
    """Run the process to its end; return why it failed, if it did. Raises OSError if it cannot be started.

    Args:
        ended: returns the problem of a process that ended for this reason without a line about it.
    """
    problem = None
    async with running_child(command, environment) as child:
        while True:
            try:
                if not (line := await child.line()):
                    break
                said = decode(WorkLine, line)
            except ValueError:  # a library printed it: it is none of ours, or longer than any of ours
                continue
            problem = said.problem or problem
            if said.progress is not None:
                on_progress(said.progress)
        why = await child.failure()
    return problem or (ended(why) if why else None)
