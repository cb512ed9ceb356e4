"""The methods that every client starts with, those that pause, drain and end the daemon, and its records.

The records are `history`, `logs` and `metrics`.
"""

from __future__ import annotations

import logging
import os
import time

from potluck_control.api import schema
from potluck_control.api.all_methods import METHODS
from potluck_control.api.schema import Status
from potluck_control.logs import log_tail

from potluck_daemon.presence.probe import Sighting
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)


class ServingTopic(Topic):
    """The daemon's state and records, and the commands that change whether it serves."""

    @answers(schema.HELLO)
    async def _hello(self, params: schema.HelloParams) -> schema.DaemonHello:
        log.debug("%s %s says hello with API %d", params.client[:60], params.version[:30], params.api)
        parts, methods = self._parts, tuple(METHODS)
        return schema.DaemonHello(schema.API_VERSION, parts.version, os.getpid(), parts.started_at, methods)

    @answers(schema.STATUS)
    async def _status(self, _: schema.Empty) -> Status:
        return self._parts.status()

    @answers(schema.PAUSE)
    async def _pause(self, params: schema.PauseParams) -> Status:
        until = None if params.seconds is None else time.time() + params.seconds
        await self._parts.loop.pause(until, until_game_ends=params.until_game_ends)
        return self._parts.status()

    @answers(schema.RESUME)
    async def _resume(self, _: schema.Empty) -> Status:
        await self._parts.loop.resume()
        return self._parts.status()

    @answers(schema.PRESENCE)
    async def _presence(self, params: schema.PresenceParams) -> schema.Empty:
        sighting = Sighting(params.reason, params.who or params.source, params.certainty, params.app.lower())
        self._parts.lookout.agents.add(params.source, sighting, params.lifetime_s)
        return schema.Empty()

    @answers(schema.RELOAD)
    async def _reload(self, _: schema.Empty) -> Status:
        self._configuration.reload()
        return self._parts.status()

    @answers(schema.DRAIN)
    async def _drain(self, params: schema.DrainParams) -> Status:
        self._parts.loop.drain(params.seconds)
        return self._parts.status()

    @answers(schema.SHUTDOWN)
    async def _shutdown(self, _: schema.Empty) -> schema.Empty:
        self._parts.loop.end()
        return schema.Empty()

    @answers(schema.HISTORY)
    async def _history(self, params: schema.HistoryParams) -> schema.HistoryPage:
        return schema.HistoryPage(self._parts.history.find(params))

    @answers(schema.LOGS)
    async def _logs(self, params: schema.LogsParams) -> schema.Logs:
        log_file = self._configuration.places.log_file
        return schema.Logs(str(log_file), log_tail(log_file, params.lines))

    @answers(schema.METRICS)
    async def _metrics(self, _: schema.Empty) -> schema.Metrics:
        facts = self._supervisor.facts
        age_s = round(time.monotonic() - facts.reported_at, 1) if facts.reported_at else None
        return schema.Metrics(facts.report.metrics, age_s, self._parts.page.url or "", self._parts.page.problem)
