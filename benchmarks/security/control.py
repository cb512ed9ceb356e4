"""Who must not be let in by the control socket: `control_hostile`.

Every attempt asks for a pause, in the way of a web page that reaches the socket through some forwarder, of another
user, of a broken or malicious program. One that is answered with a result, or that pauses the daemon, was let in. A
proper client must be answered beside those that are slow, do not read, or are too many.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from potluck_control.api import messages, schema
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from tests.helpers.daemon_process import DaemonProcess

NOBODY = 65534
_PAUSE = b'{"id":1,"method":"pause","params":{}}\n'
_OLDER_PAUSE = b'{"jsonrpc":"2.0","id":1,"method":"pause","params":{}}'
_HUGE_BYTES = 10 * 1000 * 1000
_ANSWER_TIMEOUT_S = 15.0
_MAX_ANSWER_BYTES = 1 << 16
_NUM_SLOW = 24
_NUM_SILENT = 200
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


@figure("control_hostile", unit="requests", reach=0, shown=True)
def let_in(soak: bool) -> Measured:
    """Requests let in by the control socket: of web pages, other protocols and users, huge, slow and malformed ones."""
    tally = Tally()
    with DaemonProcess() as daemon:
        is_open = b'"result"' in _send(daemon.socket, _PAUSE)  # otherwise the attempts would prove nothing
        daemon.client.call(schema.RESUME)
        for _ in range(20 if soak else 1):
            for name, data in (*_web_pages(), *_other_protocols(), *_wrong_lines(), *_wrong_requests()):
                tally.note(name, _send(daemon.socket, data), daemon)
            worst_s = max(_slow_loris(daemon, tally), _silent_ones(daemon, tally), _deaf_ones(daemon, tally))
        other_users = _other_users(daemon, tally)
        is_alive = daemon.status().state is State.IDLE
    detail = {
        "tried": tally.tried,
        "let_in": tally.let_in,
        "other_users": other_users,
        "status_beside_them_s": round(worst_s, 3),
        "alive": is_alive,
    }
    return Measured(len(tally.let_in), detail, holds=is_open and is_alive)


def _web_pages() -> Iterator[tuple[str, bytes]]:
    """Yield what a browser sends for a page of somebody else, to this version and to the one before."""
    for line in ("POST / HTTP/1.1", "POST /rpc HTTP/1.1", "PUT /rpc HTTP/1.1"):
        for header in (
            *("Origin: https://evil.example", "Origin: null", "Referer: https://evil.example/"),
            *("Sec-Fetch-Site: cross-site", "Host: potluckd.local", "Host: evil.example", "Host: localhost"),
            *("Content-Type: application/json", "Content-Type: text/plain", "Content-Type: multipart/form-data"),
        ):
            for body in (_PAUSE, _OLDER_PAUSE):
                yield f"{line}, {header}", _http(line, body, header)
    yield "preflight", _http("OPTIONS /rpc HTTP/1.1", _PAUSE)
    yield "in the address", _http("GET /events HTTP/1.1", b"")[:-2] + _PAUSE
    yield "form", _http("POST /rpc HTTP/1.1", b"x=\r\n" + _PAUSE, "Content-Type: text/plain")
    yield "chunked", _http("POST /rpc HTTP/1.1", b"25\r\n" + _PAUSE + b"0\r\n\r\n", "Transfer-Encoding: chunked")
    yield "two lengths", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE, "Content-Length: 0")
    yield "no length", b"POST /rpc HTTP/1.1\r\n\r\n" + _PAUSE
    yield "two requests", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE) * 2
    yield "hello, then more", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE.replace(b"pause", b"status")) + _PAUSE
    yield "huge head", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE, "X: " + "y" * 100_000)
    yield "many headers", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE, *(f"X{number}: y" for number in range(1000)))
    yield "bare line feeds", _http("POST /rpc HTTP/1.1", _OLDER_PAUSE).replace(b"\r\n", b"\n")


def _http(line: str, body: bytes, *headers: str) -> bytes:
    return "\r\n".join([line, *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


def _other_protocols() -> Iterator[tuple[str, bytes]]:
    yield "HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _PAUSE
    yield "TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n" + _PAUSE
    yield "SSH", b"SSH-2.0-OpenSSH_9.9\r\n" + _PAUSE
    yield "SMTP", b"EHLO evil.example\r\n" + _PAUSE
    yield "language server", b"Content-Length: %d\r\n\r\n%b" % (len(_PAUSE), _PAUSE)
    yield "netstring", b"%d:%b," % (len(_PAUSE), _PAUSE)
    yield "server-sent event", b"data: " + _PAUSE + b"\n"
    yield "MessagePack", b"\x82\xa2id\x01\xa6method\xa5pause\n" + _PAUSE
    yield "no protocol at all", os.urandom(4096).replace(b"\n", b" ") + b"\n" + _PAUSE


def _wrong_lines() -> Iterator[tuple[str, bytes]]:
    yield "10 MB", _PAUSE[:-1] + b" " * _HUGE_BYTES + b"\n"
    yield "10 MB before it", b"x" * _HUGE_BYTES + b"\n" + _PAUSE
    yield "10 MB of blanks in it", _PAUSE.replace(b",", b"," + b" " * _HUGE_BYTES, 1)
    yield "a byte too long", _PAUSE[:-1] + b" " * (messages.MAX_REQUEST_BYTES - len(_PAUSE) + 2) + b"\n"
    yield "10 MB of blank lines before it", b"\n" * _HUGE_BYTES + _PAUSE
    yield "without its end", _PAUSE[:-1]
    for name, wrong in (
        ("cut short", _PAUSE[:-3] + b"\n"),
        ("not UTF-8", _PAUSE.replace(b"pause", b"pau\xffse")),
        ("UTF-16", _PAUSE.decode().encode("utf-16")),
        ("byte order mark", b"\xef\xbb\xbf" + _PAUSE),
        ("NUL", b"\0" + _PAUSE),
        ("NUL in it", _PAUSE.replace(b"pause", b"pause\0")),
        ("half a surrogate", _PAUSE.replace(b"pause", b"pause\\ud800")),
        ("two objects", _PAUSE[:-1] * 2 + b"\n"),
        ("single quotes", _PAUSE.replace(b'"', b"'")),
        ("no quotes", _PAUSE.replace(b'"', b"")),
        ("comma at its end", _PAUSE.replace(b"}}", b"},}")),
        ("comment", b"/* */" + _PAUSE),
        ("deep", b"[" * 60_000 + b"\n"),
        ("deep parameters", _PAUSE.replace(b"{}", b"[" * 60_000)),
        ("deep field of a newer version", _PAUSE.replace(b"}}", b'},"new":' + b"[" * 60_000)),
        ("NaN", _PAUSE.replace(b"{}", b'{"seconds":NaN}')),
        ("Infinity", _PAUSE.replace(b"{}", b'{"seconds":Infinity}')),
        ("null", b"null\n"),
        ("a word", b"pause\n"),
    ):
        yield name, wrong
        yield f"{name}, then a proper one", wrong + _PAUSE


def _wrong_requests() -> Iterator[tuple[str, bytes]]:
    for old, new in (
        *((b'"pause"', name) for name in (b'["pause"]', b"null", b"1", b"{}", b'""', b'"__class__"', b'"PAUSE"')),
        *((b'"pause"', name) for name in (b'"pause "', b'"pause\\u0000"', b'"../pause"', b'"subscribe"x', b'"_pause"')),
        *(
            (b"{}", params)
            for params in (b"[]", b'"x"', b"null", b"1", b"true", b'{"seconds":-1}', b'{"seconds":true}')
        ),
        *((b"{}", b'{"seconds":%b}' % number) for number in (b"1e999", b'"3600"', b"[60]", b"{}", b"1e17", b"9" * 400)),
        (b"{}", b'{"until_game_ends":"yes"}'),
        (b"{}", b'{"until_game_ends":1}'),
        *((b'"id":1', b'"id":%b' % value) for value in (b"{}", b"[]", b"true", b"1.5", b"01", b"9" * 10_000)),
        (b'"method"', b'"Method"'),
    ):
        yield new[:40].decode(), _PAUSE.replace(old, new)
    yield "batch", b"[%b,%b]\n" % (_PAUSE[:-1], _PAUSE[:-1])


def _send(path: Path, data: bytes) -> bytes:
    """Return what is answered before the connection ends; a refusal may come while we still send."""
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
    worst_s, request = 0.0, _PAUSE
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
            worst_s = max(worst_s, _waited_s(daemon))
            time.sleep(_SLOW_PAUSE_S)
        for connection in slow:
            tally.note("slow loris", _rest(connection), daemon)
    return worst_s


def _silent_ones(daemon: DaemonProcess, tally: Tally) -> float:
    """Connect again and again without a request; returns the longest that a proper client waited meanwhile."""
    worst_s = 0.0
    with ExitStack() as stack:
        for number in range(_NUM_SILENT):
            silent = stack.enter_context(socket.socket(socket.AF_UNIX))
            silent.connect(str(daemon.socket))
            if number % 10 == 0:
                worst_s = max(worst_s, _waited_s(daemon))
        tally.note("silent ones", b"", daemon)
    return worst_s


def _deaf_ones(daemon: DaemonProcess, tally: Tally) -> float:
    """Ask without end and read no answer; returns the longest that a proper client waited meanwhile."""
    worst_s, asked = 0.0, b'{"method":"history","params":{"limit":0}}\n{"method":"status"}\n' * 500
    with ExitStack() as stack:
        deaf = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(_NUM_SLOW)]
        for connection in deaf:
            connection.connect(str(daemon.socket))
            connection.setblocking(False)
        for _ in range(_SLOW_PARTS):
            for connection in deaf:
                with contextlib.suppress(OSError):  # its buffers are full, or it was thrown out
                    connection.send(asked)
            worst_s = max(worst_s, _waited_s(daemon))
            time.sleep(_SLOW_PAUSE_S)
        tally.note("deaf ones", b"", daemon)
    return worst_s


def _waited_s(daemon: DaemonProcess) -> float:
    began = time.monotonic()
    daemon.status()
    return time.monotonic() - began


def _other_users(daemon: DaemonProcess, tally: Tally) -> str:
    """First as things are, then with a socket that a careless user opened to all; what became of the latter."""
    if os.geteuid() != 0:
        return "not tried: that takes root"
    tally.note("another user", _send_as_nobody(daemon.socket), daemon)
    for path in (daemon.socket, *list(daemon.socket.parents)[:3]):
        path.chmod(0o777)
    answer = _send_as_nobody(daemon.socket)
    tally.note("another user, socket open to all", answer, daemon)
    return str(json.loads(answer)["error"]["code"]) if answer else "no answer"


def _send_as_nobody(path: Path) -> bytes:
    """Return the answer to a child that gives up its rights; nothing if it may not even connect."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, _send(path, _PAUSE))
        except OSError:
            pass
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text
