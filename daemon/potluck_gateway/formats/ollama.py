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
from potluck_gateway.answers.answer import Answer, Answers, Begun, Kind, ModelFacts, Part, TokenScore
from potluck_gateway.formats import fields
from potluck_gateway.formats.history import History
from potluck_gateway.formats.scores import chat_scores
from potluck_gateway.formats.writing import LINES, dumps
from potluck_gateway.requests import ANY_OBJECT, ChatMessage, ChatRequest

VERSION = "0.17.7"  # the release of Ollama whose API this is; programs ask for it
_NEVER = "9999-12-31T23:59:59Z"
_REFUSED: fields.Refused = {
    "images": (([],), "this model takes only text"),
    "suffix": (("",), "the model only goes on with a text"),
    "template": (("",), "the model's own template is used; or send raw text"),
    "context": (([],), "use /api/chat for conversations"),
}


class _Options(fields.SamplingFields, kw_only=True):
    """What `options` may say; `repeat_penalty` is called `repetition_penalty` here."""

    stop: fields.Stop = None
    num_predict: Annotated[int, Meta(ge=-2, le=1 << 40)] | None = None


class _Fields(Struct, kw_only=True):
    """The fields of chat and generate."""

    model: str | None = None
    messages: list[Any] | None = None
    prompt: str = ""
    system: str = ""
    raw: bool | None = None
    tools: list[Any] | None = None
    format: Literal["", "json"] | dict[str, Any] | None = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=fields.MAX_TOP_SCORES)] | None = None
    stream: bool | None = None
    options: dict[str, Any] | None = None


def parse_ollama_chat(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does. Without messages it only loads a model, and has no answer."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    history = History()
    if asked.messages:
        history.add_all(asked.messages)
    tools, left_out = fields.parse_tools(asked.tools, None, is_parallel=True)
    named = (*ignored, *history.left_out, *left_out)
    return _request(asked, named, messages=tuple(history.messages), prompts=(), tools=tools)


def parse_ollama_generate(body: bytes) -> ChatRequest:
    """Parse a request as `parse_ollama_chat` does. A prompt is a user's message, unless it is `raw`."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    if not asked.prompt or asked.raw:
        return _request(asked, ignored, prompts=(asked.system + asked.prompt,) if asked.prompt else ())
    start = (ChatMessage("system", asked.system),) if asked.system else ()
    return _request(asked, ignored, messages=(*start, ChatMessage("user", asked.prompt)))


def _request(asked: _Fields, ignored: Sequence[str], **more: Any) -> ChatRequest:
    given = dict(asked.options or {})
    if "repeat_penalty" in given:
        given["repetition_penalty"] = given.pop("repeat_penalty")
    options, unused = fields.read_fields(given, _Options, {})
    think, effort = (True, asked.think) if isinstance(asked.think, str) else (asked.think, None)
    return ChatRequest(
        max_tokens=max(options.num_predict or 0, 0) or None,
        sampling=options.sampling(),
        stop=fields.stops(options.stop),
        template_kwargs=fields.thinking_switches(think, effort),
        schema=ANY_OBJECT if asked.format == "json" else json.dumps(asked.format) if asked.format else None,
        num_top=(asked.top_logprobs or 0) if asked.logprobs else None,
        is_streamed=asked.stream is not False,
        model=asked.model,
        ignored=(*ignored, *unused),
        **more,
    )


def model_entry(name: str, facts: ModelFacts | None, since: datetime) -> dict[str, Any]:
    """Return an entry of the lists of models and of running models. A swarm has no files as Ollama has them."""
    return {
        "name": name,
        "model": name,
        "modified_at": since.isoformat(),
        "expires_at": _NEVER,
        "size": 0,
        "size_vram": 0,
        "digest": hashlib.sha256(name.encode()).hexdigest(),
        "details": _details(facts),
        "context_length": (facts and facts.context_length) or 0,
    }


def model_description(name: str, facts: ModelFacts) -> dict[str, Any]:
    """Return what `/api/show` tells: what the model can do, and how long its texts may be."""
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


class OllamaFormat:
    media_type = LINES

    def __init__(self, model: str, asked: ChatRequest, *, is_chat: bool) -> None:
        self._model = model
        self._is_chat = is_chat
        self._started = time.monotonic_ns()

    def whole(self, answers: Answers) -> dict[str, Any]:
        said = [
            self._object(answer.text, answer.scores, thinking=answer.thinking, tool_calls=_calls(answer))
            for answer in answers
        ]
        return (said[0] if said else self._object()) | self._last(answers)

    def begin(self) -> bytes:
        return b""

    def begun(self, begun: Begun) -> bytes:
        return b""

    def part(self, part: Part) -> bytes:
        if part.kind is Kind.CALL:
            return b""  # calls come whole, at the end
        is_text = part.kind is Kind.TEXT
        return _line(self._object(part.text, part.scores) if is_text else self._object(thinking=part.text))

    def wait(self, sentence: Sentence) -> bytes:
        return _line(self._object())  # programs read each line as an object

    def end(self, answers: Answers) -> bytes:
        calls = [_line(self._object(tool_calls=_calls(answer))) for answer in answers if answer.calls]
        return b"".join(calls) + _line(self._object() | self._last(answers))

    def failure(self, sentence: Sentence) -> bytes:
        return _line({"error": str(sentence)})

    def _object(self, text: str = "", scores: Sequence[TokenScore] = (), **more: object) -> dict[str, Any]:
        said: dict[str, Any] = {"content" if self._is_chat else "response": text}
        said |= {name: value for name, value in more.items() if value}
        if self._is_chat:
            said = {"message": {"role": "assistant", **said}}
        if scores:
            said["logprobs"] = chat_scores(scores)["content"]
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        return {"model": self._model, "created_at": now, **said, "done": False}

    def _last(self, answers: Answers) -> dict[str, Any]:
        if not answers:
            return {"done": True, "done_reason": "load"}
        (answer,) = answers
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


def _calls(answer: Answer) -> list[dict[str, Any]]:
    return [
        {"id": call.call_id, "function": {"index": n, "name": call.name, "arguments": json.loads(call.arguments)}}
        for n, call in enumerate(answer.calls)
    ]


def _nanoseconds(seconds: float) -> int:
    return max(int(1e9 * seconds), 1)  # programs divide by it
