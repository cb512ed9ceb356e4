"""Answers programs of the version before, which speak HTTP/1.1 and JSON-RPC, that they are older. For one version.

An update leaves their app open, and their `potluck update` asks the new daemon for its version. They get that answer
and no other.
"""

from __future__ import annotations

import asyncio
import re

from msgspec import Struct
from potluck_control.api.schema import DaemonHello

from potluck.protocol.codec import CodecError, decode, encode

_FIRST_WORDS = (b"POST /rpc ", b"GET /events ")
_LENGTH = re.compile(rb"\ncontent-length: *(\d{1,5})\r\n", re.IGNORECASE)
_READ_S = 5.0
_REFUSED = -32000
_TEXT, _HINT = "the daemon is newer than this program", "start this program again"


class _Call(Struct, frozen=True):
    method: str
    id: int | None = None


def is_older(line: bytes) -> bool:
    """Return whether the first line of a connection is an older program's."""
    return line.startswith(_FIRST_WORDS)


async def answer(reader: asyncio.StreamReader, hello: DaemonHello) -> bytes:
    """Read the rest of a request and return its answer, after which the connection ends.

    Raises:
        OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError: it does not arrive.
    """
    async with asyncio.timeout(_READ_S):
        head = b"\n" + await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        body = await reader.readexactly(int(length[1])) if length else b""
    try:
        call = decode(_Call, body)
    except CodecError:  # events, whose requests have no body
        return _http("410 Gone", {"error": _TEXT})
    reply = {"jsonrpc": "2.0", "id": call.id}
    if call.method == "hello":
        return _http("200 OK", reply | {"result": hello})
    return _http("200 OK", reply | {"error": {"code": _REFUSED, "message": _TEXT, "data": {"hint": _HINT}}})


def _http(status: str, value: object) -> bytes:
    body = encode(value)
    head = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    return f"HTTP/1.1 {status}\r\n{head}\r\n\r\n".encode() + body
