"""Serves one web page over HTTP: read-only, drawn anew for each visitor.

Nothing that a visitor sends gets further than this file. Each has a few seconds and a few kilobytes, and the oldest of
too many visitors is dropped for the newest.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import Callable
from http import HTTPStatus

log = logging.getLogger(__name__)

_VISIT_S = 5.0
_MAX_VISITORS = 32
_MAX_HEAD_BYTES = 1 << 14


class WebPageServer:
    """Answers visitors of one page from `start` to `close`.

    Args:
        path: the path of the page, which may be a secret.
        draw: returns the page.
        is_host: returns whether to answer requests with this Host header.
    """

    _server: asyncio.Server

    def __init__(
        self, path: str, content_type: str, draw: Callable[[], bytes], is_host: Callable[[str], bool] = lambda _: True
    ) -> None:
        self._path = path
        self._content_type = content_type
        self._draw = draw
        self._is_host = is_host
        self._visits: dict[asyncio.Task[None], None] = {}  # oldest first

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError if the address cannot be had."""
        self._server = await asyncio.start_server(self._visit, host, port, limit=_MAX_HEAD_BYTES)

    def close(self) -> None:
        self._server.close()
        for visit in self._visits:
            visit.cancel()

    @property
    def address(self) -> tuple[str, int]:
        """The IP address and port at which it listens."""
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    def url(self, name: str = "") -> str:
        """Return the page's URL with the host's `name`, or with its IP address."""
        host, port = self.address
        return f"http://{name or (f'[{host}]' if ':' in host else host)}:{port}{self._path}"

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        assert visit is not None
        if len(self._visits) >= _MAX_VISITORS:
            self._visits.pop(oldest := next(iter(self._visits)))
            oldest.cancel()
        self._visits[visit] = None
        try:
            async with asyncio.timeout(_VISIT_S):
                writer.write(self._answer(await reader.readuntil(b"\r\n\r\n")))
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            log.debug("a visit failed: %r", error)
        finally:
            self._visits.pop(visit, None)
            writer.transport.abort()

    def _answer(self, head: bytes) -> bytes:
        """Return the response to a request with this head."""
        request, *headers = head.decode("latin-1").split("\r\n")
        method, _, rest = request.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        fields = (header.partition(":") for header in headers)
        host = next((value.strip() for name, _, value in fields if name.lower() == "host"), "")
        if method not in ("GET", "HEAD"):
            return _response(HTTPStatus.NOT_IMPLEMENTED)
        if not self._is_host(host):
            return _response(HTTPStatus.MISDIRECTED_REQUEST)
        if not hmac.compare_digest(path.encode(), self._path.encode()):
            return _response(HTTPStatus.NOT_FOUND)
        try:
            body = self._draw()
        except Exception:
            log.exception("the page cannot be drawn")
            return _response(HTTPStatus.INTERNAL_SERVER_ERROR)
        return _response(HTTPStatus.OK, self._content_type, body, with_body=method == "GET")


def _response(
    status: HTTPStatus, content_type: str = "text/plain", body: bytes | None = None, *, with_body: bool = True
) -> bytes:
    """Return a whole response. It says nothing of Python's version, and without `body` the status alone."""
    content = status.phrase.encode() if body is None else body
    lines = (
        f"HTTP/1.0 {status.value} {status.phrase}",
        "Server: potluck",
        f"Content-Type: {content_type}",
        f"Content-Length: {len(content)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
    )
    return "\r\n".join((*lines, "", "")).encode() + (content if with_body else b"")
