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
from potluck_gateway.formats import anthropic, embeddings, ollama, openai, responses
from potluck_gateway.formats.reading import MAX_BODY_BYTES, parse_object
from potluck_gateway.formats.writing import AnswerFormat, dumps, error_body, listed_model, model_list
from potluck_gateway.metrics import CONTENT_TYPE, GatewayMetrics
from potluck_gateway.streaming import refusal, stream, while_connected

_Parse = Callable[[bytes], ChatRequest]
_Format = Callable[[str, ChatRequest], AnswerFormat]
_Handler = Callable[[Request, bytes], Awaitable[ASGIApp]]
_REFUSALS: dict[str, Callable[[BadRequestError], dict[str, Any]]] = {  # beginning of a path -> body
    "/v1/messages": anthropic.message_error,
    "/api/": lambda error: {"error": str(error)},
    "": error_body,
}
_REPORT_S = 4  # shorter than the shortest time after which an unused gateway ends
_ONE_MODEL = "/v1/models/"
_MAX_HEAD_BYTES = 1 << 16
_OWNER_BYTES = 16
_UNFIT_FOR_HEADER = re.compile("[^ -~]")  # letters that no header may have


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """All choices of a request. `tokens`: of prompt and answers; `timed_tokens`: those that took `answer_s`."""

    key: str
    model: str
    tokens: int
    timed_tokens: int  # all but the first of each answer, which takes the prompt's time
    answer_s: float


class GatewayServer:
    """The gateway's server. It calls `on_use` when a request comes, and every few seconds while it answers one."""

    def __init__(
        self,
        models: OfferedModels,
        is_key: Callable[[str], bool],
        on_use: Callable[[], None],
        settings: GatewaySettings,
        *,
        max_tokens: int,
        num_near: Callable[[], float] = lambda: 0.0,
        on_answered: Callable[[AnsweredRequest], None] = lambda answered: None,
    ) -> None:
        """Open the port. Raises UsageError if it cannot.

        Args:
            is_key: returns whether a text is a key that lets a request in.
            settings: the address, who may ask, and how many at once.
            max_tokens: the limit of an answer whose request names none; a header reports it.
            num_near: returns the number of steps whose logits this computer's engine computed.
            on_answered: called after each answer.
        """
        self._models = models
        self._max_tokens = max_tokens
        self._answering = AnswerQueue(self._model, settings.at_once)
        self._on_asked = on_use
        self._on_answered = on_answered
        self.access = AccessControl(is_key, settings)
        self._secret = os.urandom(
            _OWNER_BYTES
        )  # servers see the names of owners, and could guess keys from plain hashes
        self._since = datetime.now(UTC).replace(microsecond=0)
        self._metrics = GatewayMetrics(self._num_open, lambda: self._answering.num_waiting, num_near)
        self._get_routes, self._post_routes = self._routes()
        self._socket = _listen(settings.address, settings.port)
        self.port: int = self._socket.getsockname()[1]
        self.url = gateway_url(settings.address, self.port)
        for_pages = CORSMiddleware(  # answers that let web pages of these origins use the gateway
            self._serve,
            allow_origins=settings.origins,
            allow_methods=("GET", "HEAD", "POST"),
            allow_headers=("*",),
            allow_private_network=True,
        )
        self._server = uvicorn.Server(
            uvicorn.Config(
                for_pages,
                http=cast(Any, partial(GatewayConnection, self.access)),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=self.access.backlog,
                callback_notify=self._report_use,
                timeout_notify=_REPORT_S,
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

    async def _report_use(self) -> None:
        """Report that requests are being answered. uvicorn calls this every few seconds."""
        if self._num_open():
            self._on_asked()

    def _num_open(self) -> int:
        return len(self._server.server_state.tasks)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as uvicorn calls it."""

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"] if scope["path"] in {*self._get_routes, *self._post_routes} else "other"
                self._metrics.requests.labels(path, message["status"]).inc()
            await send(message)

        try:
            scope = self.access.admit(scope)
            if scope["key"]:  # a probe keeps nothing awake
                self._on_asked()
            await self._respond(Request(scope, receive), count)
        except Exception as error:
            await _refused(scope["path"], refusal(error))(scope, receive, count)

    async def _respond(self, request: Request, send: Send) -> None:
        """Send the answer, or raise before anything is sent."""
        method, path = request.method, request.scope["path"].rstrip("/") or "/"
        if method == "POST" and path in self._post_routes:
            body = await _body(request)
            async with while_connected(request.receive):
                response = await self._post_routes[path](request, body)
                await response(request.scope, request.receive, send)
        elif method in ("GET", "HEAD") and (path in self._get_routes or path.startswith(_ONE_MODEL)):
            handle = self._get_routes.get(path) or partial(self._one_model, path.removeprefix(_ONE_MODEL))
            await handle()(request.scope, request.receive, send)
        else:
            raise BadRequestError(f"{method} {path[:64]} does not exist here", 404)

    def _routes(self) -> tuple[dict[str, Callable[[], Response]], dict[str, _Handler]]:
        """Return the handlers of paths with GET, and of paths with POST."""
        get: dict[str, Callable[[], Response]] = {
            "/": lambda: PlainTextResponse("Ollama is running"),  # programs look for this text
            "/health": lambda: _json({"status": "ok"}),
            "/metrics": lambda: Response(self._metrics.page(), media_type=CONTENT_TYPE),
            "/v1/models": lambda: _json(model_list(self._entries(listed_model))),
            "/api/version": lambda: _json({"version": ollama.VERSION}),
            "/api/tags": lambda: _json({"models": self._entries(ollama.model_entry)}),
            "/api/ps": lambda: _json({"models": self._entries(ollama.model_entry)}),
        }
        post: dict[str, _Handler] = {
            "/v1/chat/completions": partial(self._answer, openai.parse_chat, openai.ChatFormat),
            "/v1/completions": partial(self._answer, openai.parse_completion, openai.CompletionFormat),
            "/v1/responses": partial(self._answer, responses.parse_response_request, responses.ResponseFormat),
            "/v1/messages": partial(self._answer, anthropic.parse_message_request, anthropic.MessageFormat),
            "/api/chat": partial(self._answer, ollama.parse_ollama, partial(ollama.OllamaFormat, is_chat=True)),
            "/api/generate": partial(self._answer, ollama.parse_ollama, partial(ollama.OllamaFormat, is_chat=False)),
            "/v1/embeddings": partial(self._embed, False),
            "/api/embed": partial(self._embed, True),
            "/api/embeddings": partial(self._embed, True),
            "/v1/messages/count_tokens": self._count_tokens,
            "/api/show": self._show,
        }
        return get, post

    def _one_model(self, wanted: str) -> Response:
        name = self._models.find(wanted)
        return _json(listed_model(name, self._models.facts(name), self._since))

    async def _answer(self, parse: _Parse, form: _Format, request: Request, body: bytes) -> ASGIApp:
        name, parsed = await self._parsed(parse, request, body)
        limit = {"X-Potluck-Max-Tokens": str(self._max_tokens)} if parsed.max_tokens is None else {}
        headers = limit | _ignored_header(parsed.ignored)
        if parsed.is_streamed:
            return partial(stream, partial(self._answers, name, request, parsed), form(name, parsed), headers)
        answers = await self._answers(name, request, parsed, lambda _: None)
        return _json(form(name, parsed).whole(answers), headers=headers)

    async def _parsed(self, parse: _Parse, request: Request, body: bytes) -> tuple[str, ChatRequest]:
        """Return the name of the model that is meant, and the request with its owner."""
        parsed = await asyncio.to_thread(parse, body)  # a thread, because parsing a large request takes long
        owner = blake2b(request.scope["key"].encode(), key=self._secret, digest_size=_OWNER_BYTES).hexdigest()
        return self._models.find(parsed.model), replace(parsed, owner=owner)

    async def _answers(
        self, name: str, request: Request, parsed: ChatRequest, emit: Callable[[AnswerEvent], None]
    ) -> Answers:
        """Return the answers, and count their tokens."""
        answers = await self._answering.answer(name, parsed, emit)
        prompt_tokens = sum(answer.prompt_tokens for answer in answers[:: parsed.num_choices])
        answer_tokens = sum(answer.answer_tokens for answer in answers)
        timed_tokens, answer_s = answer_tokens - len(answers), sum(answer.answer_s for answer in answers)
        self._metrics.count_tokens(prompt=prompt_tokens, answer=answer_tokens)
        self._metrics.add_answer_time(answer_s)
        self._on_answered(
            AnsweredRequest(request.scope["key"], name, prompt_tokens + answer_tokens, timed_tokens, answer_s)
        )
        return answers

    async def _embed(self, is_ollama: bool, _: Request, body: bytes) -> Response:
        parsed = await asyncio.to_thread(embeddings.parse_embeddings, body, is_ollama=is_ollama)
        write = embeddings.ollama_embed if is_ollama else embeddings.embedding_list
        name = self._models.find(parsed.model)

        def embedded(model: ChatModel) -> tuple[int, Response]:
            found = model.embed(parsed.texts, is_cut=parsed.truncate)
            return found.num_tokens, _json(write(name, parsed, found), headers=_ignored_header(parsed.ignored))

        num_tokens, response = await self._answering.run(name, embedded)
        self._metrics.count_tokens(embedding=num_tokens)
        return response

    async def _count_tokens(self, request: Request, body: bytes) -> Response:
        name, parsed = await self._parsed(anthropic.parse_message_request, request, body)
        count = await self._answering.prepare(name, lambda model: model.count(parsed))
        return _json({"input_tokens": count})

    async def _show(self, _: Request, body: bytes) -> Response:
        parsed = await asyncio.to_thread(parse_object, body)
        name = self._models.find(str(parsed.get("model") or parsed.get("name") or ""))
        return _json(ollama.model_description(name, (await self._model(name)).facts))

    async def _model(self, name: str) -> ChatModel:
        return (await asyncio.wrap_future(self._models.load(name))).chat

    def _entries(self, entry: Callable[[str, ModelFacts | None, datetime], dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry(name, self._models.facts(name), self._since) for name in self._models.names()]


def _ignored_header(ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the header that lists fields without effect, which may have any name."""
    return {"X-Potluck-Ignored": _UNFIT_FOR_HEADER.sub("?", ", ".join(ignored))} if ignored else {}


def _listen(address: str, port: int) -> socket.socket:
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
        raise BadRequestError("the caller has gone", 499) from None
    except TimeoutError:
        raise BadRequestError("the request came too slowly", 408) from None
    raise BadRequestError(f"a request may have at most {MAX_BODY_BYTES} bytes", 413)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(dumps(value), status, headers, media_type="application/json")


def _refused(path: str, error: BadRequestError) -> Response:
    """Return a refusal that ends the connection, because the request's body may be unread."""
    again = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    write = next(write for start, write in _REFUSALS.items() if path.startswith(start))
    return _json(write(error), error.status, {"Connection": "close", **again})
