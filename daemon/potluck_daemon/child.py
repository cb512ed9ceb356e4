"""Runs a helper process that reports its progress in lines, and ends it with everything that it started.

`print_line` is the process's side. Nothing here knows what the lines say. The process's standard input stays open while
the daemon lives, so its end tells the process that nobody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence

from potluck.protocol.codec import encode

_LAST_LINES = 30


class Child:
    """A running process, made by `started`."""

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
async def started(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[Child]:
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
    child = Child(process, asyncio.create_task(process.stderr.read()))
    try:
        yield child
    finally:
        await child.close()


def print_line(line: object) -> None:
    """Print one line for the daemon that started this process."""
    sys.stdout.buffer.write(encode(line) + b"\n")
    sys.stdout.buffer.flush()
