"""A small HTTP/1.1 server for callers on this machine: one coroutine a connection, bounded sizes and times.

It is strict where a lenient parser would be a hole: one length, no transfer encodings, no folded lines, no repeated
headers, only printable ASCII. Everything that a caller can hold up has a time limit, and everything that it can fill
has a size limit, so a stuck or hostile caller costs one of the connections for a few seconds at most. Its `HttpSite`
decides who may ask for what.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from potluck.protocol.codec import encode
from potluck.tasks import cancel_and_wait

log = logging.getLogger(__name__)

MAX_HEAD_BYTES = 8 * 1024
MAX_HEADERS = 40
_CLOSE_S = 0.5  # for a caller to read its answer: closing with unread input would reset the connection
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
_VALUE = re.compile(rb"[\t\x20-\x7e]*")


class HttpError(Exception):
    """Ends a connection with an answer of `status` and `message`."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a well-formed request. Names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def keep_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    body: bytes
    content_type: str = "application/json"
    status: int = 200
    keep_alive: bool = True


HttpStream = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Writes an endless answer, beginning with `stream_head`."""


class HttpSite(Protocol):
    """Decides about requests. Each method raises HttpError for what it refuses."""

    def admit(self, connection: socket.socket) -> None:
        """Let in a new connection, before anything is read from it."""

    def judge(self, head: RequestHead) -> int:
        """Return the number of bytes in the request's body."""

    async def answer(self, head: RequestHead, body: bytes) -> HttpAnswer | HttpStream:
        """Answer a request that `judge` let in."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    max_connections: int = 64
    request_timeout_s: float = 5.0  # from the first byte of a request to its last
    idle_timeout_s: float = 60.0  # without a request
    write_timeout_s: float = 5.0  # for a caller that does not read its answer


@dataclass(slots=True)
class HttpServer:
    """Serves `site` from `start_unix` or `start_tcp` until `close`."""

    site: HttpSite
    limits: ServerLimits = field(default_factory=ServerLimits)
    _server: asyncio.Server | None = None
    _connections: set[asyncio.Task[None]] = field(default_factory=set)
    _strangers: dict[asyncio.Task[None], None] = field(default_factory=dict)  # without a request so far, oldest first

    @property
    def address(self) -> tuple[str, int] | None:
        """The TCP address that is listened on; None: none."""
        if self._server is None:
            return None
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def start_unix(self, path: Path) -> None:
        """Listen at `path`, and no longer where it listened before. Connections stay."""
        if self._server is not None:
            self._server.close()
        self._server = await asyncio.start_unix_server(self._accept, path=path, limit=MAX_HEAD_BYTES, backlog=64)

    async def start_tcp(self, host: str, port: int) -> None:
        self._server = await asyncio.start_server(self._accept, host, port, limit=MAX_HEAD_BYTES)

    async def close(self) -> None:
        """Stop listening and end every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
            await cancel_and_wait(*self._connections)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection. Whatever happens to it happens to no other."""
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        self._strangers[task] = None
        try:
            await self._serve(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.debug("connection ended: %r", error)
        except asyncio.CancelledError:
            pass  # `close` ends connections this way, and nobody else awaits this task
        except Exception:
            log.exception("connection failed")
        finally:
            self._connections.discard(task)
            self._strangers.pop(task, None)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.site.admit(writer.get_extra_info("socket"))
            self._make_room()
            while await self._exchange(reader, writer):
                pass
        except HttpError as error:
            log.debug("request refused: %d %s", error.status, error.message)
            answer = HttpAnswer(encode({"error": error.message}), status=error.status)
            await self._send(writer, _response(answer, keep_alive=False))
        writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_S):
                while await reader.read(1 << 16):
                    pass

    def _make_room(self) -> None:
        """End the oldest connection without a request if there are too many. Raises HttpError if all have had one."""
        if len(self._connections) <= self.limits.max_connections:
            return
        oldest = next(iter(self._strangers))
        if oldest is asyncio.current_task():
            raise HttpError(503, "too many connections")
        self._connections.discard(oldest)  # it ends soon, and does not count until then
        self._strangers.pop(oldest)
        oldest.cancel()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request. Return whether another may follow."""
        limits, task = self.limits, asyncio.current_task()
        quiet_s = limits.request_timeout_s if task in self._strangers else limits.idle_timeout_s
        async with asyncio.timeout(min(quiet_s, limits.idle_timeout_s)):
            first = await reader.read(1)
        if not first:
            return False
        try:
            async with asyncio.timeout(limits.request_timeout_s):
                head = parse_head(first + await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(self.site.judge(head))
        except asyncio.LimitOverrunError:
            raise HttpError(431, "the request head is too large") from None
        except TimeoutError:
            raise HttpError(408, "the request did not arrive in time") from None
        if task is not None:
            self._strangers.pop(task, None)
        answer = await self.site.answer(head, body)
        if not isinstance(answer, HttpAnswer):
            await answer(reader, writer)
            return False
        keep_alive = answer.keep_alive and head.keep_alive
        await self._send(writer, _response(answer, keep_alive=keep_alive, is_head=head.method == "HEAD"))
        return keep_alive

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        async with asyncio.timeout(self.limits.write_timeout_s):
            writer.write(data)
            await writer.drain()


def parse_head(data: bytes) -> RequestHead:
    """Parse a request head, up to and including the empty line. Raises HttpError."""
    request, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    parts = request.split(b" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not parts[1] or not _VALUE.fullmatch(parts[1]):
        raise HttpError(400, "malformed request line")
    if parts[2] != b"HTTP/1.1":
        raise HttpError(505 if parts[2].startswith(b"HTTP/") else 400, "only HTTP/1.1")
    if len(lines) > MAX_HEADERS:
        raise HttpError(431, f"more than {MAX_HEADERS} headers")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _TOKEN.fullmatch(name) or not _VALUE.fullmatch(value):
            raise HttpError(400, "malformed header")
        key = name.decode("ascii").lower()
        if key in headers:
            raise HttpError(400, f"header {key} is repeated")
        headers[key] = value.decode("ascii").strip()
    return RequestHead(parts[0].decode("ascii"), parts[1].decode("ascii"), headers)


def body_bytes(head: RequestHead, most: int) -> int:
    """Return the length of a request's body, which must be given if `most` is not 0. Raises HttpError."""
    if "transfer-encoding" in head.headers:
        raise HttpError(501, "transfer encodings are not understood; send Content-Length")
    if "expect" in head.headers:
        raise HttpError(501, "expectations are not understood")
    text = head.headers.get("content-length")
    if text is None:
        if most:
            raise HttpError(411, "Content-Length is missing")
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise HttpError(400, "malformed Content-Length")
    if int(text) > most:
        raise HttpError(413, f"a request body has at most {most} bytes")
    return int(text)


def stream_head(content_type: str) -> bytes:
    """Return the head of an endless answer, which ends when the connection does."""
    return _head(200, content_type, "Connection: close")


def _response(answer: HttpAnswer, *, keep_alive: bool, is_head: bool = False) -> bytes:
    connection = "keep-alive" if keep_alive else "close"
    lines = f"Content-Length: {len(answer.body)}", f"Connection: {connection}"
    return _head(answer.status, answer.content_type, *lines) + (b"" if is_head else answer.body)


def _head(status: int, content_type: str, *more: str) -> bytes:
    fixed = ("Cache-Control: no-store", "X-Content-Type-Options: nosniff")
    first = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"
    return "\r\n".join((first, f"Content-Type: {content_type}", *fixed, *more, "", "")).encode("ascii")
