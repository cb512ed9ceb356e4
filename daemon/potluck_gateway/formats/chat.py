"""Reads and writes OpenAI's chat completions. Pure. Source: the API reference, "Create chat completion".

Some fields are of other servers: `top_k` and its like, `chat_template_kwargs` and `continue_final_message` are vLLM's.
Thinking, which the reference has no place for, is written as `reasoning_content` and as `reasoning`: programs look for
one of them.
"""

from __future__ import annotations

from typing import Any, Literal

from potluck.protocol.codec import builtins
from potluck.sentences import NOTHING, Sentence
from potluck_gateway.answers.answer import Answer, Kind, Part, ToolCall
from potluck_gateway.formats import fields
from potluck_gateway.formats.completions import ChoiceFields, ChoiceFormat
from potluck_gateway.formats.history import History
from potluck_gateway.formats.writing import chat_scores
from potluck_gateway.requests import BadRequestError, ChatRequest

_REFUSED: fields.Refused = {**fields.GRAMMARS, "functions": "use tools"}


class _Fields(ChoiceFields, kw_only=True):
    messages: Any
    max_completion_tokens: fields.Limit | None = None
    logprobs: bool = False
    top_logprobs: fields.NumTop = 0
    response_format: fields.AnswerForm | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: fields.Choice = "auto"
    parallel_tool_calls: bool = True
    reasoning_effort: str | None = None
    enable_thinking: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool = False
    modalities: tuple[Literal["text"], ...] = ()


def parse_chat(body: bytes) -> ChatRequest:
    """Parse a request. Raises BadRequestError."""
    asked, ignored = fields.read_fields(fields.parse_object(body), _Fields, _REFUSED)
    history = History()
    history.add_all(asked.messages)
    functions = [tool.get("function") for tool in asked.tools]
    tools, left_out = fields.parse_tools(functions, asked.tool_choice, is_parallel=asked.parallel_tool_calls)
    last = history.messages[-1]
    if asked.continue_final_message and (last.role != "assistant" or last.calls):
        raise BadRequestError("continue_final_message needs a last message of the assistant, without calls")
    if asked.max_completion_tokens is not None:
        asked.max_tokens = asked.max_completion_tokens
    return ChatRequest(
        messages=tuple(history.messages),
        continues=asked.continue_final_message,
        template_kwargs=fields.thinking_switches(asked.reasoning_effort, asked.enable_thinking)
        | (asked.chat_template_kwargs or {}),
        schema=fields.wanted_schema(asked.response_format),
        tools=tools,
        num_top=asked.top_logprobs if asked.logprobs else None,
        ignored=(*ignored, *left_out, *history.left_out),
        **asked.shared(),
    )


class ChatFormat(ChoiceFormat):
    kinds = ("chatcmpl", "chat.completion", "chat.completion.chunk")
    nothing = {"delta": {}}  # noqa: RUF012

    def __init__(self, model: str, asked: ChatRequest) -> None:
        super().__init__(model, asked)
        self._begun: list[list[str]] = [[] for _ in range(asked.num_choices)]  # ids of the calls of each choice

    def said(self, answer: Answer) -> dict[str, Any]:
        calls = {"tool_calls": [_written(call, call.arguments) for call in answer.calls]} if answer.calls else {}
        thinking = _thoughts(answer.thinking) if answer.thinking else {}
        content = answer.text or (None if calls else "")
        message = {"role": "assistant", "content": content, "refusal": None, **thinking, **calls}
        return {"message": message, "logprobs": None, **_logprobs(answer)}

    def begin(self) -> bytes:
        start = {"delta": {"role": "assistant", "content": ""}}
        return b"".join(self.chunk(index, start) for index in range(self.asked.num_choices))

    def piece(self, part: Part) -> dict[str, Any]:
        if part.call is not None:
            return {"delta": {"tool_calls": [self._call(part.index, part.call, part.text)]}}
        said = _thoughts(part.text) if part.kind is Kind.THINKING else {"content": part.text}
        return {"delta": said, **_logprobs(part)}

    def wait(self, sentence: Sentence) -> bytes:
        is_told = self.asked.with_details and sentence != NOTHING
        return self.event([], potluck=builtins(sentence)) if is_told else super().wait(sentence)

    def _call(self, index: int, call: ToolCall, text: str) -> dict[str, Any]:
        """Return new text of the arguments of a call. Only the first has the name."""
        begun = self._begun[index]
        if call.call_id in begun:
            return {"index": begun.index(call.call_id), "function": {"arguments": text}}
        begun.append(call.call_id)
        return {"index": len(begun) - 1, **_written(call, text)}


def _thoughts(text: str) -> dict[str, Any]:
    return {"reasoning_content": text, "reasoning": text}


def _written(call: ToolCall, arguments: str) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _logprobs(scored: Answer | Part) -> dict[str, Any]:
    return {"logprobs": {"content": chat_scores(scored.scores), "refusal": None}} if scored.scores else {}
