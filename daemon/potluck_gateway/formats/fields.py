"""Reads the fields of a request. Each format declares its own as a struct; what is shared is here. Pure.

A field that a format does not declare changes nothing here, and is named in the header of the answer. One that would
change the meaning of the answer is declared in `Refused`, with the values that change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from potluck_gateway.requests import ANY_OBJECT, BadRequestError, Sampling, Tool, Tools

MAX_BODY_BYTES = 32 << 20  # agents send what they have read
MAX_CHOICES = 128
MAX_TOP_SCORES = 20  # as in OpenAI's reference
MAX_NAMED = 32  # fields, tools and pieces of history without effect, each

R = TypeVar("R")
T = TypeVar("T", bound=Struct)
Refused = Mapping[str, tuple[tuple[object, ...], str]]
"""Field -> the values that change nothing beside null, and what to do instead."""

Count = Annotated[int, Meta(ge=0, le=1 << 40)]
Limit = Annotated[int, Meta(ge=-1, le=1 << 40)]  # of the tokens of an answer; -1 is none, as in llama.cpp
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Share = Annotated[float, Meta(ge=0, le=1)]
Stop = str | Annotated[list[str], Meta(max_length=64)] | None


class SamplingFields(Struct, kw_only=True):
    """The fields that all formats of OpenAI share, and what llama.cpp and vLLM add. Null is as good as absent."""

    model: str | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Share | None = None
    top_k: Annotated[int, Meta(ge=-1, le=1 << 31)] | None = None
    min_p: Share | None = None
    repetition_penalty: Annotated[float, Meta(ge=0.01, le=100)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    seed: int | None = None
    max_wait_s: Annotated[float, Meta(ge=0, le=86400)] | None = None

    def sampling(self, bias: Mapping[str, float] | None = None) -> Sampling:
        return Sampling(
            self.temperature,
            self.top_p,
            None if self.top_k is None else max(self.top_k, 0),
            self.min_p,
            self.repetition_penalty,
            self.presence_penalty or 0.0,
            self.frequency_penalty or 0.0,
            None if self.seed is None else self.seed % (1 << 63),
            tuple((_token(name), more) for name, more in (bias or {}).items()),
        )


GRAMMARS: Refused = dict.fromkeys(
    ("grammar", "guided_choice", "guided_grammar", "guided_json", "guided_regex", "json_schema", "structured_outputs"),
    ((), "use response_format of a chat"),
)
"""Other ways to keep an answer to a form."""


class StreamOptions(Struct):
    include_usage: bool | None = None


class ChoiceFields(SamplingFields, kw_only=True):
    """The fields that OpenAI's chat and its older completions share."""

    n: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] | None = None
    stop: Stop = None
    stop_token_ids: Annotated[list[Count], Meta(max_length=1024)] | None = None
    ignore_eos: bool | None = None
    max_tokens: Limit | None = None
    logit_bias: Annotated[dict[str, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=1024)] | None = None
    stream_options: StreamOptions | None = None
    with_details: bool | None = None

    def shared(self) -> dict[str, Any]:
        """Return the fields of ChatRequest that these say."""
        return {
            "sampling": self.sampling(self.logit_bias),
            "num_choices": self.n or 1,
            "stop": stops(self.stop),
            "stop_tokens": tuple(self.stop_token_ids or ()),
            "ignores_end": self.ignore_eos is True,
            "is_streamed": self.stream is True,
            "with_usage": self.stream_options is not None and self.stream_options.include_usage is True,
            "with_details": self.with_details is True,
            "max_wait_s": self.max_wait_s,
            "model": self.model,
        }


class _Function(Struct):
    name: Annotated[str, Meta(pattern=r"^[^\s<>{}\[\]\"\\]{1,256}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def tool(self) -> Tool:
        nothing = {"properties": {}, "additionalProperties": False}
        return Tool(self.name, {"type": "object", **(self.parameters or nothing)}, self.description or "")


class _Tool(Struct):
    type: str = "function"
    function: _Function | None = None

    @property
    def is_offered(self) -> bool:
        return self.type == "function" and self.function is not None


class _Allowed(Struct):
    mode: str = "auto"
    tools: list[Any] = []


def parse_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object. Halves of surrogate pairs, which no text may have, become question marks."""
    try:
        asked = json.loads(body.decode("utf-8-sig", "replace"), parse_constant=_no_number)
        asked = _without_halves(asked) if b"\\ud" in body.lower() else asked
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the request is no JSON: {error}") from None
    if not isinstance(asked, dict):
        raise BadRequestError("expected a JSON object")
    return asked


def read_fields(asked: dict[str, Any], kind: type[T], refused: Refused) -> tuple[T, tuple[str, ...]]:
    """Return the fields that `kind` declares, and the names of those that have no effect. Raises BadRequestError."""
    given = {name: _whole(value) for name, value in asked.items() if value is not None}
    for name, (neutral, advice) in refused.items():
        if name in given and given[name] not in neutral:
            raise BadRequestError(f"{name} is not supported here: {advice}", code="unsupported_parameter")
    known = {*kind.__struct_fields__, *refused}
    return _read(given, kind), tuple(sorted(name[:64] for name in given.keys() - known))[:MAX_NAMED]


def limit(given: int | None) -> int | None:
    """Return the limit of an answer; None if there is none."""
    return None if given == -1 else given


def stops(given: Stop) -> tuple[str, ...]:
    return tuple(word for word in ([given] if isinstance(given, str) else given or ()) if word)


def thinking_switches(is_on: bool | None, effort: str | None) -> dict[str, Any]:
    """Return what tells chat templates whether to think, and how much. Families name the first differently."""
    switches: dict[str, Any] = {} if is_on is None else {"enable_thinking": is_on, "thinking": is_on}
    return switches if effort is None else switches | {"reasoning_effort": effort}


def effort_switches(effort: str | None) -> dict[str, Any]:
    """Return the same as `thinking_switches` for OpenAI's `reasoning_effort`."""
    is_on = None if effort is None else effort != "none"
    return thinking_switches(is_on, effort if is_on else None)


def parse_schema(given: object) -> str | None:
    """Return the JSON schema that a `response_format` asks for; None if any text will do."""
    form = {"type": "text"} if given is None else given if isinstance(given, dict) else {}
    kind = form.get("type")
    if kind == "text":
        return None
    if kind == "json_object" and form.get("schema") is None:
        return ANY_OBJECT
    places = {"json_object": form, "json_schema": form.get("json_schema")}  # the first one is llama.cpp's
    wanted = places.get(str(kind))
    if not isinstance(wanted, dict) or not isinstance(wanted.get("schema"), dict):
        raise BadRequestError("response_format must be of type text, json_object, or json_schema with a schema")
    return json.dumps(wanted["schema"])


def parse_tools(given: object, choice: object, *, is_parallel: bool) -> tuple[Tools | None, tuple[str, ...]]:
    """Return the tools that a request offers, in OpenAI's form for chats, and the names of those that are left out.

    Tools of kinds that run elsewhere (searches, computers) cannot be offered; an agent works without them. None if
    there are no others, or if calls are forbidden. Raises BadRequestError.
    """
    items = _read(given or [], list[_Tool])
    offered = tuple(item.function.tool() for item in items if item.is_offered and item.function is not None)
    left_out = tuple(f"tools[{index}]" for index, item in enumerate(items) if not item.is_offered)[:MAX_NAMED]
    if isinstance(choice, dict) and choice.get("type") == "allowed_tools":
        allowed = _read(choice.get("allowed_tools", choice), _Allowed)
        names = [_name(item) for item in allowed.tools]
        offered, choice = tuple(tool for tool in offered if tool.name in names), allowed.mode
    if choice in (None, "auto", "none") or (choice == "required" and not offered and left_out):
        return (None if choice == "none" or not offered else Tools(offered, (), is_parallel)), left_out
    name = _name(choice)
    if choice != "required" and name is None:
        raise BadRequestError("tool_choice must be none, auto, required, or name a function")
    wanted = tuple(tool for tool in offered if name in (None, tool.name))
    if not wanted:
        raise BadRequestError("tool_choice asks for a tool that tools does not have")
    return Tools(offered, wanted, is_parallel=False), left_out


def _name(item: object) -> str | None:
    """Return which function a choice or a tool names; None if it names none."""
    function = item.get("function", item) if isinstance(item, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else None


def _read(given: object, kind: type[R]) -> R:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise BadRequestError(str(error)) from None


def _token(name: str) -> int:
    if not (name.isascii() and name.isdigit() and len(name) < 10):
        raise BadRequestError(f"logit_bias has {name[:64]!r} for the number of a token")
    return int(name)


def without_halves(text: str) -> str:
    """Replace halves of surrogate pairs in a text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _without_halves(value: Any) -> Any:
    if isinstance(value, str):
        return without_halves(value)
    if isinstance(value, list):
        return [_without_halves(item) for item in value]
    return {_without_halves(k): _without_halves(v) for k, v in value.items()} if isinstance(value, dict) else value


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _whole(value: Any) -> Any:
    """Return 5.0 as 5, because some programs know no other numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
