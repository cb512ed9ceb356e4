"""`programs.*` of the control API."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

from potluck_control import schema
from potluck_control.method import Empty
from potluck_control.methods import programs

from potluck.errors import PotluckError
from potluck_daemon.control.server import Handler
from potluck_daemon.presence.menu import MenuEntry, read_menu
from potluck_daemon.presence.running import UserProcess, choose, look, place_of, placed
from potluck_daemon.topics.settings import change_settings
from potluck_daemon.topics.topic import Topic

if TYPE_CHECKING:
    pass


class ProgramsTopic(Topic):
    def handlers(self) -> dict[str, Handler]:
        return {
            programs.RUNNING.name: self._running,
            programs.PLACE.name: self._place,
            schema.NEVER_YIELD.name: self._never_yield,
        }

    async def _running(self, _: Empty) -> programs.Programs:
        given = self._daemon.loaded.settings.yield_
        seen, menu = await asyncio.to_thread(self._look)
        return programs.Programs(choose(seen, menu, given.always, given.never), given.always, given.never)

    async def _place(self, params: programs.PlaceParams) -> programs.Placed:
        """What it gives way to now is looked at anew."""
        given = self._daemon.loaded.settings.yield_
        before = place_of(params.app, given.always, given.never)
        if before is not params.place:
            await change_settings(self._daemon, placed(params.app, params.place, given.always, given.never))
            self._daemon.look_again()
        return programs.Placed(params.app, params.place, before)

    async def _never_yield(self, params: schema.NeverYieldParams) -> schema.Status:
        await self._place(programs.PlaceParams(params.app, programs.Place.NEVER))
        return self._daemon.status()

    def _look(self) -> tuple[list[UserProcess], dict[str, MenuEntry]]:
        try:
            return look(Path("/proc"), os.getuid(), {os.getpid()}), read_menu(self._daemon.environment)
        except OSError as error:
            raise PotluckError("the programs that run cannot be listed here", hint="type a name instead") from error
