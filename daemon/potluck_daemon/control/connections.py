"""The open connections of one of our small servers: a task each, and all of them end with the server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Connections:
    """`serve`: one connection from its beginning to its end. `what`: as the log calls one."""

    def __init__(self, serve: Serve, what: str, log: logging.Logger) -> None:
        self._serve = serve
        self._what = what
        self._log = log
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """For `asyncio.start_server`. Whatever happens to one connection happens to no other."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self._log.debug("%s ended: %r", self._what, error)
        except asyncio.CancelledError:
            pass  # `close` ends connections this way; nobody awaits this task otherwise
        except Exception:
            self._log.exception("%s failed", self._what)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def close(self) -> None:
        """After the server stopped listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
