"""Asks a daemon of the version before, which speaks HTTP/1.1 and JSON-RPC, who it is, and ends it. For one version.

An update leaves such a daemon running beside the new programs.
"""

from __future__ import annotations

import io
from typing import TypeVar, cast

from msgspec import Raw, Struct

from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import sentence
from potluck_control import lines, schema
from potluck_control.client import ControlError
from potluck_control.method import Method
from potluck_control.states import Reason, State

P = TypeVar("P")
R = TypeVar("R")

_METHODS = (schema.HELLO.name, schema.STATUS.name, schema.DRAIN.name, schema.SHUTDOWN.name)


class _Hint(Struct, frozen=True):
    hint: str | None = None


class _Error(Struct, frozen=True):
    message: str
    data: _Hint = _Hint()


class _Answer(Struct, frozen=True):
    result: Raw = Raw(b"{}")
    error: _Error | None = None


class _Engine(Struct, frozen=True):
    pid: int | None = None


class _Status(Struct, frozen=True):
    state: State
    reason: Reason
    text: str
    since: float
    version: str
    until: float | None = None
    sessions: int = 0
    engine: _Engine = _Engine()


def ask(connection: io.BufferedRWPair, method: Method[P, R], params: bytes) -> R:
    """Call a method on a new connection. Of a status, only what a drain shows is there.

    Raises:
        ControlError: the daemon refused, or the method is not one of those that work with an older daemon.
        OSError: it does not answer.
    """
    if method.name not in _METHODS:
        hint = sentence("restart the daemon: potluck drain, then potluck start")
        raise ControlError(sentence("The daemon is older than this program"), hint=hint)
    body = encode({"jsonrpc": "2.0", "id": 1, "method": method.name, "params": Raw(params)})
    head = f"Host: potluckd.local\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    connection.write(f"POST /rpc HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
    connection.flush()
    said = connection.read(lines.MAX_ANSWER_BYTES)
    try:
        answer = decode(_Answer, said.partition(b"\r\n\r\n")[2])
        if answer.error is not None:
            raise ControlError(answer.error.message, hint=answer.error.data.hint)
        if method.result is schema.Status:
            return cast(R, _status(decode(_Status, answer.result)))
        return decode(method.result, answer.result)
    except CodecError as error:
        raise ConnectionError(f"its answer is cut or no answer ({error})") from error


def _status(told: _Status) -> schema.Status:
    engine = schema.EngineStatus(told.engine.pid)
    return schema.Status(
        *(told.state, told.reason, told.text, told.since, told.version),
        until=told.until,
        sessions=told.sessions,
        engine=engine,
    )
