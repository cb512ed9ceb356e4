"""Defines how an answer is written in the format that a program expects, and what the formats share. Pure.

The list of models is written for OpenAI's and Anthropic's clients at once. Its lengths have the names under which
programs look for them: OpenRouter's, vLLM's and LM Studio's.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from potluck.protocol.codec import builtins
from potluck.sentences import Sentence
from potluck_gateway.exchange import (
    COMMENT,
    Answer,
    AnswerBegun,
    AnswerPart,
    Answers,
    BadRequestError,
    Likely,
    ModelFacts,
    PartKind,
    TokenScore,
    ToolCall,
)

EVENTS, LINES = "text/event-stream", "application/x-ndjson"


class AnswerFormat(Protocol):
    """Writes the answer to one request, at once or as a stream.

    `whole` writes it at once. A stream is `begin`, `begun`, any number of `part` and `wait`, then `end` or `failure`.
    """

    media_type: str = EVENTS  # media type of a stream

    def whole(self, answers: Answers) -> dict[str, Any]:
        """Return the answer as one JSON object."""

    def begin(self) -> bytes:
        """Return the start of a stream, which may be sent before anything is known of the answer."""
        return b""

    def begun(self, begun: AnswerBegun) -> bytes:
        """Return what precedes the first part. It is called once for each choice."""
        return b""

    def part(self, part: AnswerPart) -> bytes:
        """Return new text of an answer."""

    def wait(self, sentence: Sentence) -> bytes:
        """Return a note that the answer has to wait, or, with an empty sentence, a sign of life.

        Readers of events skip such a line.
        """
        return f"{COMMENT}{sentence}\n\n".encode()

    def end(self, answers: Answers) -> bytes:
        """Return the end of a stream, after all answers."""

    def failure(self, error: BadRequestError) -> bytes:
        """Return the end of a stream whose answer failed."""
        return event(error_body(error))


@dataclass(slots=True)
class AnswerBlock:
    """A thought, a text or a call: the parts of an answer that follow each other and are of one kind.

    Attributes:
        number: of the blocks of this answer, from 0.
    """

    number: int
    kind: PartKind
    call: ToolCall | None
    parts: list[AnswerPart] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the text so far."""
        return "".join(part.text for part in self.parts)

    @property
    def is_whole(self) -> bool:
        """Return False for a call that the limit has cut or the model has broken."""
        try:
            return self.call is None or isinstance(json.loads(self.text or "{}"), dict)
        except (ValueError, RecursionError):
            return False


class BlockFormat(AnswerFormat, Protocol):
    """Writes a single answer as blocks, for formats whose streams mark where each begins and ends.

    Attributes:
        blocks: those so far. All but the last have ended.
    """

    blocks: list[AnswerBlock]

    def block_start(self, block: AnswerBlock) -> bytes:
        """Return the events that begin a block."""

    def block_delta(self, block: AnswerBlock, part: AnswerPart) -> bytes:
        """Return the events of new text in a block."""

    def block_end(self, block: AnswerBlock) -> bytes:
        """Return the events that end a block."""

    def part(self, part: AnswerPart) -> bytes:
        """Return the events of a part. One of another kind or call ends the block before it and begins its own."""
        data, call_id = b"", part.call and part.call.call_id
        last = self.blocks[-1] if self.blocks else None
        if last is None or (last.kind, last.call and last.call.call_id) != (part.kind, call_id):
            data, last = self.close(), AnswerBlock(len(self.blocks), part.kind, part.call)
            self.blocks.append(last)
            data += self.block_start(last)
        last.parts.append(part)
        return data + (self.block_delta(last, part) if part.text else b"")

    def close(self) -> bytes:
        """Return the end of the last block, if there is one."""
        return self.block_end(self.blocks[-1]) if self.blocks else b""

    def finish(self, answer: Answer) -> bytes:
        """Close the last block. If no part has come, make those of the whole answer first."""
        data = b"" if self.blocks else b"".join(map(self.part, _parts(answer)))
        return data + self.close()


def _parts(answer: Answer) -> Iterator[AnswerPart]:
    """Yield the parts that an answer has when it comes at once. One of nothing has an empty text."""
    if answer.thinking:
        yield AnswerPart(answer.thinking, kind=PartKind.THINKING)
    if answer.text or not (answer.thinking or answer.calls):
        yield AnswerPart(answer.text, answer.scores)
    for call in answer.calls:
        yield AnswerPart(call.arguments, kind=PartKind.CALL, call=call)


def new_id(kind: str) -> str:
    """Return a new id of a kind."""
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
    body = {"message": str(error), "type": kind, "param": None, "code": error.code}
    return {"error": body | {"potluck": builtins(error.sentence)}}


def dumps(value: object) -> bytes:
    """Return JSON. Halves of surrogate pairs, which a model may write as escapes, become question marks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def listed_model(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return the entry of a model. `facts`: None while it is not loaded."""
    openai = {"object": "model", "created": int(since.timestamp()), "owned_by": "swarm"}
    anthropic = {"type": "model", "display_name": name, "created_at": since.isoformat()}
    entry = {"id": name, **openai, **anthropic}
    if facts is None:
        return entry
    longest = facts.context_length
    lengths = dict.fromkeys(("context_length", "max_model_len", "max_context_length"), longest) if longest else {}
    return entry | lengths | {"max_completion_tokens": facts.max_tokens}


def model_list(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the list of models with these entries."""
    ends = {"first_id": entries[0]["id"], "last_id": entries[-1]["id"]} if entries else {}
    return {"object": "list", "data": entries, "has_more": False, **ends}
