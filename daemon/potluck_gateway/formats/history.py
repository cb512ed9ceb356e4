"""Takes the messages of a conversation as they come. Pure.

Programs send back what other servers and older versions gave them, and one message that is refused would lock a
conversation for good. So everything that can be read is passed on, and the rest is left out and named. Only what the
model cannot take at all, such as the picture that a new question is about, is refused.
"""

from __future__ import annotations

import json
import re
from typing import Any

from potluck_gateway.answers.answer import ToolCall
from potluck_gateway.formats.fields import MAX_NAMED, without_halves
from potluck_gateway.requests import BadRequestError, ChatMessage

_ROLES = {"developer": "system", **{role: role for role in ("system", "user", "assistant", "tool")}}
_TEXTS = ("text", "input_text", "output_text", "refusal", None)  # also of parts without a type
_THOUGHTS = ("thinking", "reasoning", "summary_text", "reasoning_text")
_SEPARATOR = "\n"  # between the text parts of a message, as other servers do
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)  # as some programs show it


class History:
    """Gathers messages, and the names of what was left out."""

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
                texts.append(_first_text(part, "text", "refusal", "content") or ("" if "type" in part else _json(part)))
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
        return _json(read if isinstance(read, dict) else {"arguments": read} if read else {})
    except (ValueError, RecursionError):
        return _json({"arguments": str(given)})


def _json(value: object) -> str:
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
