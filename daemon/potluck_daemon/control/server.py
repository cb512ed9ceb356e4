"""The control server: answers requests and sends news over a Unix socket, in lines of `potluck_control.api.messages`.

Life of a request: the kernel says who connected, `Connection` reads a line, its parameters become the method's class,
and the daemon's handler answers it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Raw
from potluck_control.api import messages, schema
from potluck_control.api.all_methods import METHODS
from potluck_control.api.client import require_short

from potluck.errors import AmbiguousError, PotluckError, explained
from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import sentence, verbatim
from potluck.tasks import cancel_and_wait
from potluck_daemon.control import older_protocol
from potluck_daemon.control.connection import AccessRule, Connection, ConnectionLimits, LineError, peer_of
from potluck_daemon.control.events import Broadcast, news

log = logging.getLogger(__name__)

MAX_READERS = 16
HANDLER_TIMEOUT_S = 30.0

T = TypeVar("T")
Handler = Callable[[Any], Awaitable[object]]
"""Takes the method's parameters and returns its result. A PotluckError becomes the answer."""


class ControlServer:
    """Serves `handlers` and the news of `broadcast` at `path`. The caller holds the instance lock."""

    def __init__(
        self,
        path: Path,
        rule: AccessRule,
        handlers: Mapping[str, Handler],
        broadcast: Broadcast,
        limits: ConnectionLimits | None = None,
    ) -> None:
        missing = METHODS.keys() ^ handlers.keys()
        if missing:
            raise ValueError(f"handlers and schema differ: {sorted(missing)}")
        self._path = path
        self._bound: tuple[int, int] | None = None  # device and inode of the socket file
        self._rule = rule
        self._handlers = handlers
        self._broadcast = broadcast
        self._limits = limits or ConnectionLimits()
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], Connection] = {}  # oldest first

    async def start(self) -> None:
        """Bind. Replace a socket file that a dead daemon left; the instance lock says that it is dead.

        Raises:
            UsageError: the path is too long for a socket.
            OSError: its folder cannot be made.
        """
        require_short(self._path)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        if self._server is not None:
            self._server.close()
        shared = self._rule.group is not None
        before = os.umask(0o117 if shared else 0o177)  # the file must never exist with wider rights
        try:
            self._server = await asyncio.start_unix_server(
                self._accept, path=self._path, limit=messages.MAX_REQUEST_BYTES - 1, backlog=64
            )
        finally:
            os.umask(before)
        self._bound = _file_at(self._path)

    async def rebind_if_gone(self, path: Path) -> bool:
        """Bind again if the socket file is gone or belongs at another `path`; connections stay. Return whether it did.

        Raises:
            UsageError, OSError: as for `start`. The next call tries again.
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
        if self._server is not None:
            self._server.close()
            self._server = None
            await cancel_and_wait(*self._connections)

    def _remove(self) -> None:
        if self._bound is not None and _file_at(self._path) == self._bound:
            self._path.unlink(missing_ok=True)
        self._bound = None

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection. Its failures concern no other."""
        task = asyncio.current_task()
        assert task is not None
        connection = self._connections[task] = Connection(reader, writer, self._limits, self._broadcast)
        try:
            try:
                self._admit(writer)
                await self._converse(connection)
            except LineError as error:
                log.debug("connection refused: %s", error)
                await connection.write(messages.failure(error.code, error))
            await connection.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            log.debug("connection ended: %r", error)
        except asyncio.CancelledError:
            pass  # `close` ends connections this way, and nobody else awaits this task
        except Exception:
            log.exception("connection failed")
        finally:
            self._connections.pop(task, None)
            await connection.abort()

    def _admit(self, writer: asyncio.StreamWriter) -> None:
        """Raise LineError for a caller of another user, or for one too many."""
        peer = peer_of(writer.get_extra_info("socket"))
        if not self._rule.allows(peer):
            log.warning("control connection of user %d refused", peer.uid)
            raise LineError(messages.NOT_YOURS, sentence("this daemon belongs to another user"))
        if len(self._connections) > self._limits.max_connections:
            oldest = next(task for task, connection in self._connections.items() if connection.is_stranger)
            if oldest is asyncio.current_task():
                raise LineError(messages.BUSY, sentence("too many connections"))
            self._connections.pop(oldest)  # it ends soon, and no longer counts
            oldest.cancel()

    async def _converse(self, connection: Connection) -> None:
        """Answer one request after the other until the caller hangs up."""
        while text := await connection.read():
            # A web page that reaches the socket through some forwarder begins with a line of HTTP, and must not get on
            # to a line that it chose. So the first line that is no request ends the connection.
            try:
                request = _decoded(messages.ControlRequest, text, messages.BAD_REQUEST)
            except LineError:
                if not (connection.is_stranger and older_protocol.is_older(text)):
                    raise
                hello: Any = await self._handlers[schema.HELLO.name](schema.HelloParams())
                await connection.write(await older_protocol.answer(connection.reader, hello))
                return
            connection.is_stranger = False
            try:
                result = await self._answer(request, connection)
                reply = messages.line(messages.ControlReply(request.id, Raw(encode(result))))
            except LineError as error:
                reply = messages.failure(error.code, error, request.id)
            await connection.write(reply)
            await asyncio.sleep(0)  # let other callers have their turn

    async def _answer(self, request: messages.ControlRequest, connection: Connection) -> object:
        """Return the result of a request. Raises LineError."""
        if request.method == messages.SUBSCRIBE:
            topics = _decoded(messages.Topics, request.params, messages.BAD_PARAMS).topics
            return await self._subscribe(connection, topics)
        method = METHODS.get(request.method)
        if method is None:
            raise LineError(messages.UNKNOWN_METHOD, sentence("no method {name}", name=repr(request.method[:60])))
        params = _decoded(method.params, request.params, messages.BAD_PARAMS)
        try:
            async with asyncio.timeout(HANDLER_TIMEOUT_S):
                return await self._handlers[method.name](params)
        except Exception as error:
            refused = error if isinstance(error, PotluckError) else explained(error)
            if refused is not None:
                code = messages.AMBIGUOUS if isinstance(refused, AmbiguousError) else messages.REFUSED
                raise LineError(code, refused.sentence, hint=refused.advice) from error
            log.exception("control method %s failed", method.name)
            message = sentence("{method} failed inside the daemon", method=method.name)
            raise LineError(messages.INTERNAL, message, hint=sentence("`potluck logs` has the details")) from error

    async def _subscribe(self, connection: Connection, topics: tuple[str, ...]) -> schema.Empty:
        """Send the present status, and all news that follow."""
        status = news(schema.STATUS_EVENT, await self._handlers[schema.STATUS.name](schema.Empty()))
        if self._broadcast.num_readers >= MAX_READERS:
            raise LineError(messages.BUSY, sentence("too many subscribers"))
        subscription = self._broadcast.subscribe(topics)
        subscription.put(schema.STATUS_EVENT, status)
        connection.follow(subscription)  # the answer is written first, because no other task runs until then
        return schema.Empty()


def _decoded(kind: type[T], data: bytes | Raw, code: str) -> T:
    try:
        return decode(kind, data)
    except CodecError as error:
        raise LineError(code, verbatim(str(error))) from None


def _file_at(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
