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
from potluck_gateway.requests import BadRequestError, ChatRequest, ContextLengthError

log = logging.getLogger(__name__)

TELL_S = 4.0  # shorter than the shortest time after which an unused gateway ends
SOCKET_TIMEOUT_S = 60.0  # for a client that neither sends nor reads
RETRY_AFTER_S = 15  # the client reads the directory this often
MAX_UNPROVEN = 32  # connections that have not shown the token
_MAX_LENGTH_DIGITS = 12


class ChatModel(Protocol):
    """A model that several threads may ask at once."""

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
    _headers: dict[str, str]  # of the answer, beside the usual ones

    def do_GET(self) -> None:
        self._serve("/v1/models", lambda: self._send(200, requests.model_list(self.server.model.name)))

    def do_POST(self) -> None:
        self._serve("/v1/chat/completions", self._chat)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because paths and addresses are private."""

    def _serve(self, path: str, work: Callable[[], None]) -> None:
        self._headers = {}
        try:
            self._admit()
            if self.path.partition("?")[0].rstrip("/") != path:
                raise BadRequestError("only GET /v1/models and POST /v1/chat/completions exist", 404)
            with self.server.asking():
                work()
        except BadRequestError as error:
            self.close_connection = True  # the body may be unread
            self._refuse(error)

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
        name = self.server.model.name
        if request.model not in (None, "", name):
            raise BadRequestError(f"the model here is {name}, not {request.model}", 404, "model_not_found")
        self._headers = {"X-Potluck-Ignored": ", ".join(request.ignored)} if request.ignored else {}
        if request.is_streamed:
            self._stream(request)
            return
        try:
            text, reason, counts = self.server.model.answer(request, lambda _: None, lambda _: None)
        except PotluckError as error:
            raise _refusal(error) from error
        self._send(200, requests.completion(requests.answer_head(name), text, reason, counts))

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > _MAX_LENGTH_DIGITS or "Transfer-Encoding" in self.headers:
            raise BadRequestError("Content-Length is missing or malformed", 411)
        if int(length) > requests.MAX_BODY_BYTES:
            raise BadRequestError(f"a request may have at most {requests.MAX_BODY_BYTES} bytes", 413)
        return self.rfile.read(int(length))

    def _stream(self, request: ChatRequest) -> None:
        """Send the answer part by part. Its head waits for the first part: earlier failures have their own status."""
        head = requests.answer_head(self.server.model.name)
        start = threading.Lock()  # waits are reported by another thread
        is_started = False

        def write(data: bytes) -> None:
            nonlocal is_started
            with start:
                if not is_started:
                    is_started = True
                    self._begin_stream(requests.chunk(head, None))
                self._write(data)

        try:
            _, reason, counts = self.server.model.answer(
                request,
                lambda part: write(requests.chunk(head, part)),
                lambda sentence: write(requests.comment(sentence)),
            )
        except PotluckError as error:
            if not is_started:
                raise _refusal(error) from error
            write(requests.error_event(_sentence(error)))
            return
        write(requests.chunk(head, "", reason))
        if request.with_usage:
            write(requests.usage_chunk(head, counts))
        write(requests.DONE)

    def _begin_stream(self, first: bytes) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Connection", "close")
        for name, text in self._headers.items():
            self.send_header(name, text)
        self.end_headers()
        self._write(first)

    def _write(self, data: bytes) -> None:
        """Send a part at once. Raises OSError if the client is gone, which ends the generation."""
        self.wfile.write(data)
        self.wfile.flush()

    def _refuse(self, error: BadRequestError) -> None:
        self._headers = {"Retry-After": str(RETRY_AFTER_S)} if error.status == 503 else {}
        self._send(error.status, requests.error_body(str(error), error.status, error.code))

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, text in self._headers.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)


def _refusal(error: PotluckError) -> BadRequestError:
    code = "context_length_exceeded" if isinstance(error, ContextLengthError) else None
    return BadRequestError(_sentence(error), 400 if isinstance(error, UsageError) else 503, code)


def _sentence(error: PotluckError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message
