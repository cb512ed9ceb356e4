"""The methods that every client starts with, and those that pause, drain and end the daemon."""

from __future__ import annotations

import logging
import os
import time

from potluck_control import schema
from potluck_control.all_methods import METHODS
from potluck_control.schema import Status

from potluck_daemon.presence.probe import Sighting
from potluck_daemon.topics.topic import Topic, answers

log = logging.getLogger(__name__)


class ServingTopic(Topic):
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
        self._parts.lookout.agents.tell(params.source, sighting, params.lifetime_s)
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
