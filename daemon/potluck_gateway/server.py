"""Serves the gateway over HTTP with uvicorn. Prompts and answers are never logged."""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Any, cast

import uvicorn
from potluck_control.processes.gateway_messages import gateway_url
from potluck_control.settings import GatewaySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from potluck.errors import UsageError
from potluck.p2p.listening import ANY
from potluck.sentences import sentence
from potluck_gateway.access import SOCKET_TIMEOUT_S, AccessControl, GatewayConnection
from potluck_gateway.answers.answer_queue import AnswerQueue, ChatModel
from potluck_gateway.answers.models import OfferedModels
from potluck_gateway.exchange import AnswerEvent, Answers, BadRequestError, ChatRequest, ModelFacts
from potluck_gateway.formats import anthropic as messages
from potluck_gateway.formats import embeddings, ollama, responses
from potluck_gateway.formats import openai as chat
from potluck_gateway.formats import openai as completions
from potluck_gateway.formats import writing as listing
from potluck_gateway.formats.reading import MAX_BODY_BYTES, parse_object
from potluck_gateway.formats.writing import AnswerFormat, dumps, error_body
from potluck_gateway.metrics import CONTENT_TYPE, GatewayMetrics
from potluck_gateway.streaming import refusal, stream, while_connected

_Parse = Callable[[bytes], ChatRequest]
_Format = Callable[[str, ChatRequest], AnswerFormat]
_Ask = Callable[[Request, bytes], Awaitable[ASGIApp]]
_REFUSALS: dict[str, Callable[[BadRequestError], dict[str, Any]]] = {  # beginning of a path -> body
    "/v1/messages": messages.message_error,
    "/api/": lambda error: {"error": str(error)},
    "": error_body,
}
_TELL_S = 4  # shorter than the shortest time after which an unused gateway ends
_ONE_MODEL = "/v1/models/"
_MAX_HEAD_BYTES = 1 << 16
_OWNER_BYTES = 16
_UNFIT = re.compile("[^ -~]")  # for a header


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """All choices of a request. `tokens`: of prompt and answers; `timed_tokens`: those that took `answer_s`."""

    key: str
    model: str
    tokens: int
    timed_tokens: int  # all but the first of each answer, for which the prompt is computed
    answer_s: float


class GatewayServer:
    """The gateway's server. It calls `on_asked` every few seconds while it answers a request."""

    def __init__(
        self,
        models: OfferedModels,
        is_key: Callable[[str], bool],
        on_asked: Callable[[], None],
        settings: GatewaySettings,
        *,
        max_tokens: int,
        num_near: Callable[[], float] = lambda: 0.0,
        on_answered: Callable[[AnsweredRequest], None] = lambda answered: None,
    ) -> None:
        """Open the port. Raises UsageError if that cannot be listened on.

        Args:
            is_key: whether a text is a key that lets a request in.
            num_near: steps whose logits this computer's engine computed.
            on_answered: called after each answer.
            settings: where to listen, who may ask, and how many at once.
            max_tokens: of an answer whose request names no limit; a header tells it.
        """
        self._models = models
        self._max_tokens = max_tokens
        self._answering = AnswerQueue(self._model, settings.at_once)
        self._on_asked = on_asked
        self._on_answered = on_answered
        self.door = AccessControl(is_key, settings)
        self._secret = os.urandom(_OWNER_BYTES)  # servers see the names of owners, and may guess keys
        self._since = datetime.now(UTC).replace(microsecond=0)
        self._metrics = GatewayMetrics(self._num_open, lambda: self._answering.num_waiting, num_near)
        self._told, self._asked = self._paths()
        self._socket = _listening(settings.address, settings.port)
        self.port: int = self._socket.getsockname()[1]
        self.url = gateway_url(settings.address, self.port)
        for_pages = CORSMiddleware(  # the answers by which browsers let web pages of these origins use it
            self._serve,
            allow_origins=settings.origins,
            allow_methods=("GET", "HEAD", "POST"),
            allow_headers=("*",),
            allow_private_network=True,
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                for_pages,
                http=cast(Any, partial(GatewayConnection, self.door)),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=self.door.backlog,
                callback_notify=self._tell,
                timeout_notify=_TELL_S,
                timeout_keep_alive=int(SOCKET_TIMEOUT_S),
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            )
        )

    def run(self) -> None:
        """Serve until `stop`."""
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """End `run`. Any thread may call this."""
        self._server.should_exit = True

    async def _tell(self) -> None:
        """Report again that requests are being answered. uvicorn calls this every few seconds."""
        if self._num_open():
            self._on_asked()

    def _num_open(self) -> int:
        return len(self._server.server_state.tasks)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as uvicorn calls it."""

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"] if scope["path"] in {*self._told, *self._asked} else "other"
                self._metrics.requests.labels(path, message["status"]).inc()
            await send(message)

        try:
            scope = self.door.admit(scope)
            if scope["key"]:  # a probe keeps nothing awake
                self._on_asked()
            await self._respond(Request(scope, receive), count)
        except Exception as error:
            await _refused(scope["path"], refusal(error))(scope, receive, count)

    async def _respond(self, request: Request, send: Send) -> None:
        """Send the answer, or raise before anything is sent."""
        method, path = request.method, request.scope["path"].rstrip("/") or "/"
        if method == "POST" and path in self._asked:
            body = await _body(request)
            async with while_connected(request.receive):
                response = await self._asked[path](request, body)
                await response(request.scope, request.receive, send)
        elif method in ("GET", "HEAD") and (path in self._told or path.startswith(_ONE_MODEL)):
            tell = self._told.get(path) or partial(self._one_model, path.removeprefix(_ONE_MODEL))
            await tell()(request.scope, request.receive, send)
        else:
            raise BadRequestError(f"{method} {path[:64]} does not exist here", 404)

    def _paths(self) -> tuple[dict[str, Callable[[], Response]], dict[str, _Ask]]:
        """Return what is told with GET, and what is asked with POST."""
        told: dict[str, Callable[[], Response]] = {
            "/": lambda: PlainTextResponse("Ollama is running"),  # programs look for this text
            "/health": lambda: _json({"status": "ok"}),
            "/metrics": lambda: Response(self._metrics.page(), media_type=CONTENT_TYPE),
            "/v1/models": lambda: _json(listing.model_list(self._each(listing.listed_model))),
            "/api/version": lambda: _json({"version": ollama.VERSION}),
            "/api/tags": lambda: _json({"models": self._each(ollama.model_entry)}),
            "/api/ps": lambda: _json({"models": self._each(ollama.model_entry)}),
        }
        asked: dict[str, _Ask] = {
            "/v1/chat/completions": partial(self._answer, chat.parse_chat, chat.ChatFormat),
            "/v1/completions": partial(self._answer, completions.parse_completion, completions.CompletionFormat),
            "/v1/responses": partial(self._answer, responses.parse_response_request, responses.ResponseFormat),
            "/v1/messages": partial(self._answer, messages.parse_message_request, messages.MessageFormat),
            "/api/chat": partial(self._answer, ollama.parse_ollama, partial(ollama.OllamaFormat, is_chat=True)),
            "/api/generate": partial(self._answer, ollama.parse_ollama, partial(ollama.OllamaFormat, is_chat=False)),
            "/v1/embeddings": partial(self._embed, False),
            "/api/embed": partial(self._embed, True),
            "/api/embeddings": partial(self._embed, True),
            "/v1/messages/count_tokens": self._count_tokens,
            "/api/show": self._show,
        }
        return told, asked

    def _one_model(self, wanted: str) -> Response:
        name = self._models.find(wanted)
        return _json(listing.listed_model(name, self._models.facts(name), self._since))

    async def _answer(self, parse: _Parse, form: _Format, request: Request, body: bytes) -> ASGIApp:
        name, asked = await self._asked_for(parse, request, body)
        limit = {"X-Potluck-Max-Tokens": str(self._max_tokens)} if asked.max_tokens is None else {}
        headers = limit | _named(asked.ignored)
        if asked.is_streamed:
            return partial(stream, partial(self._answers, name, request, asked), form(name, asked), headers)
        answers = await self._answers(name, request, asked, lambda _: None)
        return _json(form(name, asked).whole(answers), headers=headers)

    async def _asked_for(self, parse: _Parse, request: Request, body: bytes) -> tuple[str, ChatRequest]:
        """Return the name of the model that is asked, and the request with whose it is."""
        asked = await asyncio.to_thread(parse, body)  # so that a large one holds up nobody else
        owner = blake2b(request.scope["key"].encode(), key=self._secret, digest_size=_OWNER_BYTES).hexdigest()
        return self._models.find(asked.model), replace(asked, owner=owner)

    async def _answers(
        self, name: str, request: Request, asked: ChatRequest, tell: Callable[[AnswerEvent], None]
    ) -> Answers:
        """Return the answers, and count their tokens."""
        answers = await self._answering.answer(name, asked, tell)
        prompt_tokens = sum(answer.prompt_tokens for answer in answers[:: asked.num_choices])
        answer_tokens = sum(answer.answer_tokens for answer in answers)
        timed_tokens, answer_s = answer_tokens - len(answers), sum(answer.answer_s for answer in answers)
        self._metrics.note_tokens(prompt=prompt_tokens, answer=answer_tokens)
        self._metrics.note_answer_s(answer_s)
        self._on_answered(
            AnsweredRequest(request.scope["key"], name, prompt_tokens + answer_tokens, timed_tokens, answer_s)
        )
        return answers

    async def _embed(self, is_ollama: bool, _: Request, body: bytes) -> Response:
        asked = await asyncio.to_thread(embeddings.parse_embeddings, body, is_ollama=is_ollama)
        write = embeddings.ollama_embed if is_ollama else embeddings.embedding_list
        name = self._models.find(asked.model)

        def embedded(model: ChatModel) -> tuple[int, Response]:
            found = model.embed(asked.texts, is_cut=asked.truncate)
            return found.num_tokens, _json(write(name, asked, found), headers=_named(asked.ignored))

        num_tokens, response = await self._answering.run(name, embedded)
        self._metrics.note_tokens(embedding=num_tokens)
        return response

    async def _count_tokens(self, request: Request, body: bytes) -> Response:
        name, asked = await self._asked_for(messages.parse_message_request, request, body)
        count = await self._answering.prepare(name, lambda model: model.count(asked))
        return _json({"input_tokens": count})

    async def _show(self, _: Request, body: bytes) -> Response:
        asked = await asyncio.to_thread(parse_object, body)
        name = self._models.find(str(asked.get("model") or asked.get("name") or ""))
        return _json(ollama.model_description(name, (await self._model(name)).facts))

    async def _model(self, name: str) -> ChatModel:
        return (await asyncio.wrap_future(self._models.load(name))).chat

    def _each(self, entry: Callable[[str, ModelFacts | None, datetime], dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry(name, self._models.facts(name), self._since) for name in self._models.names()]


def _named(ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the header that names fields without effect, which may have any name."""
    return {"X-Potluck-Ignored": _UNFIT.sub("?", ", ".join(ignored))} if ignored else {}


def _listening(address: str, port: int) -> socket.socket:
    """Listen at the port, even if connections of an earlier gateway linger there. Raises UsageError."""
    family, is_any = (socket.AF_INET6 if ":" in address else socket.AF_INET), address == ANY[1]
    try:
        return socket.create_server((address, port), family=family, dualstack_ipv6=is_any)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = sentence("another program uses port {port}", port=port)
            hint = sentence("choose another one: potluck config set gateway.port {other}", other=port + 1)
            raise UsageError(text, hint=hint) from error
        why = os.strerror(error.errno or 0)  # the error's own text repeats the address
        text = sentence("gateway.address {address} cannot be listened on: {why}", address=address, why=why)
        raise UsageError(text) from error


async def _body(request: Request) -> bytes:
    """Return the body of a request. Raises BadRequestError if it is too large or comes too slowly."""
    body, size, pieces = bytearray(), int(request.headers.get("content-length", "0")), request.stream()
    try:
        while max(size, len(body)) <= MAX_BODY_BYTES:
            async with asyncio.timeout(SOCKET_TIMEOUT_S):
                piece = await anext(pieces, None)
            if piece is None:
                return bytes(body)
            body += piece
    except ClientDisconnect:
        raise BadRequestError("the caller is gone", 499) from None
    except TimeoutError:
        raise BadRequestError("the request came too slowly", 408) from None
    raise BadRequestError(f"a request may have at most {MAX_BODY_BYTES} bytes", 413)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(dumps(value), status, headers, media_type="application/json")


def _refused(path: str, error: BadRequestError) -> Response:
    """Say why a request is refused, and end its connection, because its body may be unread."""
    again = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    write = next(write for start, write in _REFUSALS.items() if path.startswith(start))
    return _json(write(error), error.status, {"Connection": "close", **again})
