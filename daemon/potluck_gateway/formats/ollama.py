"""Reads and writes Ollama's chat and generate, which many desktop programs speak. Pure. Source: Ollama's API reference.

Options for how Ollama runs a model have no effect here, because the servers of the swarm decide that; they are named
in the header of the answer like other fields without effect.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answers, Part, ToolCall
from potluck_gateway.answers.tools import parse_tools
from potluck_gateway.formats.writing import LINES, dumps
from potluck_gateway.requests import (
    ANY_OBJECT,
    BadRequestError,
    ChatMessage,
    ChatRequest,
    FieldRules,
    check_fields,
    parse_max_tokens,
    parse_messages,
    parse_model,
    parse_number,
    parse_object,
    parse_sampling,
)

VERSION = "0.5.0"  # of Ollama's API, which some programs ask for
_LATEST = ":latest"
_REFUSED: dict[str, tuple[tuple[object, ...], str]] = {
    "think": ((False,), "leave it out"),
    "logprobs": ((False,), "scores are not returned"),
    "top_logprobs": ((0,), "scores are not returned"),
    "images": (([],), "this model takes only text"),
    "suffix": (("",), "the model only goes on with a text"),
    "template": (("",), "the model's own template is used; or send raw text"),
    "context": (([],), "use /api/chat for conversations"),
}
_CHAT = FieldRules(
    frozenset(["model", "messages", "stream", "options", "format", "tools"]), frozenset(["keep_alive"]), _REFUSED
)
_GENERATE = FieldRules(
    frozenset(["model", "prompt", "system", "stream", "options", "format", "raw"]), frozenset(["keep_alive"]), _REFUSED
)
_SAMPLING = frozenset(["temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop"])


def parse_ollama_chat(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    asked = parse_object(body)
    return _request(asked, _CHAT, parse_messages(asked.get("messages")), "", most_tokens)


def parse_ollama_generate(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request as `parse_chat` does. A prompt is a user's message, unless it is `raw`."""
    asked = parse_object(body)
    prompt, system = asked.get("prompt"), asked.get("system") or ""
    if not isinstance(prompt, str) or not prompt or not isinstance(system, str):
        raise BadRequestError("prompt must be a text, and so must system")
    if asked.get("raw") is True:
        return _request(asked, _GENERATE, (), system + prompt, most_tokens)
    start = (ChatMessage("system", system),) if system else ()
    return _request(asked, _GENERATE, (*start, ChatMessage("user", prompt)), "", most_tokens)


def _request(
    asked: dict[str, Any], rules: FieldRules, messages: tuple[ChatMessage, ...], prompt: str, most_tokens: int
) -> ChatRequest:
    ignored = check_fields(asked, rules)
    options = asked.get("options") or {}
    if not isinstance(options, dict):
        raise BadRequestError("options must be an object")
    model = parse_model(asked.get("model"))
    wanted = options.get("num_predict") or -1
    is_limited = parse_number(wanted, "num_predict", -2, 1 << 31) > 0
    stream = asked.get("stream")
    sampling = {name: value for name, value in options.items() if name in _SAMPLING}
    unused = sorted(str(name)[:64] for name in options.keys() - _SAMPLING - {"num_predict"})
    return ChatRequest(
        messages,
        parse_max_tokens(wanted, most_tokens) if is_limited else most_tokens,
        prompt=prompt,
        schema=_schema(asked.get("format")),
        tools=parse_tools({"tools": asked.get("tools")}),
        ignored=(*ignored, *unused),
        **parse_sampling({**sampling, "stream": stream is None or stream is True})
        | {"model": model.removesuffix(_LATEST) if model else None},
    )


def _schema(form: object) -> str | None:
    if not form:
        return None
    if form != "json" and not isinstance(form, dict):
        raise BadRequestError('format must be "json" or a JSON schema')
    return ANY_OBJECT if form == "json" else json.dumps(form)


def model_entry(name: str) -> dict[str, Any]:
    """Return an entry of the list of models. A swarm has none of the files that Ollama describes."""
    details = {"format": "safetensors", "family": "", "families": None, "parameter_size": "", "quantization_level": ""}
    return {"name": name, "model": name, "modified_at": _now(), "size": 0, "digest": "", "details": details}


class OllamaFormat:
    media_type = LINES

    def __init__(self, model: str, *, is_chat: bool) -> None:
        self._model = model
        self._is_chat = is_chat
        self._started = time.monotonic_ns()

    def whole(self, answers: Answers) -> dict[str, Any]:
        return self._object(answers[0].text, answers[0].calls) | self._last(answers)

    def begin(self) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        return dumps(self._object(part.text)) + b"\n"

    def wait(self, sentence: Sentence) -> bytes:
        return b""

    def end(self, answers: Answers) -> bytes:
        return dumps(self._object("", answers[0].calls) | self._last(answers)) + b"\n"

    def failure(self, sentence: Sentence) -> bytes:
        return dumps({"error": str(sentence)}) + b"\n"

    def _object(self, text: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
        written = [{"function": {"name": call.name, "arguments": json.loads(call.arguments)}} for call in calls]
        message = {"role": "assistant", "content": text, **({"tool_calls": written} if written else {})}
        said = {"message": message} if self._is_chat else {"response": text}
        return {"model": self._model, "created_at": _now(), **said, "done": False}

    def _last(self, answers: Answers) -> dict[str, Any]:
        (answer,) = answers
        return {
            "done": True,
            "done_reason": "stop" if answer.calls else answer.reason,
            "total_duration": time.monotonic_ns() - self._started,
            "prompt_eval_count": answer.prompt_tokens,
            "eval_count": answer.answer_tokens,
        }


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
