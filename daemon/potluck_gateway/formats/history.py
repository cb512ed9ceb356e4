"""Takes the messages of a conversation as they come. Pure.

Programs send back what other servers and older versions gave them, and one message that is refused would lock a
conversation for good. So everything that can be read is passed on, and the rest is left out and named. Only what the
model cannot take at all, such as the picture that a new question is about, is refused.
"""

from __future__ import annotations

import json
from typing import Any

from potluck_gateway.answers.answer import ToolCall
from potluck_gateway.requests import BadRequestError, ChatMessage

_ROLES = {"developer": "system", "function": "tool", "model": "assistant", "human": "user", "ai": "assistant"}
_KNOWN = frozenset(["system", "user", "assistant", "tool"])
_TEXTS = ("text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text")
_THOUGHTS = ("thinking", "reasoning")
_SEPARATOR = "\n"  # between the text parts of a message, as other servers do


class History:
    """Gathers messages, and the names of what was left out."""

    def __init__(self) -> None:
        self.messages: list[ChatMessage] = []
        self.left_out: list[str] = []

    def add_all(self, given: object) -> None:
        """Add the messages of OpenAI's chat or of Ollama's. Raises BadRequestError if one is no message."""
        if not isinstance(given, list) or not given:
            raise BadRequestError("messages must be a list of at least one message")
        roles = [_role(item) for item in given]
        for number, item in enumerate(given):
            self.add(item, is_new="assistant" not in roles[number:])

    def add(self, given: object, *, is_new: bool = False) -> None:
        """Add a message. `is_new`: no answer has followed yet, so what isn't text is refused."""
        role = _role(given)
        assert isinstance(given, dict)
        place = f"messages[{len(self.messages)}]"
        text, thinking = self.content(given.get("content"), place, is_new=is_new)
        thoughts = (given.get("reasoning_content"), given.get("reasoning"), given.get("thinking"))
        thinking = next((thought for thought in thoughts if thought and isinstance(thought, str)), thinking)
        refusal = given.get("refusal")
        if given.get("images"):
            raise BadRequestError("this model takes only text, no images", code="unsupported_content")
        calls = given.get("tool_calls") or (
            [{"function": given["function_call"]}] if given.get("function_call") else []
        )
        call_id = given.get("tool_call_id", given.get("name") if role == "tool" else None)
        self.messages.append(
            ChatMessage(
                role,
                text or (refusal if isinstance(refusal, str) else ""),
                self.calls(calls, place) if role == "assistant" else (),
                call_id if isinstance(call_id, str) else None,
                thinking if role == "assistant" else "",
            )
        )

    def content(self, given: object, place: str, *, is_new: bool = False) -> tuple[str, str]:
        """Return the text and the thinking in the content of a message. `is_new`: what isn't text is refused."""
        if given is None or isinstance(given, str):
            return given or "", ""
        texts: list[str] = []
        thoughts: list[str] = []
        for number, part in enumerate(given if isinstance(given, list) else [given]):
            kind = part.get("type") if isinstance(part, dict) else None
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict) and kind in _THOUGHTS:
                thoughts.append(str(part.get("thinking") or part.get("text") or ""))
            elif isinstance(part, dict) and kind in (*_TEXTS, None) and _text_of(part) is not None:
                texts.append(str(_text_of(part)))
            elif is_new and kind is not None:
                raise BadRequestError(f"this model takes only text, not {str(kind)[:64]!r}", code="unsupported_content")
            else:
                self.left_out.append(f"{place}.content[{number}]")
        return _SEPARATOR.join(texts), _SEPARATOR.join(filter(None, thoughts))

    def calls(self, given: object, place: str) -> tuple[ToolCall, ...]:
        """Return the calls of an assistant's message, whose arguments may be broken."""
        found = []
        for number, item in enumerate(given if isinstance(given, list) else []):
            function = item.get("function", item.get("custom", item)) if isinstance(item, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if not isinstance(item, dict) or not isinstance(function, dict) or not isinstance(name, str):
                self.left_out.append(f"{place}.tool_calls[{number}]")
                continue
            call_id = item.get("id") or item.get("call_id") or f"call_{len(self.messages)}_{number}"
            found.append(
                ToolCall(str(call_id)[:256], name, arguments_of(function.get("arguments", function.get("input"))))
            )
        return tuple(found)


def arguments_of(given: object) -> str:
    """Return arguments as a JSON object. Those that are none, as a model wrote them, become its only field."""
    read = given
    if isinstance(given, str) and given.strip():
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            read = {"arguments": given}
    if not isinstance(read, dict):
        read = {"arguments": read} if read else {}
    return json.dumps(read, ensure_ascii=False)


def _role(given: object) -> str:
    """Return the role of a message, a user's if it is unknown. Raises BadRequestError if it has none."""
    role = given.get("role") if isinstance(given, dict) else None
    if not isinstance(role, str):
        raise BadRequestError("a message needs a role: one of system, user, assistant, tool")
    role = _ROLES.get(role, role)
    return role if role in _KNOWN else "user"


def _text_of(part: dict[str, Any]) -> str | None:
    """Return the text of a part; None if it has none."""
    text = part.get("text", part.get("refusal", part.get("content")))
    return text if isinstance(text, str) else None
