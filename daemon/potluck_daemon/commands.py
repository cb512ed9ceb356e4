"""What each method of the control API does to the daemon."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

from potluck.protocol.invite import decode_invite, encode_invite, new_swarm
from potluck.protocol.swarm import LOCAL_REVISION
from potluck_daemon import logs
from potluck_daemon.control import schema
from potluck_daemon.control.server import Handler
from potluck_daemon.joined import JoinedSwarms, free_name
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.resources import DEMO_MODEL, num_blocks_of, resource
from potluck_daemon.topics.settings import SettingsTopic

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

log = logging.getLogger(__name__)


class Commands:
    """One method here for each one of the schema."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def handlers(self) -> dict[str, Handler]:
        return {
            schema.HELLO.name: self._hello,
            schema.STATUS.name: self._status,
            schema.PAUSE.name: self._pause,
            schema.RESUME.name: self._resume,
            schema.JOIN.name: self._join,
            schema.CREATE.name: self._create,
            schema.INVITE.name: self._invite,
            schema.HISTORY.name: self._history,
            schema.LOGS.name: self._logs,
            schema.NEVER_YIELD.name: self._never_yield,
            schema.PRESENCE.name: self._presence,
            schema.METRICS.name: self._metrics,
            schema.RELOAD.name: self._reload,
            schema.DRAIN.name: self._drain,
            schema.SHUTDOWN.name: self._shutdown,
            **SettingsTopic(self._daemon).handlers(),
        }

    async def _hello(self, params: schema.HelloParams) -> schema.Hello:
        log.debug("%s says hello with API %d", params.client[:60], params.api)
        return schema.Hello(schema.API_VERSION, self._daemon.version, os.getpid(), self._daemon.started_at)

    async def _status(self, _: schema.Empty) -> schema.Status:
        return self._daemon.status()

    async def _pause(self, params: schema.PauseParams) -> schema.Status:
        until = None if params.seconds is None else time.time() + params.seconds
        self._daemon.pause(until, until_game_ends=params.until_game_ends)
        return self._daemon.status()

    async def _resume(self, _: schema.Empty) -> schema.Status:
        self._daemon.resume()
        return self._daemon.status()

    async def _join(self, params: schema.JoinParams) -> schema.Joined:
        swarm = decode_invite(params.invite)
        JoinedSwarms(self._daemon.places.swarms_file).add(swarm)
        log.info("joined the swarm %s", swarm.name)
        self._daemon.reload()
        return schema.Joined(swarm.name, swarm.model)

    async def _create(self, _: schema.Empty) -> schema.Joined:
        joined = JoinedSwarms(self._daemon.places.swarms_file)
        name = free_name("home", joined.load())
        swarm = new_swarm(name, DEMO_MODEL, num_blocks_of(resource(DEMO_MODEL)), LOCAL_REVISION)
        joined.add(swarm)
        log.info("created the swarm %s", swarm.name)
        self._daemon.reload()
        return schema.Joined(swarm.name, swarm.model)

    async def _invite(self, _: schema.Empty) -> schema.Invite:
        swarm = self._daemon.invite()
        return schema.Invite(swarm.name, encode_invite(swarm))

    async def _history(self, params: schema.HistoryParams) -> schema.History:
        return schema.History(self._daemon.history.last(params.limit))

    async def _logs(self, params: schema.LogsParams) -> schema.Logs:
        path = self._daemon.places.log_file
        return schema.Logs(str(path), logs.tail(path, params.lines))

    async def _never_yield(self, params: schema.NeverYieldParams) -> schema.Status:
        self._daemon.never_yield(params.app)
        return self._daemon.status()

    async def _presence(self, params: schema.PresenceParams) -> schema.Empty:
        sighting = Sighting(params.reason, params.who or params.source, params.certainty, params.app.lower())
        self._daemon.agents.tell(params.source, sighting, params.lifetime_s)
        return schema.Empty()

    async def _metrics(self, _: schema.Empty) -> schema.Metrics:
        return self._daemon.metrics()

    async def _reload(self, _: schema.Empty) -> schema.Status:
        self._daemon.reload()
        return self._daemon.status()

    async def _drain(self, params: schema.DrainParams) -> schema.Status:
        self._daemon.drain(params.seconds)
        return self._daemon.status()

    async def _shutdown(self, _: schema.Empty) -> schema.Empty:
        self._daemon.end()
        return schema.Empty()
