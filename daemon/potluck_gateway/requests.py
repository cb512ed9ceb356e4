"""Parses what all formats of requests for answers share. Pure.

A field that would change the answer is refused, unless it has the value that changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from potluck.errors import UsageError
from potluck.protocol.codec import CodecError, decode
from potluck.sentences import Sentence, verbatim
from potluck_gateway.answers import ToolCall

COMMENT = ": "  # begins a line for people in a stream of events
MAX_BODY_BYTES = 4 << 20
MAX_MESSAGES = 2000
MAX_WAIT_S = 86400.0
MAX_CHOICES = 16  # as many as are answered at once by default
MAX_TOP_SCORES = 20  # as in the reference
MAX_BIASES = 1024
MAX_CALLS = 128  # in one message
ANY_OBJECT = '{"type": "object"}'
_TEXT_PARTS = ("text", "input_text", "output_text")
_ROLES = ("system", "developer", "user", "assistant", "tool")


@dataclass(frozen=True, slots=True)
class FieldRules:
    """The fields that a kind of request may have.

    Attributes:
        used: those that are read.
        without_effect: those that concern accounts and caches elsewhere; they are named in the answer's header.
        refused: those that would change the answer, with the values that change nothing, and what to do instead.
    """

    used: frozenset[str]
    without_effect: frozenset[str]
    refused: dict[str, tuple[tuple[object, ...], str]]


SAMPLING = frozenset(
    ["temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop", "stream", "stream_options"]
)
ACCOUNTS = frozenset(
    ["user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"]
)
LEAVE_OUT = "leave it out"
CHOICES = frozenset(["n", "logprobs", "logit_bias"])


class BadRequestError(Exception):
    """A request that is refused with `status`; the text is for the author of the client, `code` for programs."""

    def __init__(
        self, text: str | Sentence, status: int = 400, code: str | None = None, *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(str(text))
        self.sentence = text if isinstance(text, Sentence) else verbatim(text)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class ContextLengthError(UsageError):
    """The prompt leaves the model no position for an answer."""


class ToolsError(UsageError):
    """The model cannot be given tools."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str
    content: str
    calls: tuple[ToolCall, ...] = ()  # that the assistant made
    call_id: str | None = None  # of the call whose result this is


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    parameters: dict[str, Any]  # JSON schema of an object
    description: str = ""

    @property
    def definition(self) -> dict[str, Any]:
        """Return the tool as chat templates expect it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools that a model may call.

    Attributes:
        must_call: one of these has to be called; empty if the model decides.
        is_parallel: whether one answer may have several calls.
    """

    offered: tuple[Tool, ...]
    must_call: tuple[Tool, ...] = ()
    is_parallel: bool = True


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request for an answer to `messages`, or, without any, for how the text `prompt` goes on."""

    messages: tuple[ChatMessage, ...]
    max_tokens: int
    temperature: float = 0.0
    top_p: float | None = None  # None: the checkpoint's
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    is_streamed: bool = False
    with_usage: bool = False  # a last chunk with the counts
    max_wait_s: float | None = None  # for blocks that nobody serves
    model: str | None = None
    prompt: str = ""
    with_details: bool = False  # with the answer's tokens, speed and servers
    schema: str | None = None  # JSON schema that the answer has to match
    tools: Tools | None = None
    num_choices: int = 1
    num_top: int | None = None  # most likely tokens beside the score of each token; None: no scores
    bias: tuple[tuple[int, float], ...] = ()  # token -> what is added to its score
    ignored: tuple[str, ...] = ()  # the names of fields that were given and have no effect here
    owner: str = field(default="", compare=False)  # names the key with which it came, for as long as the gateway runs


def parse_object(body: bytes) -> dict[str, Any]:
    try:
        asked = decode(object, body)
    except CodecError as error:
        raise BadRequestError(str(error)) from None
    if not isinstance(asked, dict):
        raise BadRequestError("expected a JSON object")
    return asked


def parse_sampling(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of ChatRequest that OpenAI's ways to ask for text share."""
    options = asked.get("stream_options")
    return {
        "temperature": parse_number(asked.get("temperature") or 0.0, "temperature", 0, 100),
        "top_p": None if asked.get("top_p") is None else parse_number(asked["top_p"], "top_p", 0, 1),
        "presence_penalty": parse_number(asked.get("presence_penalty") or 0.0, "presence_penalty", -2, 2),
        "frequency_penalty": parse_number(asked.get("frequency_penalty") or 0.0, "frequency_penalty", -2, 2),
        "seed": None if asked.get("seed") is None else int(parse_number(asked["seed"], "seed", -(1 << 62), 1 << 62)),
        "stop": parse_stop(asked.get("stop")),
        "is_streamed": asked.get("stream") is True,
        "with_usage": isinstance(options, dict) and options.get("include_usage") is True,
        "model": parse_model(asked.get("model")),
    }


def parse_choices(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of ChatRequest that OpenAI's chat and its older completions share beside sampling."""
    bias = asked.get("logit_bias") or {}
    if not isinstance(bias, dict) or len(bias) > MAX_BIASES:
        raise BadRequestError(f"logit_bias must be an object of at most {MAX_BIASES} tokens")
    return {
        "num_choices": int(parse_number(1 if asked.get("n") is None else asked["n"], "n", 1, MAX_CHOICES)),
        "bias": tuple(_parse_bias(token, more) for token, more in bias.items()),
    }


def _parse_bias(token: str, more: object) -> tuple[int, float]:
    if not (token.isascii() and token.isdigit() and len(token) < 10):
        raise BadRequestError(f"logit_bias has {token[:64]!r} for the number of a token")
    return int(token), parse_number(more, "logit_bias", -100, 100)


def visible(text: str, stop: tuple[str, ...]) -> tuple[str, bool]:
    """Return the text up to the first stop text, and whether there is one."""
    cut = min((place for word in stop if (place := text.find(word)) >= 0), default=-1)
    return (text[:cut], True) if cut >= 0 else (text, False)


def check_fields(asked: dict[str, Any], rules: FieldRules) -> tuple[str, ...]:
    """Return the given fields that have no effect. Raises BadRequestError for those that are unsupported or unknown."""
    given = {name: value for name, value in asked.items() if value is not None and name not in rules.used}
    for name, value in given.items():
        neutral, advice = rules.refused.get(name, ((), ""))
        if name in rules.refused and value not in neutral:
            raise BadRequestError(f"{name} is not supported here: {advice}", code="unsupported_parameter")
        if name not in rules.refused and name not in rules.without_effect:
            raise BadRequestError(f"unknown field {name[:64]!r}: leave it out", code="unknown_parameter")
    return tuple(sorted(rules.without_effect & given.keys()))


def parse_model(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise BadRequestError("model must be a text")
    return value


def parse_max_tokens(value: object, most: int) -> int:
    return min(int(parse_number(value, "max_tokens", 1, 1 << 31)), most)


def parse_max_wait(value: object) -> float | None:
    return None if value is None else parse_number(value, "max_wait_s", 0, MAX_WAIT_S)


def parse_messages(value: object) -> tuple[ChatMessage, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise BadRequestError(f"messages must be a list of 1 to {MAX_MESSAGES} messages")
    return tuple(parse_message(item) for item in value)


def parse_message(value: object) -> ChatMessage:
    role = value.get("role") if isinstance(value, dict) else None
    if not isinstance(value, dict) or role not in _ROLES:
        raise BadRequestError(f"a message needs a role: one of {', '.join(_ROLES)}")
    content, calls = value.get("content"), _parse_calls(value.get("tool_calls") or [])
    if content is None and calls:
        content = ""
    if value.get("images"):
        raise BadRequestError("this model takes only text, no images", code="unsupported_content")
    if isinstance(content, list):
        content = "".join(_text_part(part) for part in content)
    if not isinstance(content, str):
        raise BadRequestError("the content of a message must be text")
    call_id = value.get("tool_call_id")
    if call_id is not None and not isinstance(call_id, str):
        raise BadRequestError("tool_call_id must be a text")
    return ChatMessage("system" if role == "developer" else str(role), content, calls, call_id)


def _parse_calls(value: object) -> tuple[ToolCall, ...]:
    if not isinstance(value, list) or len(value) > MAX_CALLS:
        raise BadRequestError(f"tool_calls must be a list of at most {MAX_CALLS} calls")
    return tuple(_parse_call(item) for item in value)


def _parse_call(value: object) -> ToolCall:
    """Parse OpenAI's call, whose arguments are a text, or Ollama's, whose arguments are an object."""
    function = value.get("function") if isinstance(value, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(value, dict) or not isinstance(function, dict) or not isinstance(name, str):
        raise BadRequestError("a tool call needs a function with a name")
    arguments = function.get("arguments") or {}
    try:
        read = decode(object, arguments) if isinstance(arguments, str) else arguments
    except CodecError:
        read = None
    if not isinstance(read, dict):
        raise BadRequestError(f"the arguments of the call of {name[:64]} must be a JSON object")
    return ToolCall(str(value.get("id") or "")[:64], name, json.dumps(read, ensure_ascii=False))


def _text_part(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind not in _TEXT_PARTS:
        raise BadRequestError(f"this model takes only text, not {str(kind)[:64]!r}", code="unsupported_content")
    if not isinstance(part.get("text"), str):
        raise BadRequestError("a text part needs a text")
    return str(part["text"])


def parse_response_format(value: object) -> str | None:
    """Return the JSON schema that a `response_format` asks for; None if any text will do."""
    kind = value.get("type") if isinstance(value, dict) else "text" if value is None else None
    if kind == "text":
        return None
    if kind == "json_object":
        return ANY_OBJECT
    given = value.get("json_schema") if isinstance(value, dict) and kind == "json_schema" else None
    if not isinstance(given, dict) or not isinstance(given.get("schema"), dict):
        raise BadRequestError("response_format must be of type text, json_object, or json_schema with a schema")
    return json.dumps(given["schema"])


def parse_stop(value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value or []
    if not isinstance(words, list) or len(words) > 16 or not all(isinstance(word, str) for word in words):
        raise BadRequestError("stop must be a text or a list of at most 16 texts")
    return tuple(word for word in words if word)


def parse_number(value: object, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequestError(f"{name} must be a number from {low} to {high}")
    return value
