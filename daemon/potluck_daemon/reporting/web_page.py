"""Serves one web page over HTTP from threads: read-only, drawn anew for each visitor.

Nothing that a visitor sends gets further than this file. Each has a few seconds, and the oldest of too many visitors
leaves for the newest. The daemon imports this only when a page is wanted, for `http.server` takes memory.
"""

from __future__ import annotations

import hmac
import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

log = logging.getLogger(__name__)

_VISIT_S = 5.0
_MAX_VISITORS = 32


@dataclass(frozen=True, slots=True)
class WebPage:
    """`draw` returns the page and is called in a thread; a TimeoutError means that it cannot be drawn now.

    Attributes:
        path: the one that is answered, a secret perhaps.
        is_host: tells whether a Host header is answered.
    """

    path: str
    content_type: str
    draw: Callable[[], bytes]
    is_host: Callable[[str], bool] = lambda _: True


def serve(page: WebPage, host: str, port: int) -> WebPageServer:
    """Listen and answer until `close` of what is returned. Raises OSError if the address cannot be had."""
    server = WebPageServer(page, host, port)
    threading.Thread(target=server.serve_forever, name="web-page", daemon=True).start()
    return server


class WebPageServer(ThreadingTCPServer):
    """Made by `serve`."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, page: WebPage, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.page = page
        self._visitors: dict[socket.socket, float] = {}  # when each came, oldest first
        self._lock = threading.Lock()
        super().__init__((host, port), _Visit)

    def url(self, name: str = "") -> str:
        """Return the page's address, under the host's own address if it has no `name`."""
        host, port = self.server_address[:2]
        host = str(host)
        return f"http://{name or (f'[{host}]' if ':' in host else host)}:{port}{self.page.path}"

    def close(self) -> None:
        """End, within a second."""
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._visitors[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """End visits that take too long; socketserver calls this after each visitor and twice a second."""
        with self._lock:
            late = time.monotonic() - _VISIT_S
            surplus = len(self._visitors) - _MAX_VISITORS
            for number, (visitor, came_at) in enumerate(self._visitors.items()):
                if number < surplus or came_at < late:
                    _hang_up(visitor)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._visitors.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a visit failed", exc_info=True)


class _Visit(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the path may be a secret, and visitors choose the rest."""

    def version_string(self) -> str:
        """Return what visitors learn of the server, instead of the versions of Python and its library."""
        return "potluck"

    def _answer(self) -> None:
        assert isinstance(self.server, WebPageServer)
        page, path = self.server.page, self.path.partition("?")[0]
        if not page.is_host(self.headers.get("Host", "")):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "the Host must be a name of this computer")
        elif not hmac.compare_digest(path.encode(), page.path.encode()):
            self.send_error(HTTPStatus.NOT_FOUND, "there is nothing here")
        else:
            self._show(page)

    def _show(self, page: WebPage) -> None:
        try:
            body = page.draw()
        except TimeoutError:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        except Exception:
            log.exception("the page cannot be drawn")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", page.content_type),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


def _hang_up(visitor: socket.socket) -> None:
    try:
        visitor.shutdown(socket.SHUT_RDWR)
    except OSError as error:
        log.debug("a visitor has left: %s", error)
