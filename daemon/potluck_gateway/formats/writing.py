"""Defines what writes an answer in the format that a program expects, and what those formats share. Pure."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Begun, Kind, Likely, Part, TokenScore, ToolCall
from potluck_gateway.requests import COMMENT, BadRequestError

EVENTS, LINES = "text/event-stream", "application/x-ndjson"


class AnswerFormat(Protocol):
    """Writes the answer to one request.

    Either at once with `whole`, or as a stream: `begin`, `begun`, some `part` and `wait`, then `end`.
    """

    media_type: str = EVENTS  # of a stream

    def whole(self, answers: Answers) -> dict[str, Any]:
        """Return the answer as one JSON object."""

    def begin(self) -> bytes:
        """Return what a stream begins with, which may be sent before anything is known of the answer."""
        return b""

    def begun(self, begun: Begun) -> bytes:
        """Return what comes before the first part. It is called once for each choice."""
        return b""

    def part(self, part: Part) -> bytes: ...

    def wait(self, sentence: Sentence) -> bytes:
        """Return a note that the answer has to wait, or, with an empty sentence, a sign of life.

        Readers of events skip such a line.
        """
        return f"{COMMENT}{sentence}\n\n".encode()

    def end(self, answers: Answers) -> bytes: ...

    def failure(self, error: BadRequestError) -> bytes:
        """Return the end of a stream whose answer failed."""
        return event(error_body(error))


@dataclass(slots=True)
class Block:
    """A thought, a text or a call: the parts of an answer that follow each other and are of one kind.

    Attributes:
        number: of the blocks of this answer, from 0.
    """

    number: int
    kind: Kind
    call: ToolCall | None
    parts: list[Part] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def is_whole(self) -> bool:
        """Tell whether this is no call that the limit has cut or the model has broken."""
        try:
            return self.call is None or isinstance(json.loads(self.text or "{}"), dict)
        except (ValueError, RecursionError):
            return False


class BlockFormat(AnswerFormat, Protocol):
    """Writes a single answer as blocks, for formats whose streams say where each begins and ends.

    Attributes:
        blocks: those so far. All but the last have ended.
    """

    blocks: list[Block]

    def opened(self, block: Block) -> bytes: ...

    def more(self, block: Block, part: Part) -> bytes: ...

    def closed(self, block: Block) -> bytes: ...

    def part(self, part: Part) -> bytes:
        """Return the events of a part. One of another kind or call ends the block before it and begins its own."""
        said, call_id = b"", part.call and part.call.call_id
        last = self.blocks[-1] if self.blocks else None
        if last is None or (last.kind, last.call and last.call.call_id) != (part.kind, call_id):
            said, last = self.close(), Block(len(self.blocks), part.kind, part.call)
            self.blocks.append(last)
            said += self.opened(last)
        last.parts.append(part)
        return said + (self.more(last, part) if part.text else b"")

    def close(self) -> bytes:
        """Return the end of the last block, if there is one."""
        return self.closed(self.blocks[-1]) if self.blocks else b""

    def finish(self, answer: Answer) -> bytes:
        """Close the last block. If no part has come, make those of the whole answer first."""
        said = b"" if self.blocks else b"".join(map(self.part, _parts(answer)))
        return said + self.close()


def _parts(answer: Answer) -> Iterator[Part]:
    """Yield the parts that an answer has when it comes at once. One of nothing has an empty text."""
    if answer.thinking:
        yield Part(answer.thinking, kind=Kind.THINKING)
    if answer.text or not (answer.thinking or answer.calls):
        yield Part(answer.text, answer.scores)
    for call in answer.calls:
        yield Part(call.arguments, kind=Kind.CALL, call=call)


def new_id(kind: str) -> str:
    return f"{kind}-{time.monotonic_ns():x}"


def event(value: object, name: str = "") -> bytes:
    """Return an event of a stream, with a name if the format has named events."""
    return (f"event: {name}\n".encode() if name else b"") + b"data: " + dumps(value) + b"\n\n"


def chat_scores(scores: Sequence[TokenScore]) -> list[dict[str, Any]]:
    """Return the scores of tokens, as OpenAI's chats have them in `content`."""
    return [_score(score) | {"top_logprobs": [_score(one) for one in score.top]} for score in scores]


def _score(score: TokenScore | Likely) -> dict[str, Any]:
    return {"token": text_of(score.token), "logprob": score.logprob, "bytes": list(score.token)}


def text_of(token: bytes) -> str:
    """Return the text of a token, which may be only a piece of a letter."""
    return token.decode(errors="replace")


def error_body(error: BadRequestError) -> dict[str, Any]:
    """Return the object of an error; `potluck` in it is the message with its id and arguments."""
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    told = {"message": str(error), "type": kind, "param": None, "code": error.code}
    return {"error": told | {"potluck": builtins(error.sentence)}}


def dumps(value: object) -> bytes:
    """Return JSON. Halves of surrogate pairs, which a model may write as escapes, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
