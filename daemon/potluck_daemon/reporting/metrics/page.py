"""The page over HTTP: `GET /metrics` on an address of this machine, off unless a port is set.

It is read-only. On a loopback address the Host must be one, too, so that no web page reaches it under a name of its own
(DNS rebinding).
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from collections.abc import Callable, Iterable

from potluck_control.http_server import HttpAnswer, HttpError, HttpServer, RequestHead, ServerLimits, body_bytes
from potluck_control.settings import MetricsSettings

from potluck.p2p.ports import is_loopback, names_this_computer
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.reporting.metrics.exposition import CONTENT_TYPE, Family, render

log = logging.getLogger(__name__)

PATH = "/metrics"
_LIMITS = ServerLimits(max_connections=16, idle_timeout_s=5.0)


class MetricsPage:
    """Opens what `apply` is given, now and whenever the settings change; `close` ends it.

    Attributes:
        problem: why the page that is wanted is not there; nothing if all is well.
    """

    def __init__(self, families: Callable[[], Iterable[Family]]) -> None:
        self._families = families
        self._settings = MetricsSettings()
        self._server = HttpServer(self, _LIMITS)
        self._lock = asyncio.Lock()
        self.problem = NOTHING

    @property
    def url(self) -> str | None:
        """The page's address; None while there is no page."""
        if self._server.address is None:
            return None
        host, port = self._server.address
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"

    async def apply(self, settings: MetricsSettings) -> None:
        """Open, move or close the page. What goes wrong is logged and kept in `problem`."""
        async with self._lock:
            if settings == self._settings:
                return
            await self._server.close()
            self._settings = settings
            self.problem = refusal(settings)
            if settings.port and not self.problem:
                await self._start(settings)
            if self.problem:
                log.warning("%s", self.problem)

    async def close(self) -> None:
        async with self._lock:
            await self._server.close()

    async def _start(self, settings: MetricsSettings) -> None:
        try:
            await self._server.start_tcp(settings.address, settings.port)
        except OSError as error:
            why = str(error.strerror)
            self.problem = sentence("metrics.port {port} cannot be listened on: {why}", port=settings.port, why=why)
        else:
            log.info("metrics are at %s", self.url)

    def admit(self, connection: socket.socket) -> None:
        """Let in everybody who can connect: the address decides who that is."""

    def judge(self, head: RequestHead) -> int:
        host = head.headers.get("host")
        if host is None:
            raise HttpError(400, "the Host is missing")
        if is_loopback(self._settings.address) and not _is_local_name(host):
            raise HttpError(421, "the Host must be a name of this computer")
        if head.method not in ("GET", "HEAD"):
            raise HttpError(405, "GET /metrics")
        if head.target.partition("?")[0] != PATH:
            raise HttpError(404, f"only {PATH} is here")
        return body_bytes(head, 0)

    async def answer(self, head: RequestHead, body: bytes) -> HttpAnswer:
        return HttpAnswer(render(self._families()), CONTENT_TYPE, keep_alive=False)


def refusal(settings: MetricsSettings) -> Sentence:
    """Return why such a page is not opened; nothing: it may be."""
    if not settings.port:
        return NOTHING
    try:
        ipaddress.ip_address(settings.address)
    except ValueError:
        return sentence(
            "metrics.address {name} is not an IP address (127.0.0.1 is this machine only)", name=repr(settings.address)
        )
    if is_loopback(settings.address) or settings.allow_remote:
        return NOTHING
    return sentence(
        "metrics.address {name} can be reached from other machines; nothing is shown there "
        "(set metrics.allow_remote if that is what you want)",
        name=settings.address,
    )


def _is_local_name(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return names_this_computer(name.strip("[]"))
