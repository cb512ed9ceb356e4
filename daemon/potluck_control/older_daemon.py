"""Asks a daemon of the version before, which speaks HTTP/1.1 and JSON-RPC, who it is, and ends it. For one version.

An update leaves such a daemon running beside the new programs.
"""

from __future__ import annotations

import io

from msgspec import Raw, Struct, structs

from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import Sentence, sentence, verbatim
from potluck_control import lines, schema
from potluck_control.states import Reason, State

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


def ask(connection: io.BufferedRWPair, method: str, params: bytes) -> lines.Told:
    """Return the answer to a call on a new connection, as a daemon of this version would give it.

    Methods that an older daemon is not asked are refused. Of a status, only what a drain shows is there.

    Raises:
        OSError: it does not answer.
    """
    if method not in _METHODS:
        hint = sentence("restart the daemon: potluck drain, then potluck start")
        return _refused(sentence("The daemon is older than this program"), hint)
    body = encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": Raw(params)})
    head = f"Host: potluckd.local\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    connection.write(f"POST /rpc HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
    connection.flush()
    said = connection.read(lines.MAX_ANSWER_BYTES)
    try:
        answer = decode(_Answer, said.partition(b"\r\n\r\n")[2])
        if answer.error is not None:
            return _refused(verbatim(answer.error.message), verbatim(answer.error.data.hint or ""))
        result: object = answer.result
        if method in (schema.STATUS.name, schema.DRAIN.name):
            status = decode(_Status, answer.result)
            result = structs.asdict(status) | {"text": verbatim(status.text)}
    except CodecError as error:
        raise ConnectionError(f"its answer is cut or no answer ({error})") from error
    return lines.Told(1, Raw(encode(result)))


def _refused(message: Sentence, hint: Sentence) -> lines.Told:
    return lines.Told(1, error=lines.Failure(lines.REFUSED, message, hint))
