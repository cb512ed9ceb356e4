"""A process of our own that says in lines how far it is: started in a session of its own, heard, and ended whole.

What is said is its owner's business. It goes with everything that it started; while the daemon lives its input stays
open, so that its end tells the process that nobody waits any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Mapping, Sequence


class Child:
    """One that runs; made by `started`."""

    def __init__(self, process: asyncio.subprocess.Process, errors: asyncio.Task[bytes]) -> None:
        self._process = process
        self._errors = errors

    async def say(self, line: bytes) -> None:
        """One that ended already hears nothing; its last words say why."""
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    async def line(self) -> bytes:
        """The next one; empty at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.readline()

    async def wait(self) -> int:
        """Until it ended by itself; its exit code, negative for a signal."""
        return await self._process.wait()

    async def last_words(self) -> str:
        """The last line of its errors, after its end; empty if there is none."""
        said = (await self._errors).decode(errors="replace").strip().splitlines()
        return said[-1] if said else ""

    def ask_to_end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def kill(self) -> None:
        """With everything that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def close(self) -> None:
        self.kill()
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.shield(asyncio.gather(self._process.wait(), self._errors))


@contextlib.asynccontextmanager
async def started(command: Sequence[str], environment: Mapping[str, str]) -> AsyncIterator[Child]:
    """Nothing of it is left after the context. Raises OSError if it cannot be started."""
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
