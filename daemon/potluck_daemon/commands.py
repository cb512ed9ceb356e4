"""What each method of the control API does to the daemon."""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

from potluck_control import schema

from potluck.errors import UsageError
from potluck.protocol.invite import decode_invite, encode_invite, new_swarm
from potluck_daemon.control.server import Handler
from potluck_daemon.presence.probe import Sighting
from potluck_daemon.reporting import logs
from potluck_daemon.swarms.joined import JoinedSwarms, free_name
from potluck_daemon.swarms.new_model import find_model
from potluck_daemon.topics.contribution import ContributionTopic
from potluck_daemon.topics.earnings import EarningsTopic
from potluck_daemon.topics.gateway import GatewayTopic
from potluck_daemon.topics.health import HealthTopic
from potluck_daemon.topics.machine import MachineTopic
from potluck_daemon.topics.models import ModelsTopic
from potluck_daemon.topics.programs import ProgramsTopic
from potluck_daemon.topics.settings import SettingsTopic, change_settings
from potluck_daemon.topics.setup import SetupTopic
from potluck_daemon.topics.swarms import SwarmsTopic
from potluck_daemon.topics.updates import UpdatesTopic

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon

log = logging.getLogger(__name__)


TOPICS = (
    *(
        SettingsTopic,
        ProgramsTopic,
        SwarmsTopic,
        HealthTopic,
        MachineTopic,
        ContributionTopic,
        ModelsTopic,
        GatewayTopic,
        UpdatesTopic,
        SetupTopic,
    ),
)


class Commands:
    """One method here for each one of the schema."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._topics = tuple(topic(daemon) for topic in TOPICS)

    def tick(self, now: float) -> None:
        """Called every few seconds. `now`: Unix seconds."""
        for topic in self._topics:
            topic.tick(now)

    @property
    def notices(self) -> tuple[str, ...]:
        """What a status page should say."""
        return tuple(filter(None, (topic.notice for topic in self._topics)))

    async def close(self) -> None:
        """End what methods began."""
        for topic in self._topics:
            await topic.close()

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
            schema.PRESENCE.name: self._presence,
            schema.METRICS.name: self._metrics,
            schema.RELOAD.name: self._reload,
            schema.DRAIN.name: self._drain,
            schema.SHUTDOWN.name: self._shutdown,
            schema.OFFLOAD.name: self._offload,
            **{name: handler for topic in self._topics for name, handler in topic.handlers().items()},
            **EarningsTopic(self._daemon).handlers(),
        }

    async def _hello(self, params: schema.HelloParams) -> schema.Hello:
        log.debug("%s %s says hello with API %d", params.client[:60], params.version[:30], params.api)
        version, methods = self._daemon.version, tuple(schema.METHODS)
        return schema.Hello(schema.API_VERSION, version, os.getpid(), self._daemon.started_at, methods)

    async def _status(self, _: schema.Empty) -> schema.Status:
        return self._daemon.status()

    async def _pause(self, params: schema.PauseParams) -> schema.Status:
        until = None if params.seconds is None else time.time() + params.seconds
        self._daemon.pause(until, until_game_ends=params.until_game_ends)
        return self._daemon.status()

    async def _offload(self, params: schema.OffloadParams) -> schema.Status:
        self._daemon.pause(time.time() + params.seconds, at_once=True)
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

    async def _create(self, params: schema.CreateParams) -> schema.Joined:
        joined = JoinedSwarms(self._daemon.places.swarms_file)
        taken = joined.load()
        if params.name in taken:
            raise UsageError(f"there is a swarm named {params.name} already", hint="choose another name")
        model = await find_model(params.model, self._daemon.environment)
        swarm = new_swarm(params.name or free_name("home", taken), model.name, model.num_blocks, model.revision)
        if model.folder != self._daemon.loaded.settings.serve.checkpoint:
            await change_settings(self._daemon, {"serve.checkpoint": model.folder or None})
        joined.add(swarm)
        log.info("created the swarm %s", swarm.name)
        self._daemon.reload()
        return schema.Joined(swarm.name, swarm.model)

    async def _invite(self, _: schema.Empty) -> schema.Invite:
        swarm = self._daemon.invite()
        return schema.Invite(swarm.name, encode_invite(swarm))

    async def _history(self, params: schema.HistoryParams) -> schema.History:
        return schema.History(self._daemon.history.find(params))

    async def _logs(self, params: schema.LogsParams) -> schema.Logs:
        path = self._daemon.places.log_file
        return schema.Logs(str(path), logs.tail(path, params.lines))

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
