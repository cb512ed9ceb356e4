"""Serves the web page of a swarm over HTTP: one address, read-only, drawn anew at each reading of the swarm.

A page for members lies at an address that cannot be guessed; whoever has the address may read it. A public page lies
at `/`. Nothing that a visitor sends reaches the swarm.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Awaitable, Callable

from potluck_control.http_server import HttpAnswer, HttpError, HttpServer, RequestHead, ServerLimits, body_bytes

from potluck.errors import PotluckError, UsageError

_LIMITS = ServerLimits(max_connections=64, idle_timeout_s=10.0)
_CONTENT_TYPE = "text/html; charset=utf-8"


class PageServer:
    """Answers with `page`, which may be replaced at any time. `path` begins and ends with a slash."""

    def __init__(self, path: str, page: bytes) -> None:
        self.path = path
        self.page = page
        self._server = HttpServer(self, _LIMITS)

    async def start(self, host: str, port: int) -> str:
        """Listen, and return the page's address. Raises UsageError if the port cannot be had."""
        try:
            await self._server.start_tcp(host, port)
        except OSError as error:
            said = f"cannot listen on {host}, port {port}: {error.strerror}"
            raise UsageError(said, hint="choose another with --port") from error
        assert self._server.address is not None
        host, port = self._server.address
        name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
        return f"http://{name}:{port}{self.path}"

    async def close(self) -> None:
        await self._server.close()

    def admit(self, connection: socket.socket) -> None:
        """Let in everybody who can connect: the path decides who may read."""

    def judge(self, head: RequestHead) -> int:
        if head.method not in ("GET", "HEAD"):
            raise HttpError(405, "this page can only be read")
        if not hmac.compare_digest(head.target.encode(), self.path.encode()):
            raise HttpError(404, "there is nothing here")
        return body_bytes(head, 0)

    async def answer(self, head: RequestHead, body: bytes) -> HttpAnswer:
        return HttpAnswer(self.page, _CONTENT_TYPE)


async def repeat(read: Callable[[], Awaitable[None]], fail: Callable[[str], None], *, pause_s: float) -> None:
    """Await `read`, which ends only by an error, again and again; `fail` hears why it ended."""
    while True:
        try:
            await read()
        except TimeoutError:
            fail("the swarm did not answer in time")
        except PotluckError as error:
            fail(str(error))
        await asyncio.sleep(pause_s)
