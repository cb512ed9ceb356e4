"""Defines what writes an answer in the format that a program expects, and what those formats share. Pure."""

from __future__ import annotations

import json
import time
from typing import Any, Protocol

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answers, Part
from potluck_gateway.requests import COMMENT

EVENTS, LINES = "text/event-stream", "application/x-ndjson"


class AnswerFormat(Protocol):
    """Writes the answer to one request.

    Either at once with `whole`, or as a stream: `begin`, some `part` and `wait`, then `end`.
    """

    media_type: str  # of a stream

    def whole(self, answers: Answers) -> dict[str, Any]:
        """Return the answer as one JSON object."""

    def begin(self) -> bytes: ...

    def part(self, part: Part) -> bytes: ...

    def wait(self, sentence: Sentence) -> bytes:
        """Return a note for people that the answer has to wait; empty where programs would not skip it."""

    def end(self, answers: Answers) -> bytes: ...

    def failure(self, sentence: Sentence) -> bytes:
        """Return the end of a stream whose answer failed."""


def new_id(kind: str) -> str:
    return f"{kind}-{time.monotonic_ns():x}"


def event(value: object, name: str = "") -> bytes:
    """Return an event of a stream, with a name if the format has named events."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + dumps(value) + b"\n\n"


def comment(text: object) -> bytes:
    """Return a line for people; readers of events skip it."""
    return f"{COMMENT}{text}\n\n".encode()


def error_body(sentence: Sentence, status: int, code: str | None = None) -> dict[str, Any]:
    """Return the object of an error; `potluck` in it is the message with its id and arguments."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {
        "error": {"message": str(sentence), "type": kind, "param": None, "code": code, "potluck": builtins(sentence)}
    }


def dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
