"""Defines what writes an answer in the format that a program expects, and what those formats share. Pure."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Begun, Kind, Part, ToolCall
from potluck_gateway.requests import COMMENT

EVENTS, LINES = "text/event-stream", "application/x-ndjson"


class AnswerFormat(Protocol):
    """Writes the answer to one request.

    Either at once with `whole`, or as a stream: `begin`, `begun`, some `part` and `wait`, then `end`.
    """

    media_type: str  # of a stream

    def whole(self, answers: Answers) -> dict[str, Any]:
        """Return the answer as one JSON object."""

    def begin(self) -> bytes:
        """Return what a stream begins with, which may be sent before anything is known of the answer."""

    def begun(self, begun: Begun) -> bytes:
        """Return what comes before the first part. It is called once for each choice."""

    def part(self, part: Part) -> bytes: ...

    def wait(self, sentence: Sentence) -> bytes:
        """Return a note that the answer has to wait, or, with an empty sentence, a sign of life."""

    def end(self, answers: Answers) -> bytes: ...

    def failure(self, sentence: Sentence) -> bytes:
        """Return the end of a stream whose answer failed."""


@dataclass(slots=True)
class Block:
    """A thought, a text or a call: the parts of an answer that follow each other and are of one kind.

    Attributes:
        number: of the blocks of this answer, from 0.
        pieces: the texts of its parts so far.
    """

    number: int
    kind: Kind
    call: ToolCall | None
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class BlockWriter(Protocol):
    """Writes the events of blocks, for formats whose streams say where each begins and ends."""

    def opened(self, block: Block) -> bytes: ...

    def more(self, block: Block, text: str) -> bytes: ...

    def closed(self, block: Block) -> bytes: ...


class Blocks:
    """Joins the parts of one answer to blocks. A part of another kind or call closes the open block."""

    def __init__(self, writer: BlockWriter) -> None:
        self._writer = writer
        self._open: Block | None = None
        self.made: list[Block] = []  # also the open one, which is the last

    def add(self, part: Part) -> bytes:
        """Return the events of a part: the end of the block before it, the beginning of its own, its text."""
        said, block = b"", self._open
        call_id = part.call and part.call.call_id
        if block is None or (block.kind, block.call and block.call.call_id) != (part.kind, call_id):
            said = self.close()
            block = self._open = Block(len(self.made), part.kind, part.call)
            self.made.append(block)
            said += self._writer.opened(block)
        if not part.text:
            return said
        block.pieces.append(part.text)
        return said + self._writer.more(block, part.text)

    def close(self) -> bytes:
        """Return the end of the open block, if there is one."""
        block, self._open = self._open, None
        return b"" if block is None else self._writer.closed(block)

    def finish(self, answer: Answer) -> bytes:
        """Close the last block. If no part has come, make those of the whole answer first."""
        said = b"" if self.made else b"".join(self.add(part) for part in _parts(answer))
        return said + self.close()


def _parts(answer: Answer) -> Iterator[Part]:
    """Yield the parts that an answer has when it comes at once. One of nothing has an empty text."""
    if answer.thinking:
        yield Part(answer.thinking, kind=Kind.THINKING)
    if answer.text or not (answer.thinking or answer.calls):
        yield Part(answer.text)
    for call in answer.calls:
        yield Part(call.arguments, kind=Kind.CALL, call=call)


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
    """Return JSON. Halves of surrogate pairs, which a model may write as escapes, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
