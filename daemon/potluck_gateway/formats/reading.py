"""Reads the fields and the messages of a request. Each format declares its own fields as a struct. Pure.

A field that a format does not declare changes nothing here, and is named in the header of the answer. One that would
change the meaning of the answer is declared in `Refused`, unless it is empty.

Programs send back messages of other servers and older versions, and refusing one would lock a conversation for good. So
everything that can be read is passed on, and the rest is left out and named. Only what the model cannot take at all,
such as the picture that a new question is about, is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from potluck_gateway.exchange import ANY_OBJECT, BadRequestError, ChatMessage, Prompt, Sampling, Tool, ToolCall, Tools

MAX_BODY_BYTES = 32 << 20  # agents send what they have read
MAX_NAMED = 32  # fields, tools and pieces of history without effect, each

R = TypeVar("R")
T = TypeVar("T", bound=Struct)
Refused = Mapping[str, str]
"""Field -> what to do instead."""
GRAMMARS: Refused = dict.fromkeys(
    ("grammar", "guided_choice", "guided_grammar", "guided_json", "guided_regex", "json_schema", "structured_outputs"),
    "use response_format of a chat",
)
"""Other ways to keep an answer to a form."""

Count = Annotated[int, Meta(ge=0, le=1 << 40)]
Limit = Annotated[int, Meta(ge=-2, le=1 << 40)]  # limit of an answer's tokens; below 0 is none, as in llama.cpp
NumTop = Annotated[int, Meta(ge=0, le=20)]  # the limit in OpenAI's reference
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Prompts = str | list[str | Count | list[Count]]
Repetition = Annotated[float, Meta(ge=0.01, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
Stop = str | Annotated[list[str], Meta(max_length=64)]

_ROLES = {"developer": "system", **{role: role for role in ("system", "user", "assistant", "tool")}}
_TEXTS = ("text", "input_text", "output_text", "refusal", None)  # also of parts without a type
_THOUGHTS = ("thinking", "reasoning", "summary_text", "reasoning_text")
_SEPARATOR = "\n"  # joins the text parts of a message, as other servers do
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)  # the form in which some programs show thinking


class SharedFields(Struct, kw_only=True):
    """The fields that all formats share, and those that llama.cpp and vLLM add. Null is the same as absent."""

    model: str | None = None
    stream: bool = False
    max_tokens: Limit | None = None
    stop: Stop = ""
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Share | None = None
    top_k: Annotated[int, Meta(ge=-1, le=1 << 31)] | None = None
    min_p: Share | None = None
    repetition_penalty: Repetition | None = None
    presence_penalty: Penalty = 0.0
    frequency_penalty: Penalty = 0.0
    seed: int | None = None
    logit_bias: Annotated[dict[Count, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=1024)] = {}
    max_wait_s: Annotated[float, Meta(ge=0, le=86400)] | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 0:
            self.max_tokens = None
        if self.top_k is not None:
            self.top_k = max(self.top_k, 0)
        if self.seed is not None:
            self.seed %= 1 << 63

    def shared(self) -> dict[str, Any]:
        """Return the fields of ChatRequest that these say."""
        return {
            "model": self.model,
            "is_streamed": self.stream,
            "max_tokens": self.max_tokens,
            "stop": tuple(filter(None, [self.stop] if isinstance(self.stop, str) else self.stop)),
            "sampling": msgspec.convert(self, Sampling, from_attributes=True),
            "max_wait_s": self.max_wait_s,
        }


class AnswerForm(Struct, frozen=True):
    """The form of an answer. Chats have its schema below `json_schema`, others and llama.cpp on its own level."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    schema: dict[str, Any] | None = None
    json_schema: AnswerForm | None = None


class Output(Struct, frozen=True):
    """The effort to spend on thinking, and the form of the answer."""

    effort: str | None = None
    format: AnswerForm | None = None


class _Function(Struct):
    name: Annotated[str, Meta(pattern=r"^[^\s<>{}\[\]\"\\]{1,256}$")]
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def tool(self) -> Tool:
        nothing = {"properties": {}, "additionalProperties": False}
        return Tool(self.name, {"type": "object", **(self.parameters or nothing)}, self.description or "")


class Named(Struct, frozen=True):
    """The function that has to be called. Chats name it one level below."""

    name: str = ""
    function: Named | None = None


Choice = Literal["none", "auto", "required"] | Named


def parse_object(body: bytes) -> dict[str, Any]:
    """Read a JSON object. Halves of surrogate pairs, which no text may have, become question marks."""
    try:
        given = json.loads(body.decode("utf-8-sig", "replace"), parse_constant=_finite, parse_float=_finite)
        if b"\\ud" in body.lower():
            given = json.loads(without_halves(json.dumps(given, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"the request is no JSON: {error}") from None
    return read(given, dict[str, Any])


def _finite(text: str) -> float:
    """Return a number. Raises ValueError for those that JSON cannot have."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:32]} is no number")
    return value


def read_fields(given: dict[str, Any], kind: type[T], refused: Refused) -> tuple[T, tuple[str, ...]]:
    """Return the fields that `kind` declares, and the names of those that have no effect. Raises BadRequestError."""
    given = {name: _whole(value) for name, value in given.items() if value is not None}
    for name, advice in refused.items():
        if given.get(name):
            raise BadRequestError(f"{name} is not supported here: {advice}", code="unsupported_parameter")
    known = {*kind.__struct_encode_fields__, *refused}
    return read(given, kind), tuple(sorted(name[:64] for name in given.keys() - known))[:MAX_NAMED]


def read(given: object, kind: type[R]) -> R:
    """Return what was given as a value of this kind. Raises BadRequestError."""
    try:
        return msgspec.convert(given, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise BadRequestError(str(error)) from None


def prompts(given: Prompts, most: int) -> tuple[Prompt, ...]:
    """Return the texts of a request, which may be one text, the tokens of one, or a list of either."""
    is_one = isinstance(given, str) or all(isinstance(item, int) for item in given)
    texts: list[Any] = [given] if is_one else list(given)
    if len(texts) > most or not all(isinstance(text, str | list) and text for text in texts):
        raise BadRequestError(f"expected a text, its tokens, or a list of 1 to {most} of them")
    return tuple(text if isinstance(text, str) else tuple(text) for text in texts)


def wanted_schema(form: AnswerForm | None) -> str | None:
    """Return the JSON schema that an answer has to match; None if any text will do. Raises BadRequestError."""
    if form is None or form.type == "text":
        return None
    schema = (form.json_schema or form).schema
    if form.type == "json_schema" and schema is None:
        raise BadRequestError("an answer of type json_schema needs a schema")
    return ANY_OBJECT if schema is None else json.dumps(schema)


def thinking_switches(effort: str | None, is_on: bool | None = None) -> dict[str, Any]:
    """Return what tells chat templates whether to think, and how much. Families name the first differently.

    An effort of `none` is OpenAI's word for no thinking.
    """
    is_on = effort != "none" if is_on is None and effort else is_on
    switches: dict[str, Any] = {} if is_on is None else {"enable_thinking": is_on, "thinking": is_on}
    return switches | {"reasoning_effort": effort} if effort not in (None, "none") else switches


def parse_tools(
    given: Sequence[object], choice: str | Named = "auto", *, is_parallel: bool = True
) -> tuple[Tools | None, tuple[str, ...]]:
    """Return the tools that a request offers, and the names of those that cannot be offered. Raises BadRequestError.

    `given`: the function of each tool; None for one that runs elsewhere, such as a search. An agent works without it.
    The tools are None if there are no others, or if calls are forbidden.
    """
    functions = read(given, list[_Function | None])
    offered = tuple(function.tool() for function in functions if function is not None)
    left_out = tuple(f"tools[{index}]" for index, function in enumerate(functions) if function is None)[:MAX_NAMED]
    name = (choice.function or choice).name if isinstance(choice, Named) else None
    must_call = tuple(tool for tool in offered if choice == "required" or tool.name == name)
    if not must_call and choice not in ("auto", "none"):
        raise BadRequestError("tool_choice asks for a tool that tools does not have")
    is_free = choice != "none" and offered
    return (Tools(offered, must_call, is_parallel and not must_call) if is_free else None), left_out


def without_halves(text: str) -> str:
    """Replace halves of surrogate pairs in a text."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole(value: Any) -> Any:
    """Return 5.0 as 5, because some programs know no other numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


class MessageHistory:
    """Collects the messages of a conversation, and the names of what was left out."""

    def __init__(self) -> None:
        self.messages: list[ChatMessage] = []
        self.left_out: list[str] = []

    def add_all(self, given: object, name: str = "messages", *, joins: bool = False) -> None:
        """Add the messages of OpenAI's chat or of Ollama's. Raises BadRequestError if one is no message.

        `joins`: an answer may be split to several messages, and None is one to leave out.
        """
        if not isinstance(given, list) or not given:
            raise BadRequestError(f"{name} must be a list of at least one message")
        answered = max((n for n, item in enumerate(given) if item and _role(item) == "assistant"), default=-1)
        for number, item in enumerate(given):
            place = f"{name}[{number}]"
            if joins and item is None:
                self.leave_out(place)
                continue
            message = self.message(item, place, is_new=number > answered)
            if joins and self.messages and self.messages[-1].role == message.role == "assistant":
                message = _joined(self.messages.pop(), message)
            self.messages.append(message)

    def message(self, given: object, place: str, *, is_new: bool = False) -> ChatMessage:
        """Return a message. `is_new`: no answer has followed yet, so what a user says beside text is refused."""
        role = _role(given)
        assert isinstance(given, dict)
        is_question = is_new and role == "user"
        text, thinking = self.content(given.get("content"), place, is_question=is_question)
        if given.get("images"):
            self.leave_out(f"{place}.images", "image", is_question=is_question)
        if role == "assistant":
            if (shown := _THOUGHT.match(text)) is not None:
                thinking, text = shown[1].strip(), text[shown.end() :]
            thinking = _first_text(given, "reasoning_content", "reasoning", "thinking") or thinking
            text = text or _first_text(given, "refusal")
            return ChatMessage(role, text, self.calls(given.get("tool_calls"), place), thinking=thinking)
        call_id = _first_text(given, "tool_call_id", "name", "tool_name") if role == "tool" else ""
        return ChatMessage(role, text, call_id=call_id or None)

    def content(self, given: object, place: str, *, is_question: bool = False) -> tuple[str, str]:
        """Return the text and the thinking in the content of a message. What isn't text in a question is refused."""
        if given is None or isinstance(given, str):
            return given or "", ""
        texts: list[str] = []
        thoughts: list[str] = []
        for number, part in enumerate(given if isinstance(given, list) else [given]):
            part = {"text": part} if isinstance(part, str) else part
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            if isinstance(part, dict) and kind in _THOUGHTS:
                thoughts.append(_first_text(part, "thinking", "text"))
            elif isinstance(part, dict) and kind in _TEXTS:
                texts.append(
                    _first_text(part, "text", "refusal", "content") or ("" if "type" in part else _as_json(part))
                )
            else:
                self.leave_out(f"{place}.content[{number}]", kind, is_question=is_question)
        return _SEPARATOR.join(filter(None, texts)), _SEPARATOR.join(filter(None, thoughts))

    def calls(self, given: object, place: str) -> tuple[ToolCall, ...]:
        """Return the calls of an assistant's message, whose arguments may be broken."""
        found = []
        for number, item in enumerate(given if isinstance(given, list) else []):
            function = item.get("function") if isinstance(item, dict) else None
            if not isinstance(function, dict) or not isinstance(function.get("name"), str):
                self.leave_out(f"{place}.tool_calls[{number}]")
                continue
            call_id = str(item.get("id") or f"call_{len(self.messages)}_{number}")
            found.append(ToolCall(call_id[:256], function["name"], arguments_of(function.get("arguments"))))
        return tuple(found)

    def leave_out(self, place: str, kind: object = None, *, is_question: bool = False) -> None:
        """Name what is left out. Raises BadRequestError if a question is about it."""
        if is_question:
            raise BadRequestError(f"this model takes only text, not {str(kind)[:64]!r}", code="unsupported_content")
        if len(self.left_out) < MAX_NAMED:
            self.left_out.append(place)


def _joined(first: ChatMessage, then: ChatMessage) -> ChatMessage:
    """Return one message with the thinking, the text and the calls of two."""
    text = _SEPARATOR.join(filter(None, (first.content, then.content)))
    thinking = _SEPARATOR.join(filter(None, (first.thinking, then.thinking)))
    return ChatMessage("assistant", text, first.calls + then.calls, thinking=thinking)


def arguments_of(given: object) -> str:
    """Return arguments as a JSON object. Those that are none, as a model wrote them, become its only field."""
    try:
        read = json.loads(given.strip() or "{}") if isinstance(given, str) else given
        return _as_json(read if isinstance(read, dict) else {"arguments": read} if read else {})
    except (ValueError, RecursionError):
        return _as_json({"arguments": str(given)})


def _as_json(value: object) -> str:
    return without_halves(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _role(given: object) -> str:
    """Return the role of a message, a user's if it is unknown. Raises BadRequestError if it has none."""
    role = given.get("role") if isinstance(given, dict) else None
    if not isinstance(role, str):
        raise BadRequestError("a message needs a role: one of system, user, assistant, tool")
    return _ROLES.get(role, "user")


def _first_text(given: dict[str, Any], *names: str) -> str:
    """Return the first of these fields that is a text, or nothing."""
    return next((said for name in names if (said := given.get(name)) and isinstance(said, str)), "")
