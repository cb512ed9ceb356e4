"""Answers chat requests with a swarm's model: messages to tokens, tokens to text as it comes. Imports torch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from json import loads
from typing import Any

import torch

from potluck.client import Session
from potluck.client.outages import wait_text
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck_gateway.answers.answer import Answer, AnswerDetails, AnswerHop, OnWait, Part
from potluck_gateway.answers.completion import Options, Text, check_length, complete, max_positions
from potluck_gateway.answers.conversations import Conversations
from potluck_gateway.answers.following import EnoughError, Follower
from potluck_gateway.answers.grammar import Grammar, Grammars
from potluck_gateway.answers.scoring import Bias, Scorer
from potluck_gateway.answers.tools import CallForm, CallReader, call_grammar, form_of
from potluck_gateway.formats.embeddings import Embeddings
from potluck_gateway.requests import ChatMessage, ChatRequest, ToolsError


class SwarmChat:
    """The chat model of a swarm. Several threads may ask at once: servers compute the steps of sessions together."""

    def __init__(self, name: str, model: Any, text: Text) -> None:
        self.name = name
        self._model = model
        self._text = text
        self._grammars = Grammars(text.tokenizer)
        self._most = max_positions(model.config)
        self._conversations = Conversations(model)
        self._waiting: dict[object, OnWait] = {}  # answer -> its `on_wait`
        model.tell_waits(self._tell_waits)

    def answer(
        self,
        request: ChatRequest,
        on_part: Callable[[Part], None],
        on_wait: OnWait = lambda _: None,
    ) -> Answer:
        prompt = self._prompt(request)
        check_length(prompt, self._model.config)
        length = int(prompt.shape[1])
        max_tokens = request.max_tokens if self._most is None else min(request.max_tokens, self._most - length)
        form = self._call_form(request)
        grammar = self._grammar(request, form)
        reader = CallReader(request.tools, form) if request.tools is not None and form is not None else None
        scorer = None if request.num_top is None else Scorer(request.num_top, self._grammars.bytes_of)
        follower = Follower(self._text, request.stop, on_part, grammar=grammar, scorer=scorer, reader=reader)
        options = Options(
            max_tokens,
            temperature=request.temperature,
            top_p=request.top_p,
            presence_penalty=request.presence_penalty,
            frequency_penalty=request.frequency_penalty,
            seed=request.seed,
            steps=tuple(step for step in (scorer, grammar, self._bias(request)) if step is not None),
            drafts=True,
        )
        details = None
        with self._hearing(on_wait), self._conversing(prompt, max_tokens, request, follower) as session:
            with contextlib.suppress(EnoughError):
                complete(self._model, prompt, options, follower.note, session=session)
            if request.with_details:
                details = AnswerDetails(tuple(follower.tokens), round(follower.tokens_per_s, 2), _hops(session))
        text, calls = follower.finish()
        is_full = follower.num_tokens >= max_tokens and not follower.is_stopped
        reason = "tool_calls" if calls else "length" if is_full else "stop"
        return Answer(text, reason, length, follower.num_tokens, follower.scores, details, calls)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Return the mean of the last hidden states of each text, of length 1. Raises PotluckError."""
        vectors, num_tokens = [], 0
        with torch.inference_mode():
            for text in texts:
                tokens = self._text.encode(text)  # [1, tokens]
                check_length(tokens, self._model.config)
                hidden = self._model.get_decoder()(tokens, use_cache=False).last_hidden_state  # [1, tokens, hidden]
                mean = hidden[0].float().mean(0)
                vectors.append(torch.nn.functional.normalize(mean, dim=0).tolist())
                num_tokens += int(tokens.shape[1])
        return Embeddings(tuple(vectors), num_tokens)

    @contextlib.contextmanager
    def _conversing(
        self, prompt: torch.Tensor, max_tokens: int, request: ChatRequest, follower: Follower
    ) -> Iterator[Session]:
        """Lend the session of this conversation, and keep it unless the swarm fails."""
        tokens: list[int] = prompt[0].tolist()
        conversation = self._conversations.begin(tokens, len(tokens) + max_tokens, request.max_wait_s, request.owner)
        is_whole = False
        try:
            yield conversation.session
            is_whole = True
        finally:
            if is_whole:
                self._conversations.keep(conversation, tokens + follower.tokens)
            else:
                conversation.close()

    @contextlib.contextmanager
    def _hearing(self, on_wait: OnWait) -> Iterator[None]:
        """Report waits to `on_wait` for as long as the block runs."""
        key = object()
        self._waiting[key] = on_wait
        try:
            yield
        finally:
            self._waiting.pop(key, None)

    def _tell_waits(self, missing: tuple[Span, ...]) -> None:
        """Report a wait to everyone. One who is gone ends at its next token, and doesn't keep it from the others."""
        for on_wait in list(self._waiting.values()) if missing else ():
            with contextlib.suppress(OSError):
                on_wait(wait_text(missing))

    def _call_form(self, request: ChatRequest) -> CallForm | None:
        """Return how the model writes calls, if it is offered tools. Raises ToolsError if that is unknown."""
        if request.tools is None:
            return None
        template = self._text.template(has_tools=True)
        form = None if template is None else form_of(template)
        if form is None:
            why = "has no chat template" if template is None else "writes calls in no form that is known here, or none"
            raise ToolsError(f"this model {why}, so it cannot be given tools", hint="describe them in a message")
        return form

    def _grammar(self, request: ChatRequest, form: CallForm | None) -> Grammar | None:
        if form is not None and request.tools is not None and request.tools.must_call:
            return self._grammars.of_lark(call_grammar(request.tools.must_call, form))
        return None if request.schema is None else self._grammars.of_schema(request.schema)

    def _bias(self, request: ChatRequest) -> Bias | None:
        """Raises UsageError for tokens that the model doesn't have."""
        if not request.bias:
            return None
        size = self._model.config.get_text_config(decoder=True).vocab_size
        if unknown := [token for token, _ in request.bias if token >= size]:
            raise UsageError(f"logit_bias names token {unknown[0]}, but this model has {size}")
        return Bias(dict(request.bias))

    def _prompt(self, request: ChatRequest) -> torch.Tensor:
        """Apply the model's chat template, or use the plain text if it has none. Raises UsageError."""
        messages = request.messages
        if not messages:
            return self._text.encode(request.prompt)
        tools = None if request.tools is None else [tool.definition for tool in request.tools.offered]
        tokens = self._text.encode_chat([_templated(message) for message in messages], tools)
        if tokens is None and any(message.calls for message in messages):
            raise ToolsError("this model has no chat template, so it cannot be shown calls of tools")
        return tokens if tokens is not None else self._text.encode(plain_prompt(messages))


def _hops(session: Session) -> tuple[AnswerHop, ...]:
    """Return the servers of a session, in the order of their blocks."""
    hops = (hop for route in session.route() for hop in route.hops)
    return tuple(AnswerHop(hop.peer_id, hop.public_name, str(hop.span)) for hop in hops)


def _templated(message: ChatMessage) -> dict[str, Any]:
    """Return a message as chat templates expect it. They write the arguments of calls themselves."""
    calls = [
        {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": loads(call.arguments)}}
        for call in message.calls
    ]
    return (
        {"role": message.role, "content": message.content}
        | ({"tool_calls": calls} if calls else {})
        | ({"tool_call_id": message.call_id} if message.call_id is not None else {})
    )


def plain_prompt(messages: Sequence[ChatMessage]) -> str:
    """Return a prompt for a model without a chat template: a single message as it is, several as a script."""
    if len(messages) == 1:
        return messages[0].content
    lines = [f"{message.role.capitalize()}: {message.content}" for message in messages]
    return "\n".join([*lines, "Assistant:"])
