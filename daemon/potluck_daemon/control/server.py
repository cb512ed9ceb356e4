"""The control server: JSON-RPC calls and an event stream over HTTP on a Unix socket.

Life of a call: the kernel says who connected (`peers`), `judge` checks the request's head, the body becomes a typed
call (`rpc`), and the daemon's handler answers it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from potluck_control import schema
from potluck_control.all_methods import METHODS
from potluck_control.client import require_short
from potluck_control.http_server import (
    HttpAnswer,
    HttpError,
    HttpServer,
    HttpStream,
    RequestHead,
    ServerLimits,
    body_bytes,
    stream_head,
)

from potluck.errors import PotluckError, explained
from potluck.protocol.codec import encode
from potluck.tasks import cancel_and_wait
from potluck_daemon.control import rpc
from potluck_daemon.control.events import Broadcast, Subscription
from potluck_daemon.control.peers import AccessRule, peer_of

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024
MAX_EVENT_STREAMS = 16
HANDLER_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 20.0  # between comment lines on a silent event stream, so that a dead reader is noticed

Handler = Callable[[Any], Awaitable[object]]
"""Takes the method's parameters and returns its result. A PotluckError becomes the answer."""


class ControlServer:
    """Serves `handlers` and the events of `broadcast` at `path`. The caller holds the instance lock."""

    def __init__(
        self,
        path: Path,
        rule: AccessRule,
        handlers: Mapping[str, Handler],
        broadcast: Broadcast,
        limits: ServerLimits | None = None,
    ) -> None:
        missing = METHODS.keys() ^ handlers.keys()
        if missing:
            raise ValueError(f"handlers and schema differ: {sorted(missing)}")
        self._path = path
        self._bound: tuple[int, int] | None = None  # device and inode of the socket file
        self._rule = rule
        self._handlers = handlers
        self._broadcast = broadcast
        self._limits = limits or ServerLimits()
        self._server = HttpServer(self, self._limits)
        self._num_streams = 0

    async def start(self) -> None:
        """Bind, and replace a socket file that a dead daemon left (the lock says that it is dead).

        Raises:
            UsageError: the path is too long for a socket.
            OSError: its folder cannot be made.
        """
        require_short(self._path)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        shared = self._rule.group is not None
        before = os.umask(0o117 if shared else 0o177)  # the file must never exist with wider rights
        try:
            await self._server.start_unix(self._path)
        finally:
            os.umask(before)
        self._bound = _file_at(self._path)

    async def keep(self, path: Path) -> bool:
        """Bind again if the socket file is gone or belongs at `path` now; connections stay. Return whether it did.

        Raises:
            UsageError, OSError: as `start`. The next call tries again.
        """
        if path == self._path and self._bound is not None and _file_at(path) == self._bound:
            return False
        self._remove()
        self._path = path
        await self.start()
        return True

    async def close(self) -> None:
        """Stop listening, end every connection and remove the socket file."""
        self._remove()
        await self._server.close()

    def _remove(self) -> None:
        if self._bound is not None and _file_at(self._path) == self._bound:
            self._path.unlink(missing_ok=True)
        self._bound = None

    def admit(self, connection: socket.socket) -> None:
        peer = peer_of(connection)
        if not self._rule.allows(peer):
            log.warning("control connection of user %d refused", peer.uid)
            raise HttpError(403, "this daemon belongs to another user")

    def judge(self, head: RequestHead) -> int:
        return judge(head)

    async def answer(self, head: RequestHead, body: bytes) -> HttpAnswer | HttpStream:
        return HttpAnswer(await self._call(body)) if head.target == schema.RPC_PATH else self._event_stream

    async def _call(self, body: bytes) -> bytes:
        try:
            call = rpc.parse_call(body)
            try:
                async with asyncio.timeout(HANDLER_TIMEOUT_S):
                    result = await self._handlers[call.method](call.params)
            except Exception as error:
                refused = error if isinstance(error, PotluckError) else explained(error)
                if refused is not None:
                    text = refused.message
                    raise rpc.RpcError(schema.REFUSED, text, hint=refused.hint, call_id=call.call_id) from error
                log.exception("control method %s failed", call.method)
                message = f"{call.method} failed inside the daemon"
                hint = "`potluck logs` has the details"
                raise rpc.RpcError(schema.INTERNAL_ERROR, message, hint=hint, call_id=call.call_id) from error
            return rpc.result_body(call, result) if call.wants_answer else b""
        except rpc.RpcError as error:
            return rpc.error_body(error)

    async def _event_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._num_streams >= MAX_EVENT_STREAMS:
            raise HttpError(503, "too many event streams")
        self._num_streams += 1
        gone = asyncio.create_task(reader.read(1))  # a reader has nothing more to say, so this is its end
        try:
            with self._broadcast.subscribe() as subscription:
                await self._write(writer, stream_head("text/event-stream"))
                subscription.put(schema.STATUS_EVENT, encode(await self._handlers[schema.STATUS.name](schema.Empty())))
                await self._pump(subscription, writer, gone)
        finally:
            self._num_streams -= 1
            await cancel_and_wait(gone)

    async def _pump(self, subscription: Subscription, writer: asyncio.StreamWriter, gone: asyncio.Task[bytes]) -> None:
        while not gone.done():
            arrival = asyncio.create_task(subscription.next())
            try:
                await asyncio.wait({arrival, gone}, timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    name, data = arrival.result()
                    await self._write(writer, b"event: %b\ndata: %b\n\n" % (name.encode(), data))
                elif not gone.done():
                    await self._write(writer, b": still here\n\n")
            finally:
                arrival.cancel()

    async def _write(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(data)
        async with asyncio.timeout(self._limits.write_timeout_s):
            await writer.drain()


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def judge(head: RequestHead) -> int:
    """Return the length of a request's body if the request is ours to answer, or raise HttpError.

    A web page can reach this socket only through a program that forwards for it. Therefore anything that a browser
    adds (`Origin`, `Referer`) is refused, and the Host must be ours (DNS rebinding).
    """
    if head.headers.get("host", "").lower() != schema.HOST:
        raise HttpError(421, f"the Host must be {schema.HOST}")
    if any(name in ("origin", "referer") or name.startswith("sec-fetch-") for name in head.headers):
        raise HttpError(403, "web pages are not answered")
    if head.target not in (schema.RPC_PATH, schema.EVENTS_PATH):
        raise HttpError(404, f"only {schema.RPC_PATH} and {schema.EVENTS_PATH} are here")
    is_call = head.target == schema.RPC_PATH
    if head.method != ("POST" if is_call else "GET"):
        raise HttpError(405, "POST /rpc or GET /events")
    length = body_bytes(head, MAX_BODY_BYTES if is_call else 0)
    if is_call and head.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "the content type must be application/json")
    return length
