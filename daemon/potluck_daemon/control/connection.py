"""One caller's connection: finds out who is at the other end, reads lines, and writes answers and news.

Whatever a caller may hold up has a time limit, and whatever it may fill has a size limit, so one that is stuck or
hostile costs its own connection for a few seconds at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import grp
import os
import pwd
import socket
import struct
import sys
from dataclasses import dataclass

from potluck_control.api import messages

from potluck.errors import PotluckError
from potluck.sentences import NOTHING, Sentence, sentence
from potluck.tasks import cancel_and_wait, start_task
from potluck_daemon.control.events import Broadcast, Subscription

_MAX_BLANKS = 100  # bytes before a request
_CLOSE_S = 0.5  # time for a caller to read its answer: closing with unread input would reset the connection


@dataclass(frozen=True, slots=True)
class Peer:
    """The user at the other end, as the kernel recorded it."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class AccessRule:
    """The rule who may call: the daemon's own user, and for a system service also root and one group."""

    uid: int
    group: str | None = None

    def allows(self, peer: Peer) -> bool:
        """Return whether this user may call."""
        if peer.uid == self.uid:
            return True
        return self.group is not None and (peer.uid == 0 or _is_member(peer, self.group))


def peer_of(connection: socket.socket) -> Peer:
    """Return the credentials that the kernel recorded when the peer connected.

    Raises:
        OSError: this platform has no way to ask.
    """
    if sys.platform == "linux":
        _pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return Peer(uid, gid)
    return _local_peer_cred(connection)


class LineError(PotluckError):
    """The answer to a bad request, or the end of a connection. `code`: an error code of `lines`."""

    def __init__(self, code: str, message: Sentence, *, hint: Sentence = NOTHING) -> None:
        super().__init__(message, hint=hint)
        self.code = code


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What one caller may take."""

    max_connections: int = 64
    request_timeout_s: float = 5.0  # limit for a whole request, and for the first byte
    idle_timeout_s: float = 60.0  # limit without a request or a subscription
    write_timeout_s: float = 5.0  # limit for a caller that does not read


class Connection:
    """A connection. Methods raise OSError, which includes TimeoutError, if the caller has left or is stuck.

    Attributes:
        is_stranger: the caller has made no request so far.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: ConnectionLimits, broadcast: Broadcast
    ) -> None:
        self.reader = reader
        self.is_stranger = True
        self._writer = writer
        self._limits = limits
        self._broadcast = broadcast
        self._subscription: Subscription | None = None
        self._news: asyncio.Task[None] | None = None

    async def read(self) -> bytes:
        """Return the next line that is not blank; empty if the caller has hung up. Raises LineError."""
        limits = self._limits
        quiet_s = limits.idle_timeout_s if self._subscription is None else None
        if self.is_stranger:
            quiet_s = min(limits.request_timeout_s, limits.idle_timeout_s)
        async with asyncio.timeout(quiet_s):
            for _ in range(_MAX_BLANKS):
                first = await self.reader.read(1)
                if not first.isspace():
                    break
        if not first:
            return b""
        try:
            async with asyncio.timeout(limits.request_timeout_s):
                return first + await self.reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            text = sentence("a request has at most {count} bytes", count=messages.MAX_REQUEST_BYTES)
            raise LineError(messages.BAD_REQUEST, text) from None
        except TimeoutError:
            raise LineError(messages.BAD_REQUEST, sentence("the request did not arrive in time")) from None

    async def write(self, data: bytes) -> None:
        """Write a line, and wait until the caller has taken it."""
        self._writer.write(data)
        async with asyncio.timeout(self._limits.write_timeout_s):
            await self._writer.drain()

    def follow(self, subscription: Subscription) -> None:
        """Write the news of a subscription as they come, in place of those of an earlier one."""
        self._unfollow()
        self._subscription = subscription
        self._news = start_task(self._write_news(subscription))

    async def close(self) -> None:
        """Write no more news, let the caller read to the end, and close."""
        self._unfollow()
        with contextlib.suppress(OSError):
            self._writer.write_eof()
            async with asyncio.timeout(_CLOSE_S):
                while await self.reader.read(1 << 16):
                    pass
        self._writer.close()
        async with asyncio.timeout(self._limits.write_timeout_s):
            await self._writer.wait_closed()

    async def abort(self) -> None:
        """Close the connection without sending what still waits."""
        self._unfollow()
        self._writer.transport.abort()
        await cancel_and_wait(self._news)

    def _unfollow(self) -> None:
        if self._subscription is not None and self._news is not None:
            self._broadcast.end(self._subscription)
            self._news.cancel()

    async def _write_news(self, subscription: Subscription) -> None:
        try:
            while True:
                await self.write(await subscription.next())
        except OSError:
            self._writer.transport.abort()  # this ends the reading, too


def _local_peer_cred(connection: socket.socket) -> Peer:
    """Read `struct xucred` of <sys/ucred.h>, on macOS and BSDs, by getsockopt(SOL_LOCAL = 0, LOCAL_PEERCRED = 1)."""
    raw = connection.getsockopt(0, 1, 76)
    _version, uid, num_groups, gid = struct.unpack_from("=IIh2xI", raw)
    if num_groups < 1:
        raise OSError("the peer has no groups")
    return Peer(uid, gid)


def _is_member(peer: Peer, group: str) -> bool:
    try:
        wanted = grp.getgrnam(group).gr_gid
        name = pwd.getpwuid(peer.uid).pw_name
    except KeyError:
        return False
    return peer.gid == wanted or wanted in os.getgrouplist(name, peer.gid)
