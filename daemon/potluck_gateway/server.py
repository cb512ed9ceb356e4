"""Serves the gateway over HTTP with uvicorn and starlette. Prompts and answers are never logged."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b
from typing import Any, cast

import uvicorn
from potluck_control.reach import gateway_url
from potluck_control.settings import GatewaySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from potluck.errors import PotluckError, UsageError
from potluck.p2p.ports import ANY
from potluck.sentences import sentence
from potluck.tasks import cancel_and_wait, keep_running, start_task
from potluck_gateway import requests
from potluck_gateway.answers.answering import Answering
from potluck_gateway.answers.models import Models
from potluck_gateway.door import Door, Guard, for_pages
from potluck_gateway.formats.chat import ChatFormat, parse_chat
from potluck_gateway.formats.completions import CompletionFormat, parse_completion
from potluck_gateway.formats.embeddings import (
    EmbeddingRequest,
    Embeddings,
    embedding_list,
    ollama_embeddings,
    parse_embedding_request,
)
from potluck_gateway.formats.ollama import (
    VERSION,
    OllamaFormat,
    model_entry,
    parse_ollama_chat,
    parse_ollama_generate,
)
from potluck_gateway.formats.responses import ResponseFormat, parse_response_request
from potluck_gateway.formats.writing import AnswerFormat, dumps, error_body
from potluck_gateway.reply import SOCKET_TIMEOUT_S, Parts, Reply, refusal, while_connected
from potluck_gateway.requests import BadRequestError, ChatRequest

TELL_S = 4.0  # shorter than the shortest time after which an unused gateway ends
_TEND_S = 0.5
_ANY_PORT = GatewaySettings(port=0)
_BACKLOG = 128
_MAX_HEAD_BYTES = 1 << 16
_MAX_LENGTH_DIGITS = 12
_OWNER_BYTES = 16


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
        """Open the port, or another one if it is taken. Raises UsageError if the address cannot be listened on.

        Args:
            is_key: whether a text is a key that lets a request in.
            on_answered: called after each answer with the key and the tokens of prompt and answer.
            settings: where to listen, and who may ask.
            max_tokens: of one answer.
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
        self._app = Starlette(
            routes=[
                Route("/v1/models", self._list_models),
                Route("/v1/models/{name:path}", self._one_model),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/completions", self._completion, methods=["POST"]),
                Route("/v1/responses", self._response, methods=["POST"]),
                Route("/v1/embeddings", self._embeddings, methods=["POST"]),
                Route("/api/version", self._ollama_version),
                Route("/api/tags", self._ollama_tags),
                Route("/api/show", self._ollama_show, methods=["POST"]),
                Route("/api/chat", self._ollama_chat, methods=["POST"]),
                Route("/api/generate", self._ollama_generate, methods=["POST"]),
                Route("/api/embed", self._ollama_embed, methods=["POST"]),
            ],
            exception_handlers={BadRequestError: _refuse, HTTPException: _refuse_path},
        )
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
        try:
            admitted = self._guard.admit(scope)
        except BadRequestError as error:
            await _refuse(Request(scope), error)(scope, receive, send)
            return
        with self._asking() if admitted["key"] else nullcontext():  # a probe doesn't keep the gateway awake
            await self._app(admitted, receive, send)

    async def _list_models(self, _: Request) -> Response:
        return _json({"object": "list", "data": [_model_entry(name) for name in self._models.names()]})

    async def _one_model(self, request: Request) -> Response:
        return _json(_model_entry(self._models.find(request.path_params["name"])))

    async def _chat(self, request: Request) -> Reply:
        asked = parse_chat(await _body(request), self._max_tokens)
        form = ChatFormat(
            self._models.find(asked.model),
            with_usage=asked.with_usage,
            num_choices=asked.num_choices,
            with_details=asked.with_details,
        )
        return self._reply(request, asked, form)

    async def _completion(self, request: Request) -> Reply:
        asked = parse_completion(await _body(request), self._max_tokens)
        return self._reply(
            request, asked, CompletionFormat(self._models.find(asked.model), with_usage=asked.with_usage)
        )

    async def _response(self, request: Request) -> Reply:
        asked = parse_response_request(await _body(request), self._max_tokens)
        return self._reply(request, asked, ResponseFormat(self._models.find(asked.model), asked.tools))

    async def _embeddings(self, request: Request) -> Response:
        asked = parse_embedding_request(await _body(request))
        found = await self._embedded(request, asked)
        return _json(
            embedding_list(self._models.find(asked.model), found, is_base64=asked.is_base64), 200, _named(asked.ignored)
        )

    async def _ollama_version(self, _: Request) -> Response:
        return _json({"version": VERSION})

    async def _ollama_tags(self, _: Request) -> Response:
        return _json({"models": [model_entry(name) for name in self._models.names()]})

    async def _ollama_show(self, request: Request) -> Response:
        asked = requests.parse_object(await _body(request))
        wanted = requests.parse_model(asked.get("model")) or ""
        entry = model_entry(self._models.find(wanted.removesuffix(":latest")))
        return _json({"details": entry["details"], "model_info": {}, "capabilities": ["completion", "embedding"]})

    async def _ollama_chat(self, request: Request) -> Reply:
        asked = parse_ollama_chat(await _body(request), self._max_tokens)
        return self._reply(request, asked, OllamaFormat(self._models.find(asked.model), is_chat=True))

    async def _ollama_generate(self, request: Request) -> Reply:
        asked = parse_ollama_generate(await _body(request), self._max_tokens)
        return self._reply(request, asked, OllamaFormat(self._models.find(asked.model), is_chat=False))

    async def _ollama_embed(self, request: Request) -> Response:
        asked = parse_embedding_request(await _body(request), is_ollama=True)
        found = await self._embedded(request, asked)
        return _json(ollama_embeddings(self._models.find(asked.model), found), 200, _named(asked.ignored))

    async def _embedded(self, request: Request, asked: EmbeddingRequest) -> Embeddings:
        self._models.find(asked.model)
        try:
            found = await while_connected(request.receive, self._answering.embed(asked.model, asked.texts))
        except PotluckError as error:
            raise refusal(error) from error
        return found or Embeddings((), 0)  # nobody reads it

    def _reply(self, request: Request, asked: ChatRequest, form: AnswerFormat) -> Reply:
        key = request.scope["key"]
        owner = blake2b(key.encode(), key=self._secret, digest_size=_OWNER_BYTES).hexdigest()
        parts = self._counted(self._answering.parts(replace(asked, owner=owner)), key)
        return Reply(parts, form, is_streamed=asked.is_streamed, headers=_named(asked.ignored))

    async def _counted(self, parts: Parts, key: str) -> Parts:
        """Yield the parts, and report the tokens of whole answers."""
        async with aclosing(parts):  # type: ignore[type-var]
            async for item in parts:
                if isinstance(item, tuple):
                    prompt_tokens = max(answer.prompt_tokens for answer in item)
                    self._on_answered(key, prompt_tokens + sum(answer.answer_tokens for answer in item))
                yield item


def _named(ignored: tuple[str, ...]) -> dict[str, str]:
    """Return the header that names fields without effect."""
    return {"X-Potluck-Ignored": ", ".join(ignored)} if ignored else {}


def _model_entry(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "swarm"}


def _listening(address: str, port: int) -> socket.socket:
    """Listen at the port, or at a free one. Raises UsageError if the address cannot be had."""
    family, is_any = (socket.AF_INET6 if ":" in address else socket.AF_INET), address == ANY[1]
    for number in (port, 0):
        try:
            return socket.create_server((address, number), family=family, backlog=_BACKLOG, dualstack_ipv6=is_any)
        except OSError as error:
            why = str(error.strerror)
    raise UsageError(sentence("gateway.address {address} cannot be listened on: {why}", address=address, why=why))


async def _body(request: Request) -> bytes:
    """Return the body of a request. Raises BadRequestError if it is too large or comes too slowly."""
    length = request.headers.get("content-length", "0")
    if len(length) > _MAX_LENGTH_DIGITS or int(length) > requests.MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    pieces = request.stream()
    try:
        while True:
            async with asyncio.timeout(SOCKET_TIMEOUT_S):
                body += await anext(pieces)
            if len(body) > requests.MAX_BODY_BYTES:
                raise _too_large()
    except StopAsyncIteration:
        return bytes(body)
    except TimeoutError:
        raise BadRequestError("the request came too slowly", 408) from None


def _too_large() -> BadRequestError:
    return BadRequestError(f"a request may have at most {requests.MAX_BODY_BYTES} bytes", 413)


def _json(value: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    headers = {"Cache-Control": "no-store", **(headers or {})}
    return Response(dumps(value), status, headers, media_type="application/json")


def _refuse(request: Request, error: Exception) -> Response:
    """Say why a request is refused, and end its connection, because its body may be unread."""
    assert isinstance(error, BadRequestError)
    again = {} if error.retry_after_s is None else {"Retry-After": str(error.retry_after_s)}
    is_ollama = request.url.path.startswith("/api/")
    body = {"error": str(error)} if is_ollama else error_body(error.sentence, error.status, error.code)
    return _json(body, error.status, {"Connection": "close", **again})


def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refuse(
        request, BadRequestError(f"{request.method} {request.url.path[:64]} does not exist here", error.status_code)
    )
