"""Parses requests in the format of OpenAI's chat completions. Pure.

Source: the published API reference, "Create chat completion". A field that would change the answer is refused, unless
it has the value that changes nothing. `max_wait_s` is ours: how long to wait for blocks that nobody serves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from potluck_control.codec import CodecError, loads

from potluck.errors import UsageError

COMMENT = ": "  # begins a line for people in a stream of events
MAX_BODY_BYTES = 4 << 20
MAX_MESSAGES = 2000
MAX_WAIT_S = 86400.0
_ROLES = ("system", "developer", "user", "assistant", "tool")
_USED = frozenset(
    [
        "messages",
        "model",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "max_wait_s",
    ]
)
_WITHOUT_EFFECT = frozenset(  # on the answer; they serve OpenAI's accounts and caches
    ["user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"]
)
_NEUTRAL: dict[str, tuple[object, ...]] = {  # the values of unsupported fields that change nothing
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "parallel_tool_calls": (True, False),
    "functions": ([],),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
}


class BadRequestError(Exception):
    """A request that is refused with `status`; the text is for the author of the client, `code` for programs."""

    def __init__(
        self, text: str, status: int = 400, code: str | None = None, *, retry_after_s: int | None = None
    ) -> None:
        super().__init__(text)
        self.status = status
        self.code = code
        self.retry_after_s = retry_after_s


class ContextLengthError(UsageError):
    """The prompt leaves the model no position for an answer."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
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
    ignored: tuple[str, ...] = ()  # the names of fields that were given and have no effect here


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer.

    Attributes:
        reason: of its end, `stop` or `length`.
        prompt_tokens, answer_tokens: how many tokens both have.
    """

    text: str
    reason: str
    prompt_tokens: int
    answer_tokens: int


def parse_request(body: bytes, most_tokens: int) -> ChatRequest:
    """Parse a request; `most_tokens` limits the answer even if more are asked for. Raises BadRequestError."""
    try:
        asked = loads(body)
    except CodecError as error:
        raise BadRequestError(str(error)) from None
    if not isinstance(asked, dict):
        raise BadRequestError("expected a JSON object")
    ignored = _check_fields(asked)
    wanted = asked.get("max_completion_tokens") or asked.get("max_tokens") or most_tokens
    options, waits = asked.get("stream_options"), asked.get("max_wait_s")
    return ChatRequest(
        messages=_messages(asked.get("messages")),
        max_tokens=min(int(_number(wanted, "max_tokens", 1, 1 << 31)), most_tokens),
        temperature=_number(asked.get("temperature") or 0.0, "temperature", 0, 100),
        top_p=None if asked.get("top_p") is None else _number(asked["top_p"], "top_p", 0, 1),
        presence_penalty=_number(asked.get("presence_penalty") or 0.0, "presence_penalty", -2, 2),
        frequency_penalty=_number(asked.get("frequency_penalty") or 0.0, "frequency_penalty", -2, 2),
        seed=None if asked.get("seed") is None else int(_number(asked["seed"], "seed", -(1 << 62), 1 << 62)),
        stop=_stop(asked.get("stop")),
        is_streamed=asked.get("stream") is True,
        with_usage=isinstance(options, dict) and options.get("include_usage") is True,
        max_wait_s=None if waits is None else _number(waits, "max_wait_s", 0, MAX_WAIT_S),
        model=_model(asked.get("model")),
        ignored=ignored,
    )


def visible(text: str, stop: tuple[str, ...]) -> tuple[str, bool]:
    """Return the text up to the first stop text, and whether there is one."""
    cut = min((place for word in stop if (place := text.find(word)) >= 0), default=-1)
    return (text[:cut], True) if cut >= 0 else (text, False)


def _check_fields(asked: dict[str, Any]) -> tuple[str, ...]:
    """Return the given fields that have no effect. Raises BadRequestError for those that are unsupported or unknown."""
    given = {name: value for name, value in asked.items() if value is not None and name not in _USED}
    for name, value in given.items():
        if name in _NEUTRAL and value not in _NEUTRAL[name]:
            raise BadRequestError(f"{name} is not supported here: leave it out", code="unsupported_parameter")
        if name not in _NEUTRAL and name not in _WITHOUT_EFFECT:
            raise BadRequestError(f"unknown field {name[:64]!r}: leave it out", code="unknown_parameter")
    return tuple(sorted(_WITHOUT_EFFECT & given.keys()))


def _model(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise BadRequestError("model must be a text")
    return value


def _messages(value: object) -> tuple[ChatMessage, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_MESSAGES:
        raise BadRequestError(f"messages must be a list of 1 to {MAX_MESSAGES} messages")
    return tuple(_message(item) for item in value)


def _message(value: object) -> ChatMessage:
    role = value.get("role") if isinstance(value, dict) else None
    if not isinstance(value, dict) or role not in _ROLES:
        raise BadRequestError(f"a message needs a role: one of {', '.join(_ROLES)}")
    content = value.get("content")
    if value.get("tool_calls"):
        raise BadRequestError("tool_calls are not supported here", code="unsupported_parameter")
    if isinstance(content, list):
        content = "".join(_text_part(part) for part in content)
    if not isinstance(content, str):
        raise BadRequestError("the content of a message must be text")
    return ChatMessage("system" if role == "developer" else str(role), content)


def _text_part(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or kind != "text":
        raise BadRequestError(f"this model takes only text, not {str(kind)[:64]!r}", code="unsupported_content")
    if not isinstance(part.get("text"), str):
        raise BadRequestError("a text part needs a text")
    return str(part["text"])


def _stop(value: object) -> tuple[str, ...]:
    words = [value] if isinstance(value, str) else value or []
    if not isinstance(words, list) or len(words) > 16 or not all(isinstance(word, str) for word in words):
        raise BadRequestError("stop must be a text or a list of at most 16 texts")
    return tuple(word for word in words if word)


def _number(value: object, name: str, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadRequestError(f"{name} must be a number from {low} to {high}")
    return value
