"""Serves the metrics over HTTP: `GET /metrics` on an address of this machine, off unless a port is set.

The page is read-only. On a loopback address the Host header must name one, too, so that no web page reaches it under a
name of its own (DNS rebinding).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable

from potluck_control.api.schema import Status
from potluck_control.processes.engine_report import EngineMetrics
from potluck_control.settings import MetricsSettings

from potluck.p2p.listening import is_loopback, names_this_computer
from potluck.sentences import NOTHING, sentence
from potluck_daemon.host.listening import listening_problem
from potluck_daemon.reporting.web_page import WebPageServer

log = logging.getLogger(__name__)

PATH = "/metrics"


class MetricsPage:
    """The page that the settings given to `apply` want, until `close`.

    Attributes:
        problem: why a page that is wanted is not there; empty if all is well.
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
            self.close()
            self._settings, self.problem = settings, NOTHING
            if settings.port:
                self.problem = listening_problem("metrics", settings.address, is_allowed=settings.allow_remote)
                if not self.problem:
                    await self._start(settings)
            if self.problem:
                log.warning("%s", self.problem)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _start(self, settings: MetricsSettings) -> None:
        """Open the page. The library for it takes megabytes, so it is imported only now."""
        from potluck_daemon.reporting.metrics_text import CONTENT_TYPE, render

        is_host = _is_local_name if is_loopback(settings.address) else bool
        server = WebPageServer(PATH, CONTENT_TYPE, lambda: render(*self._read()), is_host)
        try:
            await server.start(settings.address, settings.port)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            self.problem = sentence("metrics.port {port} cannot be listened on: {why}", port=settings.port, why=why)
        else:
            self._server = server
            log.info("metrics are at %s", self.url)


def _is_local_name(host: str) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return names_this_computer(name.strip("[]"))
