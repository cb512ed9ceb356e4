"""Who must not be let in by the control socket: `control_hostile`.

Every attempt asks for a pause, in the way of a web page that reaches the socket through some forwarder, of another
user, of a broken or malicious program. One that is answered with a result, or that pauses the daemon, was let in. A
proper client must be answered beside the slow ones.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control import schema
from potluck_control.schema import HOST
from potluck_control.states import State

from benchmarks.figures import Measured
from tests.helpers.daemon_process import DaemonProcess

NOBODY = 65534
_PAUSE = b'{"jsonrpc":"2.0","id":1,"method":"pause","params":{}}'
_HUGE_BYTES = 10 * 1000 * 1000
_ANSWER_TIMEOUT_S = 15.0
_MAX_ANSWER_BYTES = 1 << 16
_NUM_SLOW = 24
_SLOW_PARTS = 16
_SLOW_PAUSE_S = 0.5


@dataclass(slots=True)
class Tally:
    tried: int = 0
    let_in: list[str] = field(default_factory=list)

    def note(self, name: str, answer: bytes, daemon: DaemonProcess) -> None:
        self.tried += 1
        if b'"result"' in answer or daemon.status().state is State.PAUSED:
            self.let_in.append(name)
            daemon.client.call(schema.RESUME)


def let_in(soak: bool) -> Measured:
    tally = Tally()
    with DaemonProcess() as daemon:
        is_open = b'"result"' in _send(daemon.socket, _request())  # otherwise the attempts would prove nothing
        daemon.client.call(schema.RESUME)
        for _ in range(20 if soak else 1):
            for name, data in (*_web_pages(), *_wrong_hosts(), *_wrong_heads(), *_bodies(), *_wrong_calls()):
                tally.note(name, _send(daemon.socket, data), daemon)
            worst_s = _slow_loris(daemon, tally)
        other_users = _other_users(daemon, tally)
        is_alive = daemon.status().state is State.IDLE
    detail = {
        "tried": tally.tried,
        "let_in": tally.let_in,
        "other_users": other_users,
        "status_beside_slow_ones_s": round(worst_s, 3),
        "alive": is_alive,
    }
    return Measured(len(tally.let_in), detail, holds=is_open and is_alive)


def _request(
    body: bytes = _PAUSE,
    *more: str,
    host: str | None = HOST,
    line: str = "POST /rpc HTTP/1.1",
    content_type: str | None = "application/json",
    length: str | None = None,
) -> bytes:
    """A proper request, but for what is given."""
    headers = [f"Host: {host}"] if host is not None else []
    headers += [f"Content-Type: {content_type}"] if content_type is not None else []
    headers += [f"Content-Length: {length if length is not None else len(body)}", "Connection: close", *more]
    return "\r\n".join([line, *headers, "", ""]).encode() + body


def _web_pages() -> Iterator[tuple[str, bytes]]:
    for header in (
        *("Origin: https://evil.example", "Origin: null", f"Origin: http://{HOST}", "oRIGIN: x"),
        *("Referer: https://evil.example/", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
    ):
        yield header, _request(_PAUSE, header)
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", None):
        yield f"form as {content_type}", _request(content_type=content_type)
    yield "preflight", _request(line="OPTIONS /rpc HTTP/1.1")


def _wrong_hosts() -> Iterator[tuple[str, bytes]]:
    for host in ("evil.example", "localhost", "127.0.0.1", f"{HOST}.evil.example", f"{HOST}:80", "", None):
        yield f"host {host}", _request(host=host)
    yield "two hosts", _request(_PAUSE, "Host: evil.example")


def _wrong_heads() -> Iterator[tuple[str, bytes]]:
    for line in ("GET /rpc HTTP/1.1", "POST /rpc HTTP/1.0", "POST /rpc", "POST //rpc HTTP/1.1", "POST /rpc?x HTTP/1.1"):
        yield line, _request(line=line)
    for length in ("-1", "+53", "5 3", "0x35", "53, 53", "9" * 400):
        yield f"length {length[:20]}", _request(length=length)
    yield "two lengths", _request(_PAUSE, "Content-Length: 2")
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(_PAUSE), _PAUSE)
    yield "chunked", _request(chunked, "Transfer-Encoding: chunked")
    yield "expectation", _request(_PAUSE, "Expect: 100-continue")
    yield "folded header", _request(_PAUSE, "X: y\r\n z")
    yield "huge head", _request(_PAUSE, "X: " + "y" * 100_000)
    yield "many headers", _request(_PAUSE, *(f"X{number}: y" for number in range(1000)))
    yield "bare line feeds", _request().replace(b"\r\n", b"\n")
    yield "no HTTP at all", os.urandom(4096)


def _bodies() -> Iterator[tuple[str, bytes]]:
    huge = _PAUSE + b" " * (_HUGE_BYTES - len(_PAUSE))
    yield "10 MB", _request(huge)
    yield "10 MB sent as 0 bytes", _request(huge, length="0")
    for name, body in (
        ("cut short", _PAUSE[:-1]),
        ("not UTF-8", _PAUSE.replace(b"pause", b"pau\xffse")),
        ("two objects", _PAUSE + _PAUSE),
        ("single quotes", _PAUSE.replace(b'"', b"'")),
        ("deep", b"[" * 60_000),
        ("NaN", _PAUSE.replace(b"{}", b'{"seconds":NaN}')),
        ("nothing", b""),
    ):
        yield f"JSON {name}", _request(body)


def _wrong_calls() -> Iterator[tuple[str, bytes]]:
    for old, new in (
        (b"2.0", b"1.0"),
        (b'"pause"', b'["pause"]'),
        (b'"pause"', b'"__class__"'),
        (b"{}", b"[]"),
        (b"{}", b'"x"'),
        (b"{}", b'{"seconds":-1}'),
        (b"{}", b'{"seconds":true}'),
        (b"{}", b'{"seconds":1e999}'),
        (b"{}", b'{"seconds":"3600"}'),
        (b'"id":1', b'"id":{}'),
    ):
        yield new.decode(), _request(_PAUSE.replace(old, new))
    yield "batch", _request(b"[%b,%b]" % (_PAUSE, _PAUSE))


def _send(path: Path, data: bytes) -> bytes:
    """What is answered before the connection ends; a refusal may come while we still send."""
    answer = b""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_ANSWER_TIMEOUT_S)
        connection.connect(str(path))
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while len(answer) < _MAX_ANSWER_BYTES and (part := connection.recv(_MAX_ANSWER_BYTES)):
                answer += part
        except (BrokenPipeError, ConnectionResetError):
            while len(answer) < _MAX_ANSWER_BYTES and (part := _rest(connection)):
                answer += part
    return answer


def _rest(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_MAX_ANSWER_BYTES)
    except ConnectionResetError:
        return b""


def _slow_loris(daemon: DaemonProcess, tally: Tally) -> float:
    """Requests that are complete after eight seconds; returns the longest that a proper client waited meanwhile."""
    worst_s, request = 0.0, _request()
    size = -(-len(request) // _SLOW_PARTS)
    with ExitStack() as stack:
        slow = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(_NUM_SLOW)]
        for connection in slow:
            connection.settimeout(_ANSWER_TIMEOUT_S)
            connection.connect(str(daemon.socket))
        for start in range(0, len(request), size):
            for connection in slow:
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # thrown out, as it should be
                    connection.send(request[start : start + size])
            began = time.monotonic()
            daemon.status()
            worst_s = max(worst_s, time.monotonic() - began)
            time.sleep(_SLOW_PAUSE_S)
        for connection in slow:
            tally.note("slow loris", _rest(connection), daemon)
    return worst_s


def _other_users(daemon: DaemonProcess, tally: Tally) -> str:
    """First as things are, then with a socket that a careless user opened to all; what became of the latter."""
    if os.geteuid() != 0:
        return "not tried: that takes root"
    tally.note("another user", _send_as_nobody(daemon.socket), daemon)
    for path in (daemon.socket, *list(daemon.socket.parents)[:3]):
        path.chmod(0o777)
    answer = _send_as_nobody(daemon.socket)
    tally.note("another user, socket open to all", answer, daemon)
    return answer.partition(b"\r\n")[0].decode("ascii", "replace") or "no answer"


def _send_as_nobody(path: Path) -> bytes:
    """From a child that gives up its rights; nothing if it may not even connect."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, _send(path, _request()))
        except OSError:
            pass
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text
