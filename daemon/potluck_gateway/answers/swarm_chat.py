"""Answers chat requests with a swarm's model: messages to tokens, tokens to text as it comes. Imports torch."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers.generation.logits_process import LogitsProcessor, SequenceBiasLogitsProcessor

from potluck.client import Session
from potluck.client.session.reports import wait_text
from potluck.errors import UsageError
from potluck.protocol.blocks import Span
from potluck_gateway.answers.completion import Options, TextTokenizer, check_length, complete, max_positions
from potluck_gateway.answers.conversations import Conversations, RememberedThinking
from potluck_gateway.answers.follower import AnswerEndedError, AnswerFollower, Scorer
from potluck_gateway.answers.grammar import Grammar, Grammars, closed
from potluck_gateway.answers.prompts import Prepared, Prompts
from potluck_gateway.answers.reader import AnswerReader
from potluck_gateway.answers.syntax import call_grammar
from potluck_gateway.exchange import (
    Answer,
    AnswerBegun,
    AnswerEvent,
    ChatMessage,
    ChatRequest,
    Embeddings,
    ModelFacts,
    PartKind,
    Prompt,
)

_WHOLE_TOKENS = 1024  # the longest text that is embedded in one call
_BEFORE = 8  # tokens of a prompt, with which the first ones of the answer are decoded


class SwarmChat:
    """The chat model of a swarm. Several threads may ask at once: servers compute the steps of sessions together."""

    def __init__(self, model: Any, text: TextTokenizer, *, max_tokens: int) -> None:
        """Store the model. `max_tokens`: the limit of an answer whose request names none."""
        self._model = model
        self._text = text
        self._prompts = Prompts(text, max_positions(model.config))
        self._ends = _end_tokens(model, text)
        self._grammars = Grammars(text.tokenizer, self._ends)
        self._conversations = Conversations(model)
        self._thinking = RememberedThinking()
        self._listeners: set[Callable[[AnswerEvent], None]] = set()  # those who wait for an answer
        config = model.config.get_text_config(decoder=True)
        self._vocabulary: int = config.vocab_size
        self.facts = ModelFacts(
            max_positions(model.config), max_tokens, config.hidden_size, model.config.model_type, self._prompts.thinks
        )
        model.tell_waits(self._report_wait)

    def answer(self, request: ChatRequest, emit: Callable[[AnswerEvent], None]) -> Answer:
        """Answer a request of messages or of one prompt. Raises PotluckError, and what `emit` raises."""
        prepared = self.prepare(request).prepared
        assert isinstance(prepared, Prepared)
        tokens: list[int] = prepared.tokens[0].tolist()
        grammar = self._grammar(request, prepared)
        scorer = None if request.num_top is None else Scorer(request.num_top, self._grammars.bytes_of)
        reader = AnswerReader(prepared.syntax, request.tools, special=self._text.added.values(), thinks=prepared.thinks)
        follower = AnswerFollower(
            self._text,
            request.stop,
            emit,
            reader,
            before=() if request.messages else tokens[-_BEFORE:],
            grammar=grammar,
            scorer=scorer,
        )
        options = self._options(request, prepared, (scorer, grammar))
        cached, details = 0, None
        emit(AnswerBegun(len(tokens)))
        if request.echoes:
            self._echo(request, prepared.tokens, follower, scorer)
        if options.max_new_tokens:
            with self._conversing(prepared.tokens[0], options.max_new_tokens, request, follower, emit) as session:
                cached = session.position
                with contextlib.suppress(AnswerEndedError):
                    complete(self._model, prepared.tokens, options, follower.add, session=session)
                details = _details(follower, session) if request.with_details else None
        answer = _finished(follower, reader, grammar, options)
        self._thinking.remember(request, ChatMessage("assistant", answer.text, answer.calls, thinking=answer.thinking))
        return replace(answer, prompt_tokens=len(tokens), cached_tokens=cached, details=details)

    def prepare(self, request: ChatRequest) -> ChatRequest:
        """Return a request of messages or of one prompt with its tokens. Raises PotluckError."""
        if request.prepared is not None:
            return request
        prepared = self._prompts.prepare(self._thinking.restored(request))
        check_length(prepared.tokens, self._model.config)
        return replace(request, prepared=prepared)

    def count(self, request: ChatRequest) -> int:
        """Return how many tokens the prompt of a request has. Raises PotluckError."""
        return int(self._prompts.prepare(self._thinking.restored(request)).tokens.shape[1])

    def embed(self, texts: Sequence[Prompt], *, is_cut: bool = False) -> Embeddings:
        """Return the mean of the last hidden states of each text, of length 1. Raises PotluckError."""
        vectors, num_tokens = [], 0
        with torch.inference_mode():
            for text in texts:
                tokens = self._prompts.encode(text, is_cut=is_cut)  # [1, tokens]
                if is_cut and self.facts.context_length is not None:
                    tokens = tokens[:, : self.facts.context_length - 1]
                check_length(tokens, self._model.config)
                mean = self._hidden(tokens)[0].float().mean(0)
                vectors.append(torch.nn.functional.normalize(mean, dim=0).tolist())
                num_tokens += int(tokens.shape[1])
        return Embeddings(tuple(vectors), num_tokens)

    def _hidden(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states [1, tokens, hidden_size]. A session ends a long text once its caller leaves."""
        decoder = self._model.get_decoder()
        if tokens.shape[1] <= _WHOLE_TOKENS:
            return torch.as_tensor(decoder(tokens, use_cache=False).last_hidden_state)
        with contextlib.closing(self._model.new_cache(tokens.shape[1], sharing=secrets.token_hex())) as cache:
            return torch.as_tensor(decoder(tokens, past_key_values=cache).last_hidden_state)

    def _options(self, request: ChatRequest, prepared: Prepared, steps: Sequence[LogitsProcessor | None]) -> Options:
        """Return the options of the completion. `steps`: what sees or changes scores before all others."""
        return Options(
            self._room(request, prepared.tokens),
            sampling=request.sampling,
            ends=request.stop_tokens if request.ignores_end else (*self._ends, *request.stop_tokens),
            steps=tuple(step for step in (*steps, self._bias(request)) if step is not None),
            drafts=True,
        )

    def _room(self, request: ChatRequest, tokens: torch.Tensor) -> int:
        """Return how many tokens the answer may have, within the request, the positions and the servers' memory."""
        length = int(tokens.shape[1])
        limit = self.facts.max_tokens if request.max_tokens is None else request.max_tokens
        served = self._model.longest_session()  # 0: not all blocks are served just now
        limits = [most - length for most in (self.facts.context_length, served) if most and most > length]
        return min([limit, *limits])

    def _echo(
        self, request: ChatRequest, tokens: torch.Tensor, follower: AnswerFollower, scorer: Scorer | None
    ) -> None:
        """Begin the answer with the prompt."""
        given: list[int] = tokens[0].tolist()
        pieces, scores = self._text.pieces(given), []
        if scorer is not None:
            with torch.inference_mode():
                logits = self._model(tokens, use_cache=False).logits[0]  # [tokens, vocabulary]
            scores = scorer.score_prompt(logits, given, pieces)
        follower.echo(pieces, scores)

    @contextlib.contextmanager
    def _conversing(
        self,
        tokens: torch.Tensor,
        max_tokens: int,
        request: ChatRequest,
        follower: AnswerFollower,
        emit: Callable[[AnswerEvent], None],
    ) -> Iterator[Session]:
        """Lend the session of this conversation, and keep it if the block succeeds. `emit` gets waits meanwhile.

        Shapes: tokens [tokens], int64.
        """
        conversation = self._conversations.begin(tokens, len(tokens) + max_tokens, request)
        self._listeners.add(emit)
        try:
            yield conversation.session
        except BaseException:
            conversation.close()
            raise
        else:
            self._conversations.keep(conversation, follower.completion.tokens)
        finally:
            self._listeners.discard(emit)

    def _report_wait(self, missing: tuple[Span, ...]) -> None:
        """Report a wait to every request. One whose caller has gone ends at its next token."""
        for emit in tuple(self._listeners) if missing else ():
            with contextlib.suppress(OSError):
                emit(wait_text(missing))

    def _grammar(self, request: ChatRequest, prepared: Prepared) -> Grammar | None:
        """Return the grammar of the answer, if the request has one. A forced call leaves no room for a text."""
        syntax, numbers = prepared.syntax, {text: number for number, text in self._text.added.items()}
        if syntax.calls is not None and request.tools is not None and request.tools.must_call:
            tools = [replace(tool, parameters=closed(tool.parameters)) for tool in request.tools.must_call]
            grammar = self._grammars.of_call(call_grammar(tools, syntax.calls, numbers))
        elif request.schema is not None:
            grammar = self._grammars.of_text(request.schema)
        else:
            return None
        begins = (syntax.thinking[0], *(syntax.calls.begins_with if syntax.calls is not None and request.tools else ()))
        grammar.openings = [numbers[tag] for tag in begins if tag in numbers]
        return grammar

    def _bias(self, request: ChatRequest) -> LogitsProcessor | None:
        """Raises UsageError for tokens that the model doesn't have."""
        bias = request.sampling.logit_bias
        if not bias:
            return None
        if unknown := [token for token in bias if token >= self._vocabulary]:
            raise UsageError(f"logit_bias names token {unknown[0]}, but this model has {self._vocabulary}")
        return SequenceBiasLogitsProcessor({(token,): more for token, more in bias.items()})


def _end_tokens(model: Any, text: TextTokenizer) -> tuple[int, ...]:
    """Return the tokens that end an answer, as any of the checkpoint's files says."""
    named = (
        model.config.get_text_config(decoder=True).eos_token_id,
        model.config.eos_token_id,
        model.generation_config.eos_token_id,
        text.tokenizer.eos_token_id,
    )
    each: Iterable[int] = (token for one in named for token in (one if isinstance(one, list) else [one]))
    return tuple(dict.fromkeys(token for token in each if token is not None))


def _finished(follower: AnswerFollower, reader: AnswerReader, grammar: Grammar | None, options: Options) -> Answer:
    """Pass the rest of an answer on and return the whole, except what only its request and its session know."""
    made = follower.completion
    is_ended = follower.is_stopped or made.tokens[-1:] in ([end] for end in options.ends or ())
    is_cut = len(made.tokens) >= options.max_new_tokens and not is_ended
    follower.finish(is_cut=is_cut)
    is_whole = grammar is None or follower.stop is not None or bool(reader.calls) or grammar.is_whole
    return Answer(
        "".join(follower.texts[PartKind.TEXT]),
        "length" if is_cut or not is_whole else "tool_calls" if reader.calls else "stop",
        prompt_tokens=0,
        answer_tokens=len(made.tokens),
        scores=tuple(follower.scores),
        calls=reader.calls,
        thinking="".join(follower.texts[PartKind.THINKING]),
        thinking_tokens=follower.thinking_tokens,
        stop=follower.stop,
        prompt_s=made.prompt_s,
        answer_s=made.decode_s,
    )


def _details(follower: AnswerFollower, session: Session) -> dict[str, Any]:
    """Return how an answer was made: its tokens, its speed, and the servers in the order of their blocks."""
    hops = (hop for route in session.route() for hop in route.hops)
    named = [{"peer_id": hop.peer_id, "name": hop.public_name, "blocks": str(hop.span)} for hop in hops]
    done = follower.completion
    return {"tokens": done.tokens, "tokens_per_s": round(done.tokens_per_s, 2), "route": named}
