"""Compares this program with a daemon of another version, and speaks to one of the version before.

An update replaces the files of both while the daemon still runs, so differences are common. The user learns what to do
about one, and everything that both know goes on working. A daemon of the version before speaks HTTP/1.1 and JSON-RPC:
programs may ask it who it is, and end it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from msgspec import Raw, Struct, structs

from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import NOTHING, Sentence, sentence, verbatim
from potluck_control.api import messages, schema
from potluck_control.api.method import Method
from potluck_control.api.schema import API_VERSION, DaemonHello
from potluck_control.states import Reason, State


class Difference(StrEnum):
    """The relation of the daemon's version to this program's."""

    NONE = "none"
    OLDER_DAEMON = "older_daemon"  # the daemon still runs the program before an update
    NEWER_DAEMON = "newer_daemon"  # this program was started before an update
    OTHER_BUILD = "other_build"  # neither version is above the other


@dataclass(frozen=True, slots=True)
class Agreement:
    """The result of comparing versions. `text` and `advice` are for people, and empty without a difference."""

    difference: Difference
    text: Sentence = NOTHING
    advice: Sentence = NOTHING
    is_usable: bool = True  # False: it speaks another version of the API and must not be asked anything
    methods: tuple[str, ...] = ()

    def has(self, *methods: Method[Any, Any]) -> bool:
        """Return whether the daemon answers all of these. An old one that lists no methods is assumed to."""
        return not self.methods or all(method.name in self.methods for method in methods)


def agree(hello: DaemonHello, version: str) -> Agreement:
    """Compare the daemon that said `hello` with a program of this `version`."""
    difference = _difference(hello, version)
    if difference is Difference.NONE:
        return Agreement(difference, methods=hello.methods)
    text = sentence("The daemon runs version {theirs}, this program is {ours}", theirs=hello.version, ours=version)
    advice = sentence("restart the daemon: potluck drain, then potluck start")
    if difference is Difference.NEWER_DAEMON:
        advice = sentence("start this program again")
    return Agreement(difference, text, advice, hello.api == API_VERSION, hello.methods)


def _difference(hello: DaemonHello, version: str) -> Difference:
    if (hello.api, hello.version) == (API_VERSION, version):
        return Difference.NONE
    theirs, ours = (hello.api, *_numbers(hello.version)), (API_VERSION, *_numbers(version))
    if theirs == ours:
        return Difference.OTHER_BUILD
    return Difference.OLDER_DAEMON if theirs < ours else Difference.NEWER_DAEMON


def _numbers(version: str) -> tuple[int, ...]:
    """Return a version's numbers, the same for `1.2.0` and `1.2.0+local`. One without numbers is the oldest."""
    parts = version.partition("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())


_OLDER_METHODS = (schema.HELLO.name, schema.STATUS.name, schema.DRAIN.name, schema.SHUTDOWN.name)


class _OlderHint(Struct, frozen=True):
    hint: str | None = None


class _OlderError(Struct, frozen=True):
    message: str
    data: _OlderHint = _OlderHint()


class _OlderAnswer(Struct, frozen=True):
    result: Raw = Raw(b"{}")
    error: _OlderError | None = None


class _OlderEngine(Struct, frozen=True):
    pid: int | None = None


class _OlderStatus(Struct, frozen=True):
    state: State
    reason: Reason
    text: str
    since: float
    version: str
    until: float | None = None
    sessions: int = 0
    engine: _OlderEngine = _OlderEngine()


def call_older_daemon(connection: io.BufferedRWPair, method: str, params: bytes) -> messages.ControlReply:
    """Call a method of a daemon of the version before, and return its answer in today's form.

    Only the methods in `_OLDER_METHODS` are passed on. A status has only the fields that a drain shows.

    Raises:
        OSError: it does not answer.
    """
    if method not in _OLDER_METHODS:
        hint = sentence("restart the daemon: potluck drain, then potluck start")
        return _refused(sentence("The daemon is older than this program"), hint)
    body = encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": Raw(params)})
    head = f"Host: potluckd.local\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close"
    connection.write(f"POST /rpc HTTP/1.1\r\n{head}\r\n\r\n".encode() + body)
    connection.flush()
    data = connection.read(messages.MAX_ANSWER_BYTES)
    try:
        answer = decode(_OlderAnswer, data.partition(b"\r\n\r\n")[2])
        if answer.error is not None:
            return _refused(verbatim(answer.error.message), verbatim(answer.error.data.hint or ""))
        result: object = answer.result
        if method in (schema.STATUS.name, schema.DRAIN.name):
            status = decode(_OlderStatus, answer.result)
            result = structs.asdict(status) | {"text": verbatim(status.text)}
    except CodecError as error:
        raise ConnectionError(f"its answer is cut or no answer ({error})") from error
    return messages.ControlReply(1, Raw(encode(result)))


def _refused(message: Sentence, hint: Sentence) -> messages.ControlReply:
    return messages.ControlReply(1, error=messages.Failure(messages.REFUSED, message, hint))
