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
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from potluck.sentences import Sentence
from potluck_gateway.answers.answer import Answer, Answers, Kind, ModelFacts, Part, TokenScore, ToolCall
from potluck_gateway.formats.fields import (
    MAX_TOP_SCORES,
    Refused,
    SamplingFields,
    Stop,
    parse_object,
    parse_tools,
    read_fields,
    stops,
    thinking_switches,
)
from potluck_gateway.formats.history import History
from potluck_gateway.formats.scores import chat_scores
from potluck_gateway.formats.writing import LINES, dumps
from potluck_gateway.requests import ANY_OBJECT, ChatMessage, ChatRequest

VERSION = "0.17.7"  # the release of Ollama whose API this is; programs ask for it
_NEVER = "9999-12-31T23:59:59Z"
_REFUSED: Refused = {
    "images": (([],), "this model takes only text"),
    "suffix": (("",), "the model only goes on with a text"),
    "template": (("",), "the model's own template is used; or send raw text"),
    "context": (([],), "use /api/chat for conversations"),
}


class _Options(SamplingFields, kw_only=True):
    """What `options` may say; `repeat_penalty` is called `repetition_penalty` here."""

    stop: Stop = None
    num_predict: Annotated[int, Meta(ge=-2, le=1 << 40)] | None = None


class _Fields(Struct, kw_only=True):
    model: str | None = None
    stream: bool | None = None
    options: dict[str, Any] | None = None
    format: Literal["", "json"] | dict[str, Any] | None = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=MAX_TOP_SCORES)] | None = None


class _Chat(_Fields, kw_only=True):
    messages: list[Any] | None = None
    tools: list[Any] | None = None


class _Generate(_Fields, kw_only=True):
    prompt: str = ""
    system: str = ""
    raw: bool | None = None


def parse_ollama_chat(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does. Without messages it only loads a model, and has no answer."""
    fields, ignored = read_fields(parse_object(body), _Chat, _REFUSED)
    history = History()
    if fields.messages:
        history.add_all(fields.messages)
    tools, left_out = parse_tools(fields.tools, None, is_parallel=True)
    named = (*ignored, *history.left_out, *left_out)
    return _request(fields, named, messages=tuple(history.messages), prompts=(), tools=tools)


def parse_ollama_generate(body: bytes) -> ChatRequest:
    """Parse a request as `parse_ollama_chat` does. A prompt is a user's message, unless it is `raw`."""
    fields, ignored = read_fields(parse_object(body), _Generate, _REFUSED)
    if not fields.prompt or fields.raw:
        return _request(fields, ignored, prompts=(fields.system + fields.prompt,) if fields.prompt else ())
    start = (ChatMessage("system", fields.system),) if fields.system else ()
    return _request(fields, ignored, messages=(*start, ChatMessage("user", fields.prompt)))


def _request(fields: _Fields, ignored: Sequence[str], **more: Any) -> ChatRequest:
    given = dict(fields.options or {})
    if "repeat_penalty" in given:
        given["repetition_penalty"] = given.pop("repeat_penalty")
    options, unused = read_fields(given, _Options, {})
    is_limited = options.num_predict is not None and options.num_predict > 0
    schema = ANY_OBJECT if fields.format == "json" else json.dumps(fields.format) if fields.format else None
    think, effort = (True, fields.think) if isinstance(fields.think, str) else (fields.think, None)
    return ChatRequest(
        max_tokens=options.num_predict if is_limited else None,
        sampling=options.sampling(),
        stop=stops(options.stop),
        template_kwargs=thinking_switches(think, effort),
        schema=schema,
        num_top=(fields.top_logprobs or 0) if fields.logprobs else None,
        is_streamed=fields.stream is not False,
        model=fields.model,
        ignored=(*ignored, *unused),
        **more,
    )


def model_entry(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return an entry of the list of models. A swarm has none of the files that Ollama describes."""
    family = "" if facts is None else facts.architecture
    return {
        "name": name,
        "model": name,
        "modified_at": since.isoformat(),
        "size": 0,
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "details": {
            "parent_model": "",
            "format": "safetensors",
            "family": family,
            "families": [family],
            "parameter_size": "",
            "quantization_level": "",
        },
    }


def running_entry(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return an entry of the list of running models; an empty one for a model that is not loaded."""
    if facts is None:
        return {}
    more = {"expires_at": _NEVER, "size_vram": 0, "context_length": facts.context_length or 0}
    return model_entry(name, facts, since) | more


def model_description(name: str, facts: ModelFacts, since: datetime) -> dict[str, Any]:
    """Return what `/api/show` tells: what the model can do, and how long its texts may be."""
    lengths = {"context_length": facts.context_length, "embedding_length": facts.embedding_length}
    entry = model_entry(name, facts, since)
    can = {"completion": True, "tools": facts.calls, "thinking": facts.thinks, "embedding": True}
    return {
        "modelfile": "",
        "parameters": "",
        "template": "",
        "details": entry["details"],
        "model_info": {"general.architecture": facts.architecture, "general.basename": name}
        | {f"{facts.architecture}.{what}": length for what, length in lengths.items() if length is not None},
        "capabilities": [what for what, it_can in can.items() if it_can],
        "modified_at": entry["modified_at"],
    }


class OllamaFormat:
    media_type = LINES

    def __init__(self, model: str, asked: ChatRequest, *, is_chat: bool) -> None:
        self._model = model
        self._is_chat = is_chat
        self._started = time.monotonic_ns()

    def whole(self, answers: Answers) -> dict[str, Any]:
        if not answers:
            return self._object() | {"done": True, "done_reason": "load"}
        (answer,) = answers
        return self._object(answer.text, answer.thinking, answer.calls, answer.scores) | self._last(answer)

    def begin(self) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        match part.kind:
            case Kind.TEXT:
                return _line(self._object(part.text, scores=part.scores))
            case Kind.THINKING:
                return _line(self._object(thinking=part.text))
            case Kind.CALL:
                return b""  # arguments come whole, at the end

    def wait(self, sentence: Sentence) -> bytes:
        return b""

    def end(self, answers: Answers) -> bytes:
        if not answers:
            return _line(self.whole(answers))
        (answer,) = answers
        calls = _line(self._object(calls=answer.calls)) if answer.calls else b""
        return calls + _line(self._object() | self._last(answer))

    def failure(self, sentence: Sentence) -> bytes:
        return _line({"error": str(sentence)})

    def _object(
        self,
        text: str = "",
        thinking: str = "",
        calls: Sequence[ToolCall] = (),
        scores: Sequence[TokenScore] = (),
    ) -> dict[str, Any]:
        said: dict[str, Any] = {"content" if self._is_chat else "response": text}
        if thinking:
            said["thinking"] = thinking
        if calls:
            said["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
        if self._is_chat:
            said = {"message": {"role": "assistant"} | said}
        if scores:
            said["logprobs"] = chat_scores(scores)["content"]
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self._model, "created_at": now, **said, "done": False}

    def _last(self, answer: Answer) -> dict[str, Any]:
        return {
            "done": True,
            "done_reason": "stop" if answer.calls else answer.reason,
            "total_duration": time.monotonic_ns() - self._started,
            "load_duration": 0,
            "prompt_eval_count": answer.prompt_tokens,
            "prompt_eval_duration": _nanoseconds(answer.prompt_s),
            "eval_count": answer.answer_tokens,
            "eval_duration": _nanoseconds(answer.answer_s),
        }


def _line(value: dict[str, Any]) -> bytes:
    return dumps(value) + b"\n"


def _call(number: int, call: ToolCall) -> dict[str, Any]:
    function = {"index": number, "name": call.name, "arguments": json.loads(call.arguments)}
    return {"id": call.call_id, "function": function}


def _nanoseconds(seconds: float) -> int:
    return max(int(1e9 * seconds), 1)  # programs divide by it
