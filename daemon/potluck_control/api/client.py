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
from potluck_control.api import messages as lines
from potluck_control.api import schema
from potluck_control.api import versions as older_daemon
from potluck_control.api.schema import Empty, Event, Method
from potluck_control.api.versions import agree

P = TypeVar("P")
R = TypeVar("R")

CALL_TIMEOUT_S = 35.0  # a little above the server's own limit
EVENT_TIMEOUT_S = 45.0  # a daemon tells its status every second
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
                told = _ask(connection, method.name, given)
        except OlderDaemonError:
            with self._line.connection(self._timeout_s) as connection:
                told = older_daemon.call_older_daemon(connection, method.name, given)
        return _understood(method.result, _result(told))

    def hello(self, client: str) -> schema.DaemonHello:
        """Ask the daemon who it is, which every client does first.

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
                _result(_ask(connection, lines.SUBSCRIBE, encode(lines.Topics())))
                while (told := _read(connection)) is not None:
                    kind = schema.EVENT_TYPES.get(told.topic)
                    if kind is not None and (is_wanted is None or is_wanted(_understood(object, told.data))):
                        yield _understood(kind, told.data)
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
    """Say that the daemon does not answer, and why."""
    return sentence("the daemon does not answer: {why}", why=str(error) or type(error).__name__)


def _ask(connection: io.BufferedRWPair, method: str, params: bytes) -> lines.ControlReply:
    """Return the answer. Raises OSError, OlderDaemonError."""
    request = encode(lines.ControlRequest(method, 1, Raw(params)))
    connection.write(request + _LINE_END)
    connection.flush()
    told = _read(connection)
    if told is None:
        raise ConnectionError("it ended the connection")
    return told


def _read(connection: io.BufferedRWPair) -> lines.ControlReply | None:
    """Return what the daemon says next; None: it has ended. Raises OSError for what no daemon says."""
    said = connection.readline(lines.MAX_ANSWER_BYTES)
    if not said:
        return None
    if said.startswith(b"HTTP/1.1 "):
        raise OlderDaemonError
    try:
        told = decode(lines.ControlReply, said)
    except CodecError as error:
        raise ConnectionError(f"its answer is cut or no answer ({error})") from error
    return told


def _result(told: lines.ControlReply) -> Raw:
    """Return the result in an answer. Raises ControlError for an error, and AmbiguousError."""
    failure = told.error
    if failure is None:
        return told.result
    if failure.code == lines.UNKNOWN_METHOD:
        text = sentence("the daemon does not know this yet ({what})", what=failure.message)
        hint = sentence("an older version of it still runs: potluck drain, then potluck start")
        raise ControlError(text, hint=hint)
    kind = AmbiguousError if failure.code == lines.AMBIGUOUS else ControlError
    raise kind(failure.message, hint=failure.hint)


def _understood(kind: type[R], data: Raw) -> R:
    try:
        return decode(kind, data)
    except CodecError as error:
        text = sentence("the daemon's answer is not understood: {why}", why=str(error))
        raise ControlError(text) from error
