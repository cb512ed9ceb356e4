"""`swarms.*` of the control API."""

from __future__ import annotations

import logging

from potluck_control.method import Empty
from potluck_control.methods import swarms

from potluck_daemon.control.server import Handler
from potluck_daemon.swarms.joined import JoinedSwarms
from potluck_daemon.topics.settings import change_settings
from potluck_daemon.topics.topic import Topic

log = logging.getLogger(__name__)


class SwarmsTopic(Topic):
    def handlers(self) -> dict[str, Handler]:
        return {swarms.LIST.name: self._list, swarms.LEAVE.name: self._leave}

    async def _list(self, _: Empty) -> swarms.Swarms:
        served = self._daemon.swarm
        name = served.name if served is not None else None
        known = JoinedSwarms(self._daemon.places.swarms_file).load().values()
        return swarms.Swarms(
            tuple(
                swarms.JoinedSwarm(swarm.name, swarm.model, swarm.num_blocks, swarm.is_open, swarm.name == name)
                for swarm in known
            )
        )

    async def _leave(self, params: swarms.LeaveParams) -> swarms.Left:
        """Another one that was joined is served from now on; the engine tells the swarm that it goes."""
        JoinedSwarms(self._daemon.places.swarms_file).remove(params.name)
        log.info("left the swarm %s", params.name)
        if self._daemon.loaded.settings.serve.swarm == params.name:
            await change_settings(self._daemon, {"serve.swarm": None})
        self._daemon.reload()
        return swarms.Left(params.name)
