"""Turns a conversation into the tokens of a prompt, by the model's chat template.

Templates differ in what they have a place for: some take a system message only at the beginning or not at all, some
want roles to alternate, and many know no tools. Nothing of a conversation may be dropped in silence, so a conversation
is rendered in the way that the template likes best among those in which everything arrives. At the end of those, tools
are described in plain words, and calls and results are texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from inspect import signature
from json import dumps, loads
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from potluck.errors import UsageError
from potluck_gateway.answers.completion import TextTokenizer
from potluck_gateway.answers.syntax import (
    GENERIC,
    PLAIN,
    AnswerSyntax,
    describe_tools,
    opens_thinking,
    syntax_of,
    written_calls,
    written_result,
)
from potluck_gateway.answers.templates import BoundedRenderer
from potluck_gateway.exchange import ChatMessage, ChatRequest, Prompt

_FEW_LETTERS = 4  # letters of a short token; a prompt with more letters may be too long
_BETWEEN = "\n\n"  # texts that become one message
_SHORT_IDS = re.compile(r"length\s*!=\s*9")  # templates of Mistral's take only such ids of calls
_RESERVED = signature(PreTrainedTokenizerBase.apply_chat_template).parameters.keys() - {"kwargs"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """The tokens of a prompt [1, tokens], int64, how the answer to it is written, and whether it opens a thought.

    A conversation that is far too long for the model has tokens on torch's meta device, without their numbers, about as
    many as its beginning lets expect: nobody else should have to wait until millions of them are known.
    """

    tokens: torch.Tensor
    syntax: AnswerSyntax = PLAIN
    thinks: bool = False


class Prompts:
    """Makes the prompts of one model."""

    def __init__(self, text: TextTokenizer, max_tokens: int | None = None) -> None:
        """Store the tokenizer. `max_tokens`: the longest prompt; None if there is no limit."""
        self._text = text
        self._max_tokens = max_tokens
        self._render = BoundedRenderer(partial(text.tokenizer.apply_chat_template, tokenize=False))

    def prepare(self, request: ChatRequest) -> Prepared:
        """Return the prompt of a request with one prompt or with messages. Raises UsageError."""
        if not request.messages:
            (given,) = request.prompts
            return Prepared(self.encode(given))
        if reserved := sorted(_RESERVED & request.template_kwargs.keys()):
            raise UsageError(f"chat_template_kwargs cannot set {', '.join(reserved)}")
        template = self._template(has_tools=request.tools is not None)
        if template is not None:
            return self._rendered(request, template)
        rendered = plain_prompt(_without_tools(request), continues=request.continues)
        return Prepared(self.encode(rendered), GENERIC)

    @property
    def thinks(self) -> bool:
        """Return whether the model's answers may begin with thinking."""
        template = self._template(has_tools=False)
        return template is not None and syntax_of(template, self._text.added.values()).thinks

    def _rendered(self, request: ChatRequest, template: str) -> Prepared:
        known = syntax_of(template, self._text.added.values())
        first: UsageError | None = None
        must_call = request.tools is not None and bool(request.tools.must_call)
        knows_tools = known.calls is not None and (known.calls.pair is None or not must_call)
        for messages, is_native in _ways(request, knows_tools=knows_tools):
            tools = [tool.definition for tool in request.tools.offered] if request.tools and is_native else None
            try:
                rendered = self._render(
                    list(_shown(messages, template)),
                    tools=tools,
                    chat_template=template,
                    add_generation_prompt=not request.continues,
                    continue_final_message=request.continues,
                    **request.template_kwargs,
                )
            except UsageError as error:
                first = first or error
                continue
            needed = _must_appear(request, is_native=is_native)
            if all(text in rendered or dumps(text, ensure_ascii=False)[1:-1] in rendered for text in needed):
                syntax = known if is_native else replace(known, calls=GENERIC.calls)
                is_opened = not request.continues and opens_thinking(syntax, rendered)
                return Prepared(self.encode(rendered, is_rendered=True), syntax, is_opened)
        raise first or UsageError("the model's chat template leaves out a part of this conversation")

    def encode(self, prompt: Prompt, *, is_rendered: bool = False, is_cut: bool = False) -> torch.Tensor:
        """Return `Prepared.tokens` of a text, or of tokens. Raises UsageError for none and for unknown ones.

        Args:
            is_rendered: the text has its first special token already.
            is_cut: of a text that is far too long, return the first tokens, more than the model takes.
        """
        if not isinstance(prompt, str):
            return self._checked(prompt)
        most = len(prompt) if self._max_tokens is None else self._max_tokens
        size = most * _FEW_LETTERS
        while True:
            tokens = self._text.encode(prompt[:size], is_rendered=is_rendered)
            if size >= len(prompt) or (is_cut and tokens.shape[1] > most):
                return tokens
            if tokens.shape[1] > most:
                return torch.empty(1, tokens.shape[1] * len(prompt) // size, dtype=torch.int64, device="meta")
            size *= 2

    def _template(self, *, has_tools: bool) -> str | None:
        """Return the model's chat template; it may have another one for conversations with tools."""
        tokenizer = self._text.tokenizer
        return tokenizer.chat_template and str(tokenizer.get_chat_template(tools=[] if has_tools else None))

    def _checked(self, tokens: Sequence[int]) -> torch.Tensor:
        size = len(self._text.tokenizer)
        if not tokens or max(tokens) >= size:
            raise UsageError(f"a prompt needs tokens, each below {size}")
        return torch.tensor([tokens])


def _ways(request: ChatRequest, *, knows_tools: bool) -> Iterator[tuple[Sequence[ChatMessage], bool]]:
    """Yield the messages in different ways, the best one first, and whether tools and calls are the template's own."""
    has_tools = request.tools is not None or any(m.calls or m.role == "tool" for m in request.messages)
    for is_native in (True, False) if knows_tools and has_tools else (not has_tools,):
        messages = request.messages if is_native else _without_tools(request)
        yield messages, is_native
        yield _joined(messages, keeps_first=True), is_native
        yield _joined(messages, keeps_first=False), is_native


def _joined(messages: Sequence[ChatMessage], *, keeps_first: bool) -> list[ChatMessage]:
    """Join system messages to the next user message, and consecutive messages of one role to each other.

    `keeps_first`: the one at the very beginning stays.
    """
    found: list[ChatMessage] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "system" and (found or not keeps_first):
            waiting.append(message.content)
            continue
        if message.role == "user" and waiting:
            message, waiting = replace(message, content=_BETWEEN.join([*waiting, message.content])), []
        if found and found[-1].role == message.role != "tool":
            last = found.pop()
            content = _BETWEEN.join(filter(None, (last.content, message.content)))
            message = replace(message, content=content, calls=last.calls + message.calls)
        found.append(message)
    if not keeps_first and found and found[0].role == "assistant":
        found.insert(0, ChatMessage("user", ""))  # a history that was cut at its beginning
    if not waiting:
        return found
    return _joined([*found, ChatMessage("user", _BETWEEN.join(waiting))], keeps_first=keeps_first)


def _without_tools(request: ChatRequest) -> list[ChatMessage]:
    """Return messages in which tools are described in words, and calls and results are texts."""
    messages = list(request.messages)
    if request.tools is not None:
        taught = describe_tools(request.tools)
        if messages[0].role == "system":
            taught = _BETWEEN.join((messages.pop(0).content, taught))
        messages.insert(0, ChatMessage("system", taught))
    found = []
    for message in messages:
        if message.role == "tool":
            message = ChatMessage("user", written_result(message.content))
        elif message.calls:
            said = "\n".join(filter(None, (message.content, written_calls(message.calls))))
            message = replace(message, content=said, calls=())
        found.append(message)
    return found


def _must_appear(request: ChatRequest, *, is_native: bool) -> Iterable[str]:
    """Yield what a template may not leave out: what system messages say, and the names of tools and calls."""
    for message in request.messages:
        if message.role == "system":
            yield message.content.strip()
        yield from (call.name for call in message.calls)
    if request.tools is not None and is_native:
        yield from (tool.name for tool in request.tools.offered)


def _shown(messages: Sequence[ChatMessage], template: str) -> Iterator[dict[str, Any]]:
    """Yield messages as chat templates expect them. They write the arguments of calls themselves."""
    names = {call.call_id: call.name for message in messages for call in message.calls}
    needs_short = _SHORT_IDS.search(template) is not None
    thinking = "reasoning_content" if "reasoning_content" in template else "thinking"

    def taken(call_id: str) -> str:
        return blake2b(call_id.encode(), digest_size=5).hexdigest()[:9] if needs_short else call_id

    for message in messages:
        shown: dict[str, Any] = {"role": message.role, "content": message.content}
        functions = ((one.call_id, {"name": one.name, "arguments": loads(one.arguments)}) for one in message.calls)
        calls = [{"id": taken(call_id), "type": "function", "function": function} for call_id, function in functions]
        if calls:
            shown["tool_calls"] = calls
        if message.role == "tool":
            given = message.call_id or ""
            shown |= {"tool_call_id": taken(given), "name": names.get(given, given)}
        if message.thinking:
            shown[thinking] = message.thinking
        yield shown


def plain_prompt(messages: Sequence[ChatMessage], *, continues: bool = False) -> str:
    """Return a prompt for a model without a chat template: a single message as it is, several as a script."""
    if len(messages) == 1:
        return messages[0].content
    lines = [f"{message.role.capitalize()}: {message.content}" for message in messages]
    return "\n".join(lines if continues else [*lines, "Assistant:"])
