"""Serves the gateway over HTTP: on loopback only, with a token, and not for web pages.

Any program of any user of this computer can connect to a port on loopback, and so can web pages through a browser.
Therefore every request needs the token, its Host must be loopback, and headers of a browser (`Origin`) are refused.
Prompts and answers are never logged.
"""

from __future__ import annotations

import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from potluck.errors import PotluckError, UsageError
from potluck_gateway import requests
from potluck_gateway.requests import BadRequestError, ChatRequest

log = logging.getLogger(__name__)

TELL_S = 4.0  # shorter than the shortest time after which an unused gateway ends
SOCKET_TIMEOUT_S = 60.0  # for a client that neither sends nor reads
MAX_UNPROVEN = 32  # connections that have not shown the token
_MAX_LENGTH_DIGITS = 12


class ChatModel(Protocol):
    """A model that answers one request at a time; others wait for their turn."""

    name: str

    def answer(
        self, request: ChatRequest, on_text: Callable[[str], None], on_wait: Callable[[str], None]
    ) -> tuple[str, str, tuple[int, int]]:
        """Return the text, the reason of its end (`stop` or `length`), and the tokens of prompt and answer.

        `on_text` is called with each new part of the text, `on_wait` with a sentence when the answer has to wait for
        servers; an exception from them ends the generation. Raises PotluckError.
        """


class GatewayServer(ThreadingHTTPServer):
    """The gateway's server. It calls `on_asked` every few seconds while it answers a request, and at the end."""

    daemon_threads = True
    request_queue_size = 128
    proof_timeout_s = 5.0  # from a connection to the token in its first request

    def __init__(
        self, model: ChatModel, token: str, on_asked: Callable[[], None], *, max_tokens: int, port: int = 0
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = model
        self.token = token
        self._on_asked = on_asked
        self.max_tokens = max_tokens
        self._open: set[threading.Thread] = set()
        self._told_at = 0.0
        self._unproven: dict[socket.socket, float] = {}  # connection -> when it must have shown the token

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a new connection in a thread. It takes the place of the oldest stranger, so that nobody is kept out."""
        strangers = list(self._unproven)
        for stranger in strangers[: len(strangers) - MAX_UNPROVEN + 1]:
            self._end(stranger)
        self._unproven[request] = time.monotonic() + self.proof_timeout_s
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._unproven.pop(request, None)
        super().shutdown_request(request)

    def note_token(self, connection: socket.socket) -> None:
        """Let a connection that has shown the token stay for as long as it likes."""
        self._unproven.pop(connection, None)

    def _end(self, stranger: socket.socket) -> None:
        """End a connection, which its thread notices."""
        self._unproven.pop(stranger, None)
        with suppress(OSError):
            stranger.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Report that a request is being answered, for as long as the block runs."""
        thread = threading.current_thread()
        self._open.add(thread)
        self._tell()
        try:
            yield
        finally:
            self._open.discard(thread)
            self._tell()

    def service_actions(self) -> None:
        """Report a long answer again, and end late strangers. The base class calls this twice a second."""
        now = time.monotonic()
        for stranger, until in self._unproven.copy().items():
            if until < now:
                self._end(stranger)
        if self._open and time.monotonic() - self._told_at > TELL_S:
            self._tell()

    def _tell(self) -> None:
        self._told_at = time.monotonic()
        self._on_asked()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a request that failed, without what the client sent."""
        log.debug("a request ended", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: GatewayServer
    protocol_version = "HTTP/1.1"
    server_version = "potluck"
    sys_version = ""
    timeout = SOCKET_TIMEOUT_S

    def do_GET(self) -> None:
        self._serve("/v1/models", lambda: self._send(200, requests.model_list(self.server.model.name)))

    def do_POST(self) -> None:
        self._serve("/v1/chat/completions", self._chat)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because paths and addresses are private."""

    def _serve(self, path: str, work: Callable[[], None]) -> None:
        try:
            self._admit()
            if self.path.partition("?")[0].rstrip("/") != path:
                raise BadRequestError("only GET /v1/models and POST /v1/chat/completions exist", 404)
            with self.server.asking():
                work()
        except BadRequestError as error:
            self.close_connection = True  # the body may be unread
            self._send(error.status, requests.error_body(str(error), error.status))

    def _admit(self) -> None:
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in ("127.0.0.1", "localhost"):
            raise BadRequestError("the Host must be 127.0.0.1 or localhost", 421)
        if "Origin" in self.headers or "Referer" in self.headers:
            raise BadRequestError("requests from web pages are refused", 403)
        given = self.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        if not hmac.compare_digest(given, self.server.token.encode()):
            raise BadRequestError("wrong token: send Authorization: Bearer TOKEN", 401)
        self.server.note_token(self.connection)

    def _chat(self) -> None:
        request = requests.parse_request(self._body(), self.server.max_tokens)
        if request.is_streamed:
            self._stream(request)
            return
        try:
            text, reason, counts = self.server.model.answer(request, lambda _: None, lambda _: None)
        except UsageError as error:
            self._send(400, requests.error_body(_sentence(error), 400))
        except PotluckError as error:
            self._send(503, requests.error_body(_sentence(error), 503))
        else:
            self._send(200, requests.completion(requests.answer_head(self.server.model.name), text, reason, counts))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _MAX_LENGTH_DIGITS or "Transfer-Encoding" in self.headers:
            raise BadRequestError("Content-Length is missing or malformed", 411)
        if int(length) > requests.MAX_BODY_BYTES:
            raise BadRequestError(f"a request may have at most {requests.MAX_BODY_BYTES} bytes", 413)
        return self.rfile.read(int(length))

    def _stream(self, request: ChatRequest) -> None:
        head = requests.answer_head(self.server.model.name)
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(requests.chunk(head, None))
        try:
            _, reason, counts = self.server.model.answer(
                request,
                lambda part: self._write(requests.chunk(head, part)),
                lambda sentence: self._write(requests.comment(sentence)),
            )
        except PotluckError as error:
            self._write(requests.error_event(_sentence(error)))
            return
        self._write(requests.chunk(head, "", reason))
        if request.with_usage:
            self._write(requests.usage_chunk(head, counts))
        self._write(requests.DONE)

    def _write(self, data: bytes) -> None:
        """Send a part at once. Raises OSError if the client is gone, which ends the generation."""
        self.wfile.write(data)
        self.wfile.flush()

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


def _sentence(error: PotluckError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
