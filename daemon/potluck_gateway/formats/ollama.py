"""Reads and writes Ollama's chat and generate, which many desktop programs speak. Pure. Source: Ollama's API reference.

Options for how Ollama runs a model have no effect here, because the servers of the swarm decide that; they are named
in the header of the answer like other fields without effect.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import field

from potluck.sentences import Sentence
from potluck_gateway.exchange import (
    ANY_OBJECT,
    Answer,
    AnswerPart,
    Answers,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    ModelFacts,
    PartKind,
    TokenScore,
)
from potluck_gateway.formats import reading
from potluck_gateway.formats.reading import MessageHistory, arguments_of
from potluck_gateway.formats.writing import LINES, AnswerFormat, chat_scores, dumps

VERSION = "0.17.7"  # the release of Ollama whose API this is; programs ask for it
_LOADED = Answer("", "load", 0, 0)  # the answer to a request that only loads the model
_REFUSED: reading.Refused = {
    "images": "this model takes only text",
    "suffix": "the model only goes on with a text",
    "template": "the model's own template is used; or send raw text",
}


class _Fields(reading.SharedFields, kw_only=True):
    """The fields of chat and generate, and of their `options`."""

    stream: bool = True
    max_tokens: reading.Limit | None = field(default=None, name="num_predict")
    repetition_penalty: reading.Repetition | None = field(default=None, name="repeat_penalty")
    messages: list[Any] | None = None
    prompt: str = ""
    system: str = ""
    raw: bool = False
    tools: tuple[dict[str, Any], ...] = ()
    format: Literal["", "json"] | dict[str, Any] = ""
    think: bool | str | None = None
    logprobs: bool = False
    top_logprobs: reading.NumTop = 0


def parse_ollama(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does. Without messages and a prompt it only loads a model, and has no answer.

    A prompt is a user's message, unless it is `raw`.
    """
    given = reading.parse_object(body)
    options = reading.read(given.pop("options", None) or {}, dict[str, Any])
    fields, ignored = reading.read_fields(options | given, _Fields, _REFUSED)
    fields.max_tokens = fields.max_tokens or None  # 0 is no limit here
    history = MessageHistory()
    if fields.messages:
        history.add_all(fields.messages)
    elif fields.prompt and not fields.raw:
        messages = ChatMessage("system", fields.system), ChatMessage("user", fields.prompt)
        history.messages += [message for message in messages if message.content]
    tools, left_out = reading.parse_tools([tool.get("function") for tool in fields.tools])
    effort, is_on = (fields.think, None) if isinstance(fields.think, str) else (None, fields.think)
    return ChatRequest(
        messages=tuple(history.messages),
        prompts=(fields.system + fields.prompt,) if fields.prompt and fields.raw else (),
        template_kwargs=reading.thinking_switches(effort, is_on),
        schema=ANY_OBJECT if fields.format == "json" else json.dumps(fields.format) if fields.format else None,
        tools=tools,
        num_top=fields.top_logprobs if fields.logprobs else None,
        ignored=(*ignored, *history.left_out, *left_out),
        **fields.shared(),
    )


def model_entry(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return an entry of the lists of models and of running models. A swarm has no files as Ollama has them."""
    return {
        "name": name,
        "model": name,
        "modified_at": since.isoformat(),
        "expires_at": "9999-12-31T23:59:59Z",
        "size": 0,
        "size_vram": 0,
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "details": _details(facts),
        "context_length": (facts and facts.context_length) or 0,
    }


def model_description(name: str, facts: ModelFacts) -> dict[str, Any]:
    """Return the answer of `/api/show`: the model's abilities, and the longest texts that it takes."""
    lengths = {"context_length": facts.context_length, "embedding_length": facts.embedding_length}
    can = {"completion": True, "tools": True, "thinking": facts.thinks, "embedding": True}
    return {
        "parameters": "",
        "template": "",
        "details": _details(facts),
        "model_info": {"general.architecture": facts.architecture, "general.basename": name}
        | {f"{facts.architecture}.{what}": length for what, length in lengths.items() if length},
        "capabilities": [what for what, it_can in can.items() if it_can],
    }


def _details(facts: ModelFacts | None) -> dict[str, Any]:
    family = "" if facts is None else facts.architecture
    rest = {"parent_model": "", "parameter_size": "", "quantization_level": ""}
    return {"format": "safetensors", "family": family, "families": [family], **rest}


class OllamaFormat(AnswerFormat):
    """Writes an answer of Ollama's chat or generate, a JSON object a line."""

    media_type = LINES

    def __init__(self, model: str, _: ChatRequest, *, is_chat: bool) -> None:
        self._model = model
        self._is_chat = is_chat
        self._started = time.monotonic_ns()

    def whole(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers or (_LOADED,)
        body = self._object(answer.text, answer.scores, thinking=answer.thinking, tool_calls=_calls(answer))
        return body | self._last(answer)

    def part(self, part: AnswerPart) -> bytes:
        if part.kind is PartKind.CALL:
            return b""  # calls come whole, at the end
        is_text = part.kind is PartKind.TEXT
        return _line(self._object(part.text, part.scores) if is_text else self._object(thinking=part.text))

    def wait(self, sentence: Sentence) -> bytes:
        return _line(self._object())  # programs read each line as an object

    def end(self, answers: Answers) -> bytes:
        (answer,) = answers or (_LOADED,)
        calls = _line(self._object(tool_calls=_calls(answer))) if answer.calls else b""
        return calls + _line(self._object() | self._last(answer))

    def failure(self, error: BadRequestError) -> bytes:
        return _line({"error": str(error)})

    def _object(self, text: str = "", scores: Sequence[TokenScore] = (), **more: object) -> dict[str, Any]:
        shown = {name: value for name, value in more.items() if value}
        body: dict[str, Any] = {"content" if self._is_chat else "response": text, **shown}
        if self._is_chat:
            body = {"message": {"role": "assistant", **body}}
        if scores:
            body["logprobs"] = chat_scores(scores)
        return {"model": self._model, "created_at": datetime.now(UTC).isoformat(), **body, "done": False}

    def _last(self, answer: Answer) -> dict[str, Any]:
        return {
            "done": True,
            "done_reason": "stop" if answer.calls else answer.reason,
            "total_duration": time.monotonic_ns() - self._started,
            "load_duration": 0,
            "prompt_eval_count": answer.prompt_tokens,
            "prompt_eval_duration": int(1e9 * answer.prompt_s) or 1,  # programs divide by it
            "eval_count": answer.answer_tokens,
            "eval_duration": int(1e9 * answer.answer_s) or 1,
        }


def _line(value: dict[str, Any]) -> bytes:
    return dumps(value) + b"\n"


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call.call_id, "function": {"index": n, "name": call.name, "arguments": given}}
        for n, call in enumerate(answer.calls)
        for given in [json.loads(arguments_of(call.arguments))]
    ]
