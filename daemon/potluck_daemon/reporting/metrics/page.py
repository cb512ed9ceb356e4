"""The page over HTTP: `GET /metrics` on an address of this machine, off unless a port is set.

It is read-only. On a loopback address the Host must be one, too, so that no web page reaches it under a name of its own
(DNS rebinding).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from potluck_control.engine_metrics import EngineMetrics
from potluck_control.schema import Status
from potluck_control.settings import MetricsSettings

from potluck.p2p.ports import is_loopback, names_this_computer
from potluck.sentences import NOTHING, Sentence, sentence
from potluck_daemon.settings.listening import listening_problem

if TYPE_CHECKING:
    from potluck_daemon.reporting.web_page import WebPageServer

log = logging.getLogger(__name__)

PATH = "/metrics"
_DRAW_S = 5.0  # for a daemon that is busy


class MetricsPage:
    """Opens what `apply` is given, now and whenever the settings change; `close` ends it.

    Attributes:
        problem: why the page that is wanted is not there; nothing if all is well.
    """

    def __init__(self, read: Callable[[], tuple[Status, EngineMetrics]]) -> None:
        self._read = read
        self._settings = MetricsSettings()
        self._server: WebPageServer | None = None
        self._lock = asyncio.Lock()
        self.problem = NOTHING

    @property
    def url(self) -> str | None:
        """The page's address; None while there is no page."""
        return self._server.url() if self._server is not None else None

    async def apply(self, settings: MetricsSettings) -> None:
        """Open, move or close the page. What goes wrong is logged and kept in `problem`."""
        async with self._lock:
            if settings == self._settings:
                return
            await self._close()
            self._settings = settings
            self.problem = refusal(settings)
            if settings.port and not self.problem:
                self._start(settings)
            if self.problem:
                log.warning("%s", self.problem)

    async def close(self) -> None:
        async with self._lock:
            await self._close()

    async def _close(self) -> None:
        if self._server is not None:
            await asyncio.to_thread(self._server.close)
            self._server = None

    def _start(self, settings: MetricsSettings) -> None:
        """Import what takes megabytes now that it is wanted."""
        from potluck_daemon.reporting.metrics.families import CONTENT_TYPE, render
        from potluck_daemon.reporting.web_page import WebPage, serve

        loop = asyncio.get_running_loop()

        async def drawn() -> bytes:
            return render(*self._read())

        def draw() -> bytes:
            return asyncio.run_coroutine_threadsafe(drawn(), loop).result(_DRAW_S)

        is_host = _is_local_name if is_loopback(settings.address) else bool
        try:
            page = WebPage(PATH, CONTENT_TYPE, draw, is_host)
            self._server = serve(page, settings.address, settings.port)
        except OSError as error:
            why = str(error.strerror)
            self.problem = sentence("metrics.port {port} cannot be listened on: {why}", port=settings.port, why=why)
        else:
            log.info("metrics are at %s", self.url)


def refusal(settings: MetricsSettings) -> Sentence:
    """Return why such a page is not opened; nothing: it may be."""
    if not settings.port:
        return NOTHING
    return listening_problem("metrics", settings.address, is_allowed=settings.allow_remote)


def _is_local_name(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return names_this_computer(name.strip("[]"))
