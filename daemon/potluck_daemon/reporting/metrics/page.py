"""The page over HTTP: `GET /metrics` on an address of this machine, off unless a port is set.

Read-only, and every request is answered and closed. On a loopback address the Host must be one, too, so that no web
page reaches it under a name of its own (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Callable, Iterable

from potluck_daemon.control.connections import Connections
from potluck_daemon.reporting.metrics.exposition import CONTENT_TYPE, Family, render
from potluck_daemon.settings.schema import MetricsSettings

log = logging.getLogger(__name__)

PATH = "/metrics"
MAX_HEAD_BYTES = 8 * 1024
MAX_CONNECTIONS = 16
TIMEOUT_S = 5.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 421: "Misdirected Request"}
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class MetricsPage:
    """`apply` what the settings say, now and whenever they change; `close` at the end.

    Attributes:
        problem: why the page that is wanted is not there, as one sentence; None if all is well.
    """

    def __init__(self, families: Callable[[], Iterable[Family]]) -> None:
        self._families = families
        self._settings = MetricsSettings()
        self._server: asyncio.Server | None = None
        self._connections = Connections(self._connection, "a request for metrics", log)
        self._lock = asyncio.Lock()
        self.problem: str | None = None

    @property
    def url(self) -> str | None:
        """None while there is no page."""
        if self._server is None:
            return None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"

    async def apply(self, settings: MetricsSettings) -> None:
        """Open, move or close the page; what goes wrong is logged and told in `problem`."""
        async with self._lock:
            if settings == self._settings:
                return
            await self._stop()
            self._settings = settings
            self.problem = refusal(settings)
            if settings.port and self.problem is None:
                await self._start(settings)
            if self.problem is not None:
                log.warning("%s", self.problem)

    async def close(self) -> None:
        async with self._lock:
            await self._stop()

    async def _start(self, settings: MetricsSettings) -> None:
        try:
            self._server = await asyncio.start_server(
                self._connections.accept, settings.address, settings.port, limit=MAX_HEAD_BYTES
            )
        except OSError as error:
            self.problem = f"metrics.port {settings.port} cannot be listened on: {error.strerror}"
        else:
            log.info("metrics are at %s", self.url)

    async def _stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        self._server = None
        await self._connections.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            if len(self._connections) > MAX_CONNECTIONS:
                writer.write(_BUSY)
            else:
                writer.write(self._answer(await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
            writer.write_eof()
            await reader.read()  # let the other side close first, or the answer may be lost

    def _answer(self, head: bytes) -> bytes:
        status, is_head = judge(head, any_host=not is_loopback(self._settings.address))
        body = render(self._families()) if status == 200 else f"{status} {_REASONS[status]}\n".encode()
        kind = CONTENT_TYPE if status == 200 else "text/plain"
        lines = (
            f"HTTP/1.1 {status} {_REASONS[status]}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
            "Connection: close",
        )
        return "\r\n".join((*lines, "", "")).encode() + (b"" if is_head else body)


def refusal(settings: MetricsSettings) -> str | None:
    """Why such a page is not opened."""
    if not settings.port:
        return None
    try:
        ipaddress.ip_address(settings.address)
    except ValueError:
        return f"metrics.address {settings.address!r} is not an IP address (127.0.0.1 is this machine only)"
    if is_loopback(settings.address) or settings.allow_remote:
        return None
    return (
        f"metrics.address {settings.address} can be reached from other machines; nothing is shown there "
        "(set metrics.allow_remote if that is what you want)"
    )


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def judge(head: bytes, *, any_host: bool) -> tuple[int, bool]:
    """The status that a request head earns, and whether only the head of the answer is wanted."""
    request, *lines = head.decode("latin-1").split("\r\n")
    parts = request.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return 400, False
    hosts = [value.strip() for name, colon, value in (line.partition(":") for line in lines) if name.lower() == "host"]
    if len(hosts) > 1 or (not hosts and parts[2] != "HTTP/1.0"):
        return 400, False
    if not any_host and hosts and not _is_local_name(hosts[0]):
        return 421, False
    if parts[0] not in ("GET", "HEAD"):
        return 405, False
    return (200 if parts[1].partition("?")[0] == PATH else 404), parts[0] == "HEAD"


def _is_local_name(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return name.lower() == "localhost" or is_loopback(name.strip("[]"))
