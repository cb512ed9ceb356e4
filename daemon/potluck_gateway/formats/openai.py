"""Reads and writes OpenAI's chat completions and its older completions, which complete a text. Pure.

Two fields are ours: `max_wait_s`, how long to wait for blocks that nobody serves, and `with_details`, for choices with
their tokens, speed and servers in the field `potluck`. Some are of other servers: `top_k` and its like,
`chat_template_kwargs` and `continue_final_message` are vLLM's. Thinking, for which the reference has no place, is
written as `reasoning_content` and as `reasoning`, because programs look for one of them. Source: the API reference,
"Create chat completion" and "Create completion".
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from msgspec import Meta

from potluck.protocol.codec import builtins
from potluck.sentences import NOTHING, Sentence
from potluck_gateway.exchange import (
    Answer,
    AnswerPart,
    Answers,
    BadRequestError,
    ChatRequest,
    PartKind,
    TokenScore,
    ToolCall,
)
from potluck_gateway.formats import reading
from potluck_gateway.formats.reading import MessageHistory
from potluck_gateway.formats.writing import AnswerFormat, chat_scores, event, new_id, text_of

MAX_CHOICES = 128
_STREAM_END = b"data: [DONE]\n\n"
MAX_PROMPTS = 128
_REFUSED_IN_COMPLETIONS: reading.Refused = {**reading.GRAMMARS, "suffix": "the model only goes on with a text"}


class ChoiceFields(reading.SharedFields, kw_only=True):
    """The fields that chats and completions share."""

    n: Annotated[int, Meta(ge=1, le=MAX_CHOICES)] = 1
    stop_token_ids: Annotated[tuple[reading.Count, ...], Meta(max_length=1024)] = ()
    ignore_eos: bool = False
    stream_options: dict[str, Any] | None = None
    with_details: bool = False

    def shared(self) -> dict[str, Any]:
        """Return the fields of ChatRequest that these say."""
        return reading.SharedFields.shared(self) | {
            "num_choices": self.n,
            "stop_tokens": self.stop_token_ids,
            "ignores_end": self.ignore_eos,
            "with_usage": (self.stream_options or {}).get("include_usage") is True,
            "with_details": self.with_details,
        }


class ChoiceFormat(AnswerFormat, Protocol):
    """Writes the choices of a chat or a completion.

    Attributes:
        kinds: the names of ids, whole answers and chunks.
        nothing: the content of the last chunk of a choice.
    """

    kinds: tuple[str, str, str]
    nothing: dict[str, Any]
    request: ChatRequest
    shared: dict[str, Any]  # fields of every object

    def __init__(self, model: str, request: ChatRequest) -> None:
        self.request = request
        self.shared = {"id": new_id(self.kinds[0]), "created": int(time.time()), "model": model}

    def whole_choice(self, answer: Answer) -> dict[str, Any]:
        """Return the content of a whole choice."""

    def choice_part(self, part: AnswerPart) -> dict[str, Any]:
        """Return the content of a chunk of a choice."""

    def whole(self, answers: Answers) -> dict[str, Any]:
        choices = [self._ended(index, answer, self.whole_choice(answer)) for index, answer in enumerate(answers)]
        return {**self.shared, "object": self.kinds[1], "choices": choices, "usage": self._usage(answers)}

    def part(self, part: AnswerPart) -> bytes:
        return self.chunk(part.index, self.choice_part(part))

    def end(self, answers: Answers) -> bytes:
        ends = [self.event([self._ended(index, answer, self.nothing)]) for index, answer in enumerate(answers)]
        counts = self.event([], usage=self._usage(answers)) if self.request.with_usage else b""
        return b"".join(ends) + counts + _STREAM_END

    def chunk(self, index: int, content: dict[str, Any]) -> bytes:
        """Return the chunk of a choice that goes on."""
        return self.event([{"index": index, **content, "finish_reason": None}])

    def event(self, choices: list[dict[str, Any]], **more: object) -> bytes:
        """Return an event with choices."""
        return event({**self.shared, "object": self.kinds[2], "choices": choices, **more})

    def _ended(self, index: int, answer: Answer, content: dict[str, Any]) -> dict[str, Any]:
        details = {} if answer.details is None else {"potluck": answer.details}
        return {"index": index, **content, "finish_reason": answer.reason, **details}

    def _usage(self, answers: Answers) -> dict[str, Any]:
        """Return the counts of tokens. Each prompt counts once, however many choices it has."""
        firsts = answers[:: self.request.num_choices]
        prompt, answer = sum(one.prompt_tokens for one in firsts), sum(one.answer_tokens for one in answers)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": sum(one.cached_tokens for one in firsts)},
            "completion_tokens_details": {"reasoning_tokens": sum(one.thinking_tokens for one in answers)},
        }


class _CompletionFields(ChoiceFields, kw_only=True):
    prompt: reading.Prompts = ""
    max_tokens: reading.Limit | None = 16  # the reference's default
    echo: bool = False
    logprobs: reading.NumTop | None = None


def parse_completion(body: bytes) -> ChatRequest:
    """Parse a request as `parse_chat` does."""
    fields, ignored = reading.read_fields(reading.parse_object(body), _CompletionFields, _REFUSED_IN_COMPLETIONS)
    return ChatRequest(
        prompts=reading.prompts(fields.prompt, MAX_PROMPTS),
        echoes=fields.echo,
        num_top=fields.logprobs,
        ignored=ignored,
        **fields.shared(),
    )


class CompletionFormat(ChoiceFormat):
    """Writes OpenAI's older completions."""

    kinds = ("cmpl", "text_completion", "text_completion")
    nothing = {"text": "", "logprobs": None}  # noqa: RUF012

    def whole_choice(self, answer: Answer | AnswerPart) -> dict[str, Any]:
        return {"text": answer.text, "logprobs": _scores(answer.scores) if answer.scores else None}

    def choice_part(self, part: AnswerPart) -> dict[str, Any]:
        return self.whole_choice(part)


def _scores(scores: Sequence[TokenScore]) -> dict[str, Any]:
    return {
        "tokens": [text_of(score.token) for score in scores],
        "token_logprobs": [score.logprob for score in scores],
        "top_logprobs": [_top(score) for score in scores],
        "text_offset": [score.offset for score in scores],
    }


def _top(score: TokenScore) -> dict[str, float] | None:
    """Return the likely tokens and the chosen one; None for the first token of a text.

    The likeliest stands for all that read the same, such as parts of letters.
    """
    if score.logprob is None:
        return None
    likely = {text_of(one.token): one.logprob for one in reversed(score.top)}
    return {text_of(score.token): score.logprob} | likely


_REFUSED_IN_CHATS: reading.Refused = {**reading.GRAMMARS, "functions": "use tools"}


class _ChatFields(ChoiceFields, kw_only=True):
    messages: Any
    max_completion_tokens: reading.Limit | None = None
    logprobs: bool = False
    top_logprobs: reading.NumTop = 0
    response_format: reading.AnswerForm | None = None
    tools: tuple[dict[str, Any], ...] = ()
    tool_choice: reading.Choice = "auto"
    parallel_tool_calls: bool = True
    reasoning_effort: str | None = None
    enable_thinking: bool | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    continue_final_message: bool = False
    modalities: tuple[Literal["text"], ...] = ()


def parse_chat(body: bytes) -> ChatRequest:
    """Parse a request. Raises BadRequestError."""
    fields, ignored = reading.read_fields(reading.parse_object(body), _ChatFields, _REFUSED_IN_CHATS)
    history = MessageHistory()
    history.add_all(fields.messages)
    functions = [tool.get("function") for tool in fields.tools]
    tools, left_out = reading.parse_tools(functions, fields.tool_choice, is_parallel=fields.parallel_tool_calls)
    last = history.messages[-1]
    if fields.continue_final_message and (last.role != "assistant" or last.calls):
        raise BadRequestError("continue_final_message needs a last message of the assistant, without calls")
    if fields.max_completion_tokens is not None:
        fields.max_tokens = fields.max_completion_tokens
    return ChatRequest(
        messages=tuple(history.messages),
        continues=fields.continue_final_message,
        template_kwargs=reading.thinking_switches(fields.reasoning_effort, fields.enable_thinking)
        | (fields.chat_template_kwargs or {}),
        schema=reading.wanted_schema(fields.response_format),
        tools=tools,
        num_top=fields.top_logprobs if fields.logprobs else None,
        ignored=(*ignored, *left_out, *history.left_out),
        **fields.shared(),
    )


class ChatFormat(ChoiceFormat):
    """Writes OpenAI's chat completions."""

    kinds = ("chatcmpl", "chat.completion", "chat.completion.chunk")
    nothing = {"delta": {}}  # noqa: RUF012

    def __init__(self, model: str, request: ChatRequest) -> None:
        super().__init__(model, request)
        self._begun: list[list[str]] = [[] for _ in range(request.num_choices)]  # ids of the calls of each choice

    def whole_choice(self, answer: Answer) -> dict[str, Any]:
        calls = {"tool_calls": [_written(call, call.arguments) for call in answer.calls]} if answer.calls else {}
        thinking = _thoughts(answer.thinking) if answer.thinking else {}
        content = answer.text or (None if calls else "")
        message = {"role": "assistant", "content": content, "refusal": None, **thinking, **calls}
        return {"message": message, "logprobs": None, **_logprobs(answer)}

    def begin(self) -> bytes:
        start = {"delta": {"role": "assistant", "content": ""}}
        return b"".join(self.chunk(index, start) for index in range(self.request.num_choices))

    def choice_part(self, part: AnswerPart) -> dict[str, Any]:
        if part.call is not None:
            return {"delta": {"tool_calls": [self._call(part.index, part.call, part.text)]}}
        delta = _thoughts(part.text) if part.kind is PartKind.THINKING else {"content": part.text}
        return {"delta": delta, **_logprobs(part)}

    def wait(self, sentence: Sentence) -> bytes:
        is_written = self.request.with_details and sentence != NOTHING
        return self.event([], potluck=builtins(sentence)) if is_written else super().wait(sentence)

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


def _logprobs(scored: Answer | AnswerPart) -> dict[str, Any]:
    return {"logprobs": {"content": chat_scores(scored.scores), "refusal": None}} if scored.scores else {}
