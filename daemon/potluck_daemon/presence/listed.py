"""The user's own list: yields while one of the named programs runs."""

from __future__ import annotations

from collections.abc import Iterable

from potluck_control.states import Reason

from potluck_daemon.presence.probe import Report, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable, Program, watch_programs

INTERVAL_S = 0.1  # a look at a quiet machine costs 30 us


class ListedProgramsProbe:
    """Certain evidence for every running program that goes by one of `names`."""

    def __init__(self, table: ProcessTable, names: Iterable[str]) -> None:
        self._table = table
        self._names = {name.lower(): name for name in names}

    @property
    def name(self) -> str:
        return "Listed programs"

    async def watch(self, report: Report, situation: Situation) -> None:
        await watch_programs(self._table, self.judge, report, situation, interval_s=INTERVAL_S)

    def judge(self, program: Program) -> Sighting | None:
        listed = next((self._names[name] for name in program.names if name in self._names), None)
        if listed is None:
            return None
        return Sighting(Reason.EXCLUSIVE_APP, listed, app=listed.lower())
