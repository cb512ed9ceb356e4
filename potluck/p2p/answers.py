"""How messages to p2pd are written, and how its answers, or their absence, become errors."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from google.protobuf.message import Message  # type: ignore[import-untyped]
from hivemind.proto import p2pd_pb2 as pb

from potluck.errors import NetworkError
from potluck.p2p.varint import encode_varint
from potluck.protocol.codes import Code, RemoteError

_UNKNOWN_PROTOCOL = "protocols not supported"  # p2pd's words


def delimited(message: Message) -> bytes:
    """Return a message as p2pd's control connections carry it."""
    body: bytes = message.SerializeToString()
    return encode_varint(len(body)) + body


def checked(body: bytes) -> pb.Response:
    """Return p2pd's answer. Raises NetworkError if it refuses."""
    response = pb.Response.FromString(body)
    if response.type == pb.Response.ERROR:
        raise NetworkError(response.error.msg[:300])
    return response


def failure(text: str) -> RemoteError:
    """Return p2pd's reason for a call or stream that did not begin; a peer without that protocol has answered."""
    return RemoteError(Code.NOT_SERVED if _UNKNOWN_PROTOCOL in text else Code.UNREACHABLE, text)


@contextlib.asynccontextmanager
async def in_time(timeout_s: float) -> AsyncIterator[None]:
    """Raise RemoteError UNREACHABLE when the time is over."""
    try:
        async with asyncio.timeout(timeout_s):
            yield
    except TimeoutError as error:
        raise RemoteError(Code.UNREACHABLE, f"no answer within {timeout_s:g} s") from error
