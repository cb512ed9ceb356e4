"""The methods that every client starts with, and those that pause, drain and end the daemon."""

from __future__ import annotations

import logging
import os
import time

from potluck_control import schema
from potluck_control.all_methods import METHODS
from potluck_control.schema import Status

from potluck_daemon.configuration import Configuration
from potluck_daemon.lookout import Lookout
from potluck_daemon.loop import ServingLoop
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.topics.topic import Topic, answers
from potluck_daemon.view import DaemonView

log = logging.getLogger(__name__)


class ServingTopic(Topic):
    def __init__(self, configuration: Configuration, loop: ServingLoop, view: DaemonView, lookout: Lookout) -> None:
        self._configuration = configuration
        self._loop = loop
        self._view = view
        self._lookout = lookout

    @answers(schema.HELLO)
    async def _hello(self, params: schema.HelloParams) -> schema.DaemonHello:
        log.debug("%s %s says hello with API %d", params.client[:60], params.version[:30], params.api)
        view, methods = self._view, tuple(METHODS)
        return schema.DaemonHello(schema.API_VERSION, view.version, os.getpid(), view.started_at, methods)

    @answers(schema.STATUS)
    async def _status(self, _: schema.Empty) -> Status:
        return self._view.status()

    @answers(schema.PAUSE)
    async def _pause(self, params: schema.PauseParams) -> Status:
        until = None if params.seconds is None else time.time() + params.seconds
        await self._loop.pause(until, until_game_ends=params.until_game_ends)
        return self._view.status()

    @answers(schema.RESUME)
    async def _resume(self, _: schema.Empty) -> Status:
        self._loop.resume()
        return self._view.status()

    @answers(schema.PRESENCE)
    async def _presence(self, params: schema.PresenceParams) -> schema.Empty:
        sighting = Sighting(params.reason, params.who or params.source, params.certainty, params.app.lower())
        self._lookout.agents.tell(params.source, sighting, params.lifetime_s)
        return schema.Empty()

    @answers(schema.RELOAD)
    async def _reload(self, _: schema.Empty) -> Status:
        self._configuration.reload()
        return self._view.status()

    @answers(schema.DRAIN)
    async def _drain(self, params: schema.DrainParams) -> Status:
        self._loop.drain(params.seconds)
        return self._view.status()

    @answers(schema.SHUTDOWN)
    async def _shutdown(self, _: schema.Empty) -> schema.Empty:
        self._loop.end()
        return schema.Empty()
