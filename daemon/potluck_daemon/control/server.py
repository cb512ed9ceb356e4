"""The control server: HTTP over a Unix socket, one coroutine a connection.

Life of a call: the kernel says who connected (`peers`), the head is checked (`http`), the body becomes a typed call
(`rpc`), the daemon's handler answers it. Everything a caller can hold up has a time limit, everything it can fill
has a size limit, so a stuck or hostile caller costs one of `MAX_CONNECTIONS` places for a few seconds at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from potluck_control import schema
from potluck_control.codec import dumps

from potluck.errors import PotluckError, UsageError
from potluck_daemon.control import http, rpc
from potluck_daemon.control.connections import Connections
from potluck_daemon.control.events import Broadcast, Subscription
from potluck_daemon.control.peers import AccessRule, peer_of

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
MAX_EVENT_STREAMS = 16
REQUEST_TIMEOUT_S = 5.0  # from the first byte of a request to its last
IDLE_TIMEOUT_S = 60.0  # a kept-alive connection without a request
WRITE_TIMEOUT_S = 5.0  # a caller that does not read its answer
HANDLER_TIMEOUT_S = 30.0
KEEP_ALIVE_S = 20.0  # comment lines on a silent event stream, so that a dead reader is noticed

_MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107  # sun_path without its end

Handler = Callable[[Any], Awaitable[object]]
"""Instance of the method's params class -> instance of its result class. A PotluckError is told to the caller."""


class ControlServer:
    """Serves `handlers` and the events of `broadcast` at `path`. The caller holds the instance lock."""

    def __init__(self, path: Path, rule: AccessRule, handlers: Mapping[str, Handler], broadcast: Broadcast) -> None:
        missing = schema.METHODS.keys() ^ handlers.keys()
        if missing:
            raise ValueError(f"handlers and schema differ: {sorted(missing)}")
        self._path = path
        self._rule = rule
        self._handlers = handlers
        self._broadcast = broadcast
        self._server: asyncio.Server | None = None
        self._connections = Connections(self._connection, "control connection", log)
        self._num_streams = 0

    async def start(self) -> None:
        """Bind; a socket file left by a dead daemon is replaced (the lock says that it is dead).

        Raises:
            UsageError: the path is too long for a socket.
        """
        if len(os.fsencode(self._path)) > _MAX_PATH_BYTES:
            text = f"{self._path} is too long a path for a socket"
            raise UsageError(text, hint="set XDG_RUNTIME_DIR to a folder with a shorter one")
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        shared = self._rule.group is not None
        before = os.umask(0o117 if shared else 0o177)  # the file must never exist with wider rights
        try:
            self._server = await asyncio.start_unix_server(
                self._connections.accept, path=self._path, limit=http.MAX_HEAD_BYTES, backlog=MAX_CONNECTIONS
            )
        finally:
            os.umask(before)

    async def close(self) -> None:
        """Stop listening, end every connection and remove the socket file. Idempotent."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        self._path.unlink(missing_ok=True)
        await self._connections.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._admit(writer)
            while await self._exchange(reader, writer):
                pass
        except http.HttpError as error:
            log.info("control request refused: %d %s", error.status, error.message)
            body = dumps({"error": error.message})
            await _write(writer, http.response(error.status, body, keep_alive=False))
            await _close_gently(reader, writer)

    def _admit(self, writer: asyncio.StreamWriter) -> None:
        peer = peer_of(writer.get_extra_info("socket"))
        if not self._rule.allows(peer):
            log.warning("control connection of user %d refused", peer.uid)
            raise http.HttpError(403, "this daemon belongs to another user")
        if len(self._connections) > MAX_CONNECTIONS:
            raise http.HttpError(503, "too many connections")

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its answer; True if another may follow."""
        async with asyncio.timeout(IDLE_TIMEOUT_S):
            first = await reader.read(1)
        if not first:
            return False
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                request = http.parse_head(first + await reader.readuntil(b"\r\n\r\n"))
                body = await reader.readexactly(request.body_bytes)
        except asyncio.LimitOverrunError:
            raise http.HttpError(431, "the request head is too large") from None
        except TimeoutError:
            raise http.HttpError(408, "the request did not arrive in time") from None
        if request.path == schema.EVENTS_PATH:
            await self._event_stream(reader, writer)
            return False
        answer = await self._answer(body)
        await _write(writer, http.response(200, answer, keep_alive=request.keep_alive))
        return request.keep_alive

    async def _answer(self, body: bytes) -> bytes:
        try:
            call = rpc.parse_call(body)
            try:
                async with asyncio.timeout(HANDLER_TIMEOUT_S):
                    result = await self._handlers[call.method](call.params)
            except PotluckError as error:
                raise rpc.RpcError(schema.REFUSED, error.message, hint=error.hint, call_id=call.call_id) from error
            except Exception as error:
                log.exception("control method %s failed", call.method)
                message = f"{call.method} failed inside the daemon"
                hint = "`potluck logs` has the details"
                raise rpc.RpcError(schema.INTERNAL_ERROR, message, hint=hint, call_id=call.call_id) from error
            return rpc.result_body(call, result) if call.wants_answer else b""
        except rpc.RpcError as error:
            return rpc.error_body(error)

    async def _event_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._num_streams >= MAX_EVENT_STREAMS:
            raise http.HttpError(503, "too many event streams")
        self._num_streams += 1
        try:
            with self._broadcast.subscribe() as subscription:
                await _write(writer, http.event_stream_head())
                subscription.put(schema.STATUS_EVENT, dumps(await self._handlers[schema.STATUS.name](schema.Empty())))
                gone = asyncio.create_task(reader.read(1))  # a reader has nothing more to say; this is its end
                try:
                    await _pump(subscription, writer, gone)
                finally:
                    gone.cancel()
                    with contextlib.suppress(asyncio.CancelledError, OSError):
                        await gone
        finally:
            self._num_streams -= 1


async def _pump(subscription: Subscription, writer: asyncio.StreamWriter, gone: asyncio.Task[bytes]) -> None:
    while not gone.done():
        arrival = asyncio.create_task(subscription.next())
        try:
            await asyncio.wait({arrival, gone}, timeout=KEEP_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
            if arrival.done():
                name, data = arrival.result()
                await _write(writer, b"event: %b\ndata: %b\n\n" % (name.encode(), data))
            elif not gone.done():
                await _write(writer, b": still here\n\n")
        finally:
            arrival.cancel()


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    async with asyncio.timeout(WRITE_TIMEOUT_S):
        await writer.drain()


async def _close_gently(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let a refused caller read why: closing with unread input would reset the connection."""
    writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            while await reader.read(http.MAX_BODY_BYTES):
                pass
