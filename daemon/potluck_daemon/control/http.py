"""HTTP/1.1 as far as the control socket needs it: bytes of a request head to a value, and answers to bytes. No I/O.

Strict where a lenient parser would be a hole: one length, no transfer encodings, no folded lines, no repeated headers
that matter, only printable ASCII. A web page can reach this socket only through a program that forwards for it, so
anything a browser adds (`Origin`, `Referer`) is refused, and the Host must be ours (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from potluck_control.schema import EVENTS_PATH, HOST, RPC_PATH

MAX_HEAD_BYTES = 8 * 1024
MAX_HEADERS = 40
MAX_BODY_BYTES = 64 * 1024

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64}")
_VALUE = re.compile(rb"[\t\x20-\x7e]*")
_REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    411: "Length Required",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    431: "Request Header Fields Too Large",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}


class HttpError(Exception):
    """The request is answered with `status` and the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Request:
    """A checked request head: its path is one of ours, its Host too, and no web page sent it."""

    method: str
    path: str
    body_bytes: int
    keep_alive: bool


def parse_head(head: bytes) -> Request:
    """Check a request head, up to and including the empty line.

    Raises:
        HttpError: it is malformed, or asks for something that this server does not do.
    """
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, path = _request_line(lines[0])
    headers = _headers(lines[1:])
    _refuse_strangers(headers)
    if path not in (RPC_PATH, EVENTS_PATH):
        raise HttpError(404, f"only {RPC_PATH} and {EVENTS_PATH} are here")
    if method != ("POST" if path == RPC_PATH else "GET"):
        raise HttpError(405, "POST /rpc or GET /events")
    body_bytes = _body_bytes(headers, required=path == RPC_PATH)
    if path == RPC_PATH and headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HttpError(415, "the content type must be application/json")
    return Request(method, path, body_bytes, keep_alive=headers.get("connection", "").strip().lower() != "close")


def response(status: int, body: bytes, *, content_type: str = "application/json", keep_alive: bool = True) -> bytes:
    """A whole answer with a body."""
    connection = "keep-alive" if keep_alive else "close"
    return _head(status, content_type, f"Content-Length: {len(body)}\r\nConnection: {connection}\r\n") + body


def event_stream_head() -> bytes:
    """The head of an endless answer; it ends when the connection does."""
    return _head(200, "text/event-stream", "Connection: close\r\n")


def _head(status: int, content_type: str, more: str) -> bytes:
    fixed = "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: {content_type}\r\n{fixed}{more}\r\n".encode("ascii")


def _request_line(line: bytes) -> tuple[str, str]:
    parts = line.split(b" ")
    if len(parts) != 3 or not _TOKEN.fullmatch(parts[0]) or not parts[1] or not _VALUE.fullmatch(parts[1]):
        raise HttpError(400, "malformed request line")
    if parts[2] != b"HTTP/1.1":
        raise HttpError(505 if parts[2].startswith(b"HTTP/") else 400, "only HTTP/1.1")
    return parts[0].decode("ascii"), parts[1].decode("ascii")


def _headers(lines: list[bytes]) -> Mapping[str, str]:
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
    return headers


def _refuse_strangers(headers: Mapping[str, str]) -> None:
    if headers.get("host", "").lower() != HOST:
        raise HttpError(421, f"the Host must be {HOST}")
    for name in headers:
        if name in ("origin", "referer") or name.startswith("sec-fetch-"):
            raise HttpError(403, "web pages are not answered")


def _body_bytes(headers: Mapping[str, str], *, required: bool) -> int:
    if "transfer-encoding" in headers:
        raise HttpError(501, "transfer encodings are not understood; send Content-Length")
    if "expect" in headers:
        raise HttpError(501, "expectations are not understood")
    text = headers.get("content-length")
    if text is None:
        if required:
            raise HttpError(411, "Content-Length is missing")
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise HttpError(400, "malformed Content-Length")
    if int(text) > (MAX_BODY_BYTES if required else 0):
        raise HttpError(413, f"a request body has at most {MAX_BODY_BYTES} bytes")
    return int(text)
