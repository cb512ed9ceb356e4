"""Serves the gateway over HTTP with uvicorn and starlette. Prompts and answers are never logged."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar, cast

import uvicorn
from potluck_control.reach import gateway_url
from potluck_control.settings import GatewaySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from potluck.errors import PotluckError, UsageError
from potluck.p2p.ports import ANY
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_gateway.answers.answer import ModelFacts, Part
from potluck_gateway.answers.answering import Answering
from potluck_gateway.answers.models import Models
from potluck_gateway.door import Door, Guard, for_pages
from potluck_gateway.formats import chat, completions, embeddings, listing, messages, ollama, responses
from potluck_gateway.formats.embeddings import EmbeddingRequest, Embeddings
from potluck_gateway.formats.fields import MAX_BODY_BYTES, parse_object
from potluck_gateway.formats.writing import AnswerFormat, dumps, error_body
from potluck_gateway.metrics import CONTENT_TYPE, GatewayMetrics
from potluck_gateway.reply import SOCKET_TIMEOUT_S, Parts, Reply, refusal, while_connected
from potluck_gateway.requests import BadRequestError, ChatRequest

R = TypeVar("R")
_Parse = Callable[[bytes], ChatRequest]
_Format = Callable[[str, ChatRequest], AnswerFormat]
_ParseTexts = Callable[[bytes], EmbeddingRequest]
_WriteVectors = Callable[[str, EmbeddingRequest, Embeddings], dict[str, Any]]
_ANSWERS: dict[str, tuple[_Parse, _Format]] = {
    "/v1/chat/completions": (chat.parse_chat, chat.ChatFormat),
    "/v1/completions": (completions.parse_completion, completions.CompletionFormat),
    "/v1/responses": (responses.parse_response_request, responses.ResponseFormat),
    "/v1/messages": (messages.parse_message_request, messages.MessageFormat),
    "/api/chat": (ollama.parse_ollama_chat, partial(ollama.OllamaFormat, is_chat=True)),
    "/api/generate": (ollama.parse_ollama_generate, partial(ollama.OllamaFormat, is_chat=False)),
}
_parse_ollama = partial(embeddings.parse_embeddings, is_ollama=True)
_EMBEDDINGS: dict[str, tuple[_ParseTexts, _WriteVectors]] = {
    "/v1/embeddings": (embeddings.parse_embeddings, embeddings.embedding_list),
    "/api/embed": (_parse_ollama, embeddings.ollama_embed),
    "/api/embeddings": (_parse_ollama, embeddings.ollama_embeddings),
}
_REFUSALS: dict[str, Callable[[BadRequestError], dict[str, Any]]] = {  # beginning of a path -> body
    "/v1/messages": messages.message_error,
    "/api/": lambda error: {"error": str(error)},
    "": lambda error: error_body(error.sentence, error.status, error.code),
}
TELL_S = 4.0  # shorter than the shortest time after which an unused gateway ends
_TEND_S = 0.5
_ANY_PORT = GatewaySettings(port=0)
_BACKLOG = 128
_MAX_HEAD_BYTES = 1 << 16
_MAX_LENGTH_DIGITS = 12
_OWNER_BYTES = 16
_UNFIT = re.compile("[^ -~]")  # for a header


class GatewayServer:
    """The gateway's server. It calls `on_asked` every few seconds while it answers a request, and at the end."""

    def __init__(
        self,
        models: Models,
        is_key: Callable[[str], bool],
        on_asked: Callable[[], None],
        settings: GatewaySettings = _ANY_PORT,
        *,
        max_tokens: int,
        on_answered: Callable[[str, int], None] = lambda key, tokens: None,
    ) -> None:
        """Open the port. Raises UsageError if that cannot be listened on.

        Args:
            is_key: whether a text is a key that lets a request in.
            on_answered: called after each answer with the key and the tokens of prompt and answer.
            settings: where to listen, who may ask, and how many at once.
            max_tokens: of an answer whose request names no limit; a header tells it.
        """
        self._models = models
        self._max_tokens = max_tokens
        self._answering = Answering(models.model, settings.at_once)
        self._on_asked = on_asked
        self._on_answered = on_answered
        self._open = 0  # requests
        self._told_at = 0.0
        self.door = Door()
        self._secret = os.urandom(_OWNER_BYTES)  # servers see the names of owners, and may guess keys
        self._guard = Guard(self.door, is_key, settings.hosts, settings.origins)
        self._since = datetime.now(UTC).replace(microsecond=0)
        self._metrics = GatewayMetrics(lambda: self._open, lambda: self._answering.num_waiting)
        routes = self._routes()
        self._paths = {route.path for route in routes}
        self._app = Starlette(routes=routes, exception_handlers={BadRequestError: _refuse, HTTPException: _refuse_path})
        self._socket = _listening(settings.address, settings.port)
        self.port: int = self._socket.getsockname()[1]
        self.url = gateway_url(settings.address, self.port)
        self._server = uvicorn.Server(
            uvicorn.Config(
                for_pages(self._serve, settings.origins),
                interface="asgi3",
                http=cast(Any, self.door.protocol),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=int(SOCKET_TIMEOUT_S),
                timeout_graceful_shutdown=1,
                h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
            )
        )

    def run(self) -> None:
        """Serve until `stop`."""
        asyncio.run(self._run())

    def stop(self) -> None:
        """End `run`. Any thread may call this."""
        self._server.should_exit = True

    async def _run(self) -> None:
        tending = start_task(keep_running("ending old conversations", self._tend))
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            await cancel_and_wait(tending)
            self.close()

    def close(self) -> None:
        """Give up the port of a server that doesn't run."""
        self._socket.close()

    async def _tend(self) -> None:
        """Report a long answer again, and end late strangers."""
        while True:
            await asyncio.sleep(_TEND_S)
            self.door.end_late()
            if self._open and time.monotonic() - self._told_at > TELL_S:
                self._tell()

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        self._on_asked()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Report that a request is being answered, for as long as the block runs."""
        self._open += 1
        self._tell()
        try:
            yield
        finally:
            self._open -= 1
            self._tell()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as uvicorn calls it."""

        async def count(message: Message) -> None:
            if message["type"] == "http.response.start":
                path = scope["path"] if scope["path"] in self._paths else "other"
                self._metrics.requests.labels(path, message["status"]).inc()
            await send(message)

        try:
            scope = self._guard.admit(scope)
        except BadRequestError as error:
            await _refuse(Request(scope), error)(scope, receive, count)
            return
        with self._asking() if scope["key"] else nullcontext():  # a probe doesn't keep the gateway awake
            await self._app(scope, receive, count)

    def _routes(self) -> list[Route]:
        told: dict[str, Callable[[], Response]] = {
            "/": lambda: PlainTextResponse("Ollama is running"),  # programs look for this text
            "/health": lambda: _json({"status": "ok"}),
            "/metrics": lambda: Response(self._metrics.page(), media_type=CONTENT_TYPE),
            "/v1/models": lambda: _json(listing.model_list(self._each(listing.listed_model))),
            "/api/version": lambda: _json({"version": ollama.VERSION}),
            "/api/tags": lambda: _json({"models": self._each(ollama.model_entry)}),
            "/api/ps": lambda: _json({"models": self._each(ollama.model_entry)}),
        }
        asked: dict[str, Callable[[Request], Awaitable[ASGIApp]]] = {
            **{path: partial(self._answer, *how) for path, how in _ANSWERS.items()},
            **{path: partial(self._embed, *how) for path, how in _EMBEDDINGS.items()},
            "/v1/messages/count_tokens": self._count_tokens,
            "/api/show": self._show,
        }
        return [
            *(Route(path, partial(self._state, tell)) for path, tell in told.items()),
            *(Route(path, answer, methods=["POST"]) for path, answer in asked.items()),
            Route("/v1/models/{name:path}", self._one_model),
        ]

    async def _state(self, tell: Callable[[], Response], _: Request) -> Response:
        return tell()

    async def _one_model(self, request: Request) -> Response:
        name = self._find(request.path_params["name"])
        return _json(listing.listed_model(name, self._models.facts(name), self._since))

    async def _answer(self, parse: _Parse, form: _Format, request: Request) -> Reply:
        asked = parse(await _body(request))
        name, key = self._find(asked.model), request.scope["key"]
        owner = blake2b(key.encode(), key=self._secret, digest_size=_OWNER_BYTES).hexdigest()
        asked = replace(asked, model=name, owner=owner)
        limit = {"X-Potluck-Max-Tokens": str(self._max_tokens)} if asked.max_tokens is None else {}
        parts = self._counted(self._answering.parts(asked), key, asked.num_choices)
        return Reply(parts, form(name, asked), is_streamed=asked.is_streamed, headers=limit | _named(asked.ignored))

    async def _embed(self, parse: _ParseTexts, write: _WriteVectors, request: Request) -> Response:
        asked = parse(await _body(request))
        name = self._find(asked.model)
        found = await self._done(request, lambda: self._models.model(name).embed(asked.texts, is_cut=asked.is_cut))
        self._metrics.note_tokens(embedding=found.num_tokens)
        return _json(write(name, asked, found), 200, _named(asked.ignored))

    async def _count_tokens(self, request: Request) -> Response:
        asked = messages.parse_message_request(await _body(request))
        name = self._find(asked.model)
        return _json({"input_tokens": await self._done(request, lambda: self._models.model(name).count(asked))})

    async def _show(self, request: Request) -> Response:
        asked = parse_object(await _body(request))
        name = self._find(str(asked.get("model") or asked.get("name") or ""))
        facts = await self._done(request, lambda: self._models.model(name).facts)
        return _json(ollama.model_description(name, facts))

    async def _done(self, request: Request, work: Callable[[], R]) -> R:
        """Return what `work` returns in a thread that answers. Raises BadRequestError."""
        try:
            done = await while_connected(request.receive, self._answering.run(work))
        except PotluckError as error:
            raise refusal(error) from error
        if done is None:
            raise BadRequestError("the caller is gone", 499)
        return done

    async def _counted(self, parts: Parts, key: str, num_choices: int) -> Parts:
        """Yield the parts, and count the tokens of whole answers and the time to the first part."""
        begun, has_begun = time.monotonic(), False
        async with aclosing(parts):  # type: ignore[type-var]
            async for item in parts:
                if isinstance(item, Part) and not has_begun:
                    has_begun = True
                    self._metrics.first_token.observe(time.monotonic() - begun)
                if isinstance(item, tuple):
                    prompt_tokens = sum(answer.prompt_tokens for answer in item[::num_choices])
                    answer_tokens = sum(answer.answer_tokens for answer in item)
                    self._metrics.note_tokens(prompt=prompt_tokens, answer=answer_tokens)
                    self._on_answered(key, prompt_tokens + answer_tokens)
                yield item

    def _each(self, entry: Callable[[str, ModelFacts | None, datetime], dict[str, Any]]) -> list[dict[str, Any]]:
        return [entry(name, self._models.facts(name), self._since) for name in self._models.names()]

    def _find(self, wanted: str | None) -> str:
        """Return the name of the model that a request means. Raises BadRequestError."""
        return self._models.find((wanted or "").removesuffix(":latest"))  # as programs of Ollama call it


def _named(ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the header that names fields without effect, which may have any name."""
    return {"X-Potluck-Ignored": _UNFIT.sub("?", ", ".join(ignored))} if ignored else {}


def _listening(address: str, port: int) -> socket.socket:
    """Listen at the port, even if connections of an earlier gateway linger there. Raises UsageError."""
    family, is_any = (socket.AF_INET6 if ":" in address else socket.AF_INET), address == ANY[1]
    try:
        return socket.create_server((address, port), family=family, backlog=_BACKLOG, dualstack_ipv6=is_any)
    except OSError as error:
        text = sentence("gateway.address {address} cannot be listened on: {why}", address=address, why=error.strerror)
        raise UsageError(text) from error


async def _body(request: Request) -> bytes:
    """Return the body of a request. Raises BadRequestError if it is too large or comes too slowly."""
    length = request.headers.get("content-length", "0")
    if len(length) > _MAX_LENGTH_DIGITS or int(length) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    pieces = request.stream()
    try:
        while True:
            async with asyncio.timeout(SOCKET_TIMEOUT_S):
                body += await anext(pieces)
            if len(body) > MAX_BODY_BYTES:
                raise _too_large()
    except StopAsyncIteration:
        return bytes(body)
    except ClientDisconnect:
        raise BadRequestError("the caller is gone", 499) from None
    except TimeoutError:
        raise BadRequestError("the request came too slowly", 408) from None


def _too_large() -> BadRequestError:
    return BadRequestError(f"a request may have at most {MAX_BODY_BYTES} bytes", 413)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(dumps(value), status, headers, media_type="application/json")


def _refuse(request: Request, error: Exception) -> Response:
    """Say why a request is refused, and end its connection, because its body may be unread."""
    assert isinstance(error, BadRequestError)
    again = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    write = next(write for start, write in _REFUSALS.items() if request.url.path.startswith(start))
    return _json(write(error), error.status, {"Connection": "close", **again})


def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refuse(
        request, BadRequestError(f"{request.method} {request.url.path[:64]} does not exist here", error.status_code)
    )
