"""Calls the daemon and reads its events, synchronously, over its Unix socket or another line to it.

The command line and the app's worker threads use it. Each call has a connection of its own, which takes about a
millisecond and finds a daemon that was restarted in between.
"""

from __future__ import annotations

import contextlib
import io
import os
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol, TypeVar

from msgspec import Raw

from potluck.errors import AmbiguousError, PotluckError, UsageError
from potluck.own_version import own_version
from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import Sentence, sentence
from potluck_control.api import messages, schema
from potluck_control.api.schema import Empty, Event, Method
from potluck_control.api.versions import agree, call_older_daemon

P = TypeVar("P")
R = TypeVar("R")

CALL_TIMEOUT_S = 35.0  # a little above the server's own limit
EVENT_TIMEOUT_S = 45.0  # a daemon sends its status every second
_POLL_S = 1.0
_LINE_END = b"\r\n\r\n"  # a daemon of the version before takes this for the end of a request, and refuses it at once
_MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107  # sun_path without its end
_CREDENTIALS = struct.Struct("3i")  # process, user and group of SO_PEERCRED


class DaemonAwayError(PotluckError):
    """No daemon answers."""


class ControlError(PotluckError):
    """The daemon refused the call or failed. `message` and `hint` are the daemon's."""


class OlderDaemonError(Exception):
    """The daemon speaks the protocol of the version before."""


class Line(Protocol):
    """A way to reach a daemon."""

    def connection(self, timeout_s: float) -> contextlib.AbstractContextManager[io.BufferedRWPair]:
        """Connect for one request, with `timeout_s` for each wait. Raises DaemonAwayError if there is no answer."""


class ControlClient:
    """A client of the daemon at `place`, which is its socket or another line to it."""

    def __init__(self, place: Path | Line, *, timeout_s: float = CALL_TIMEOUT_S) -> None:
        self._line = SocketLine(place) if isinstance(place, Path) else place
        self._timeout_s = timeout_s

    def call(self, method: Method[P, R], params: P | None = None) -> R:
        """Call `method` and return its result. Raises DaemonAwayError or ControlError."""
        given = encode(params if params is not None else Empty())
        try:
            with self._line.connection(self._timeout_s) as connection:
                reply = _ask(connection, method.name, given)
        except OlderDaemonError:
            with self._line.connection(self._timeout_s) as connection:
                reply = call_older_daemon(connection, method.name, given)
        return _decoded(method.result, _result(reply))

    def hello(self, client: str) -> schema.DaemonHello:
        """Greet the daemon, as every client does first, and return its greeting.

        Raises:
            ControlError: the daemon speaks another version.
        """
        ours = own_version()
        hello = self.call(schema.HELLO, schema.HelloParams(client=client, version=ours))
        agreement = agree(hello, ours)
        if not agreement.is_usable:
            raise ControlError(agreement.text, hint=agreement.advice)
        return hello

    def events(self, is_wanted: Callable[[object], bool] | None = None) -> Iterator[Event]:
        """Yield the present status and then every event, until the daemon ends.

        Args:
            is_wanted: called with an event's JSON value, to skip it before the decoding.

        Raises:
            DaemonAwayError: the daemon is not there or fell silent.
        """
        try:
            with self._line.connection(EVENT_TIMEOUT_S) as connection:
                _result(_ask(connection, messages.SUBSCRIBE, encode(messages.Topics())))
                while (reply := _read(connection)) is not None:
                    kind = schema.EVENT_TYPES.get(reply.topic)
                    if kind is not None and (is_wanted is None or is_wanted(_decoded(object, reply.data))):
                        yield _decoded(kind, reply.data)
        except OlderDaemonError:
            while True:
                yield self.call(schema.STATUS)
                time.sleep(_POLL_S)


def require_short(path: Path) -> None:
    """Raise UsageError if a path is too long for a socket."""
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        text = sentence("{path} is too long a path for a socket", path=str(path))
        raise UsageError(text, hint=sentence("set XDG_RUNTIME_DIR to a folder with a shorter one"))


class SocketLine:
    """A Unix socket: one connection a request."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[io.BufferedRWPair]:
        """Connect to the socket for one request. Raises DaemonAwayError, UsageError."""
        require_short(self._path)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                connection.settimeout(timeout_s)
                connection.connect(str(self._path))
                self._require_owner(connection)
                with connection.makefile("rwb") as stream:
                    yield stream
        except OSError as error:
            raise _away(self._path, error) from error

    def _require_owner(self, connection: socket.socket) -> None:
        if os.geteuid() == 0 and hasattr(socket, "SO_PEERCRED"):
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            _, listener, _ = _CREDENTIALS.unpack(credentials)
            if listener != self._path.parent.stat().st_uid:  # a link to somebody else's socket
                raise PermissionError(f"{self._path} leads to another user's socket")


def _away(path: Path, error: OSError) -> DaemonAwayError:
    if isinstance(error, FileNotFoundError):
        hint = sentence("start it with: potluck start")
        return DaemonAwayError(sentence("the daemon is not running"), hint=hint)
    if isinstance(error, ConnectionRefusedError):  # one that ends in order removes its socket
        hint = sentence("start it with: potluck start; see why: potluck logs")
        return DaemonAwayError(sentence("the daemon was killed or has crashed"), hint=hint)
    if isinstance(error, PermissionError):
        text = sentence("no permission to speak to the daemon at {path}", path=str(path))
        return DaemonAwayError(text, hint=sentence("it belongs to another user"))
    return DaemonAwayError(no_answer(error), hint=sentence("see why: potluck logs"))


def no_answer(error: OSError) -> Sentence:
    """Return the sentence that the daemon does not answer, and why."""
    return sentence("the daemon does not answer: {why}", why=str(error) or type(error).__name__)


def _ask(connection: io.BufferedRWPair, method: str, params: bytes) -> messages.ControlReply:
    """Return the answer. Raises OSError, OlderDaemonError."""
    request = encode(messages.ControlRequest(method, 1, Raw(params)))
    connection.write(request + _LINE_END)
    connection.flush()
    reply = _read(connection)
    if reply is None:
        raise ConnectionError("it ended the connection")
    return reply


def _read(connection: io.BufferedRWPair) -> messages.ControlReply | None:
    """Return the daemon's next message; None if it has ended. Raises OSError for anything else."""
    line = connection.readline(messages.MAX_ANSWER_BYTES)
    if not line:
        return None
    if line.startswith(b"HTTP/1.1 "):
        raise OlderDaemonError
    try:
        return decode(messages.ControlReply, line)
    except CodecError as error:
        raise ConnectionError(f"its answer is cut or no answer ({error})") from error


def _result(reply: messages.ControlReply) -> Raw:
    """Return the result in a reply. Raises ControlError or AmbiguousError if it has an error instead."""
    failure = reply.error
    if failure is None:
        return reply.result
    if failure.code == messages.UNKNOWN_METHOD:
        text = sentence("the daemon does not know this yet ({what})", what=failure.message)
        hint = sentence("an older version of it still runs: potluck drain, then potluck start")
        raise ControlError(text, hint=hint)
    kind = AmbiguousError if failure.code == messages.AMBIGUOUS else ControlError
    raise kind(failure.message, hint=failure.hint)


def _decoded(kind: type[R], data: Raw) -> R:
    try:
        return decode(kind, data)
    except CodecError as error:
        text = sentence("the daemon's answer is not understood: {why}", why=str(error))
        raise ControlError(text) from error
