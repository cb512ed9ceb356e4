"""`machine.*` and `login.*` of the control API."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from potluck_control.method import Empty
from potluck_control.methods import machine

from potluck.errors import UsageError
from potluck_daemon.configuration import Configuration
from potluck_daemon.environment.interpreter import has_torch
from potluck_daemon.host import login
from potluck_daemon.lookout import Lookout
from potluck_daemon.metering.measuring import Measuring
from potluck_daemon.topics.topic import Topic, answers


class MachineTopic(Topic):
    def __init__(self, configuration: Configuration, lookout: Lookout, measuring: Measuring) -> None:
        self._configuration = configuration
        self._lookout = lookout
        self._measuring = measuring

    @answers(machine.GET)
    async def _get(self, _: Empty) -> machine.Machine:
        found = await self._measuring.machine()
        return replace(found, has_engine=has_torch(self._configuration.engine_python))

    @answers(machine.MEASURE)
    async def _measure(self, _: Empty) -> machine.Machine:
        if self._lookout.has_game:
            raise UsageError("somebody needs the device now", hint="measure when the game has ended")
        python = self._configuration.engine_python
        if not has_torch(python):
            raise UsageError("the engine's environment is missing", hint="make it with: potluck setup")
        self._measuring.start(python, self._configuration.engine_environment())
        return await self._get(Empty())

    @answers(machine.LOGIN)
    async def _login(self, _: Empty) -> machine.LoginStart:
        configuration = self._configuration
        return await asyncio.to_thread(login.read_login, configuration.environment, configuration.places)

    @answers(machine.SET_LOGIN)
    async def _set_login(self, params: machine.LoginParams) -> machine.LoginStart:
        if params.app is not None:
            await asyncio.to_thread(login.set_app, self._configuration.environment, params.app)
        if params.daemon is not None:
            await asyncio.to_thread(login.set_daemon, self._configuration.places, params.daemon)
        return await self._login(Empty())
