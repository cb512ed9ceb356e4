"""`programs.*` of the control API."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from potluck_control.method import Empty
from potluck_control.methods import programs

from potluck.errors import PotluckError
from potluck.sentences import sentence
from potluck_daemon.presence.applications import MenuEntry, read_menu
from potluck_daemon.presence.probe import ProbeUnavailableError, Surroundings
from potluck_daemon.presence.processes import ProcessTable
from potluck_daemon.presence.running import choose, memory_by_program, place_of, placed
from potluck_daemon.topics.topic import Topic, answers


class ProgramsTopic(Topic):
    @answers(programs.RUNNING)
    async def _running(self, _: Empty) -> programs.Programs:
        given = self._configuration.settings.yield_
        seen, menu = await asyncio.to_thread(self._look)
        return programs.Programs(choose(seen, menu, given.always, given.never), given.always, given.never)

    @answers(programs.PLACE)
    async def _place(self, params: programs.PlaceParams) -> programs.PlacedProgram:
        given = self._configuration.settings.yield_
        before = place_of(params.app, given.always, given.never)
        if before is not params.place:
            await self._configuration.change(placed(params.app, params.place, given.always, given.never))
            self._parts.loop.look_again()
        return programs.PlacedProgram(params.app, params.place, before)

    def _look(self) -> tuple[dict[str, int], Mapping[str, MenuEntry]]:
        try:
            menu = read_menu(self._configuration.environment)
            return memory_by_program(ProcessTable(Surroundings()), os.getuid()), menu.by_executable
        except (OSError, ProbeUnavailableError) as error:
            raise PotluckError(
                sentence("the programs that run cannot be listed here"), hint=sentence("type a name instead")
            ) from error
