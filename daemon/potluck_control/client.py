"""Calls the daemon and reads its events, synchronously, over its Unix socket or another line to it.

The command line and the app's worker threads use it. Each call has a connection of its own, which takes about a
millisecond and finds a daemon that was restarted in between.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, TypeVar

from potluck.errors import PotluckError, UsageError
from potluck.protocol.codec import CodecError, builtins, decode, encode
from potluck_control import schema
from potluck_control.agreement import agree
from potluck_control.schema import Empty, Event, Method

P = TypeVar("P")
R = TypeVar("R")

CALL_TIMEOUT_S = 35.0  # a little above the server's own limit
EVENT_TIMEOUT_S = 45.0  # two keep-alive intervals
MAX_LINE_BYTES = 1 << 20
MAX_ANSWER_BYTES = 1 << 26
_MAX_PATH_BYTES = 103 if sys.platform == "darwin" else 107  # sun_path without its end
_CREDENTIALS = struct.Struct("3i")  # process, user and group of SO_PEERCRED


class DaemonAwayError(PotluckError):
    """No daemon answers."""


class ControlError(PotluckError):
    """The daemon refused the call or failed. `message` and `hint` are the daemon's."""


class Line(Protocol):
    """A way to reach a daemon."""

    def connection(self, timeout_s: float) -> contextlib.AbstractContextManager[http.client.HTTPConnection]:
        """Connect for one request, with `timeout_s` for each wait. Raises DaemonAwayError if there is no answer."""


class ControlClient:
    """A client of the daemon at `place`, which is its socket or another line to it."""

    def __init__(self, place: Path | Line, *, timeout_s: float = CALL_TIMEOUT_S) -> None:
        self._line = SocketLine(place) if isinstance(place, Path) else place
        self._timeout_s = timeout_s

    def call(self, method: Method[P, R], params: P | None = None) -> R:
        """Call `method` and return its result. Raises DaemonAwayError or ControlError."""
        wanted = builtins(params if params is not None else Empty())
        body = encode({"jsonrpc": "2.0", "id": 1, "method": method.name, "params": wanted})
        headers = {"Host": schema.HOST, "Content-Type": "application/json"}
        with self._line.connection(self._timeout_s) as connection:
            connection.request("POST", schema.RPC_PATH, body, headers)
            answer = connection.getresponse()
            return _result(method, answer.status, _body(answer))

    def hello(self, client: str) -> schema.DaemonHello:
        """Ask the daemon who it is, which every client does first.

        Raises:
            ControlError: the daemon speaks another version.
        """
        ours = version("potluck")
        hello = self.call(schema.HELLO, schema.HelloParams(client=client, version=ours))
        agreement = agree(hello, ours)
        if not agreement.is_usable:
            raise ControlError(agreement.text, hint=agreement.advice)
        return hello

    def events(self, is_wanted: Callable[[object], bool] | None = None) -> Iterator[Event]:
        """Yield the present status and then every event, until the daemon ends.

        Args:
            is_wanted: called with an event's JSON value, to skip it before the costly decoding.

        Raises:
            DaemonAwayError: the daemon is not there or fell silent.
        """
        with self._line.connection(EVENT_TIMEOUT_S) as connection:
            connection.request("GET", schema.EVENTS_PATH, headers={"Host": schema.HOST})
            answer = connection.getresponse()
            if answer.status != 200:
                raise ControlError(_refusal(_body(answer)))
            yield from _read_events(answer, is_wanted or (lambda _: True))


def require_short(path: Path) -> None:
    """Raise UsageError if a path is too long for a socket."""
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        text = f"{path} is too long a path for a socket"
        raise UsageError(text, hint="set XDG_RUNTIME_DIR to a folder with a shorter one")


class SocketLine:
    """A Unix socket: one connection a request."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextlib.contextmanager
    def connection(self, timeout_s: float) -> Iterator[http.client.HTTPConnection]:
        require_short(self._path)
        connection = _UnixConnection(self._path, timeout_s)
        try:
            yield connection
        except (OSError, http.client.HTTPException) as error:
            raise _away(self._path, error) from error
        finally:
            connection.close()


class _UnixConnection(http.client.HTTPConnection):
    """An http.client connection over a socket path. Overriding `connect` is the only way that http.client offers."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        super().__init__(schema.HOST, timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
        if os.geteuid() == 0 and hasattr(socket, "SO_PEERCRED"):
            _, listener, _ = _CREDENTIALS.unpack(
                self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            )
            if listener != self._path.parent.stat().st_uid:  # a link to somebody else's socket
                raise PermissionError(f"{self._path} leads to another user's socket")


def _body(answer: http.client.HTTPResponse) -> bytes:
    """Return the body. Raises HTTPException if it is longer than any daemon's."""
    body = answer.read(MAX_ANSWER_BYTES + 1)
    if len(body) > MAX_ANSWER_BYTES:
        raise http.client.HTTPException("the answer is too long")
    return body


def _away(path: Path, error: Exception) -> DaemonAwayError:
    if isinstance(error, FileNotFoundError):
        return DaemonAwayError("the daemon is not running", hint="start it with: potluck start")
    if isinstance(error, ConnectionRefusedError):  # one that ends in order removes its socket
        hint = "start it with: potluck start; see why: potluck logs"
        return DaemonAwayError("the daemon was killed or has crashed", hint=hint)
    if isinstance(error, PermissionError):
        return DaemonAwayError(f"no permission to speak to the daemon at {path}", hint="it belongs to another user")
    return DaemonAwayError(f"the daemon does not answer: {error or type(error).__name__}", hint="potluck logs")


def _result(method: Method[Any, R], status: int, body: bytes) -> R:
    if status != 200:
        raise ControlError(_refusal(body))
    try:
        message = decode(object, body)
        if not isinstance(message, dict):
            raise CodecError("expected an object")
        if "error" in message:
            raise _control_error(message["error"])
        return decode(method.result, encode(message.get("result")))
    except CodecError as error:
        raise ControlError(f"the daemon's answer is not understood: {error}") from error


def _control_error(error: object) -> ControlError:
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return ControlError("the daemon failed without saying why")
    if error.get("code") == schema.METHOD_NOT_FOUND:
        text = f"the daemon does not know this yet ({error['message']})"
        return ControlError(text, hint="an older version of it still runs: potluck drain, then potluck start")
    data = error.get("data")
    hint = data.get("hint") if isinstance(data, dict) else None
    return ControlError(error["message"], hint=hint if isinstance(hint, str) else None)


def _refusal(body: bytes) -> str:
    try:
        message = decode(object, body)
    except CodecError:
        message = None
    text = message.get("error") if isinstance(message, dict) else None
    return f"the daemon refused the request: {text or 'no reason given'}"


def _read_events(answer: http.client.HTTPResponse, is_wanted: Callable[[object], bool]) -> Iterator[Event]:
    name = b""
    while line := answer.readline(MAX_LINE_BYTES):
        field, _, value = line.rstrip(b"\n").partition(b": ")
        if field == b"event":
            name = value
        elif field == b"data":
            kind = schema.EVENT_TYPES.get(name.decode("ascii", "replace"))
            if kind is not None:  # a newer daemon may send events that we do not know
                try:
                    content = decode(object, value)
                    if is_wanted(content):
                        yield decode(kind, value)
                except CodecError as error:
                    raise ControlError(f"the daemon's event is not understood: {error}") from error
