"""Windows games without Steam: Proton by another launcher (umu, Lutris, Heroic), or plain Wine.

A program below a game launcher's wrapper is likely a game. One under plain Wine may be anything, so it is a weak sign
that needs another one. The services of Wine, installers and the launchers' own windows are none.
"""

from __future__ import annotations

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.probe import Report, Sighting, Situation
from potluck_daemon.presence.processes import ProcessTable, Program, base_name, watch_programs

INTERVAL_S = 1.0

_WRAPPERS = """
    gogdl heroic-run legendary lutris-wrapper nile pressure-vessel-adverb proton pv-adverb pv-bwrap umu-launcher
    umu-run umu_run.py
"""
_SERVICES = """
    wineboot winedevice winemenubuilder winecfg winedbg wineconsole services explorer plugplay svchost rpcss
    tabtip conhost start steam iexplore rundll32 regedit regsvr32 cmd reg notepad xalia
"""
_INSTALLERS = """
    msiexec setup vcredist_x64 vcredist_x86 vc_redist.x64 vc_redist.x86 dxsetup iscriptevaluator dotnetfx ngen
    mscorsvw unins000 crashpad_handler unitycrashhandler64 unitycrashhandler32 crashreportclient
"""
_LAUNCHERS = """
    epicgameslauncher epicwebhelper battle.net agent upc uplaywebcore ubisoftconnect eadesktop
    eabackgroundservice origin galaxyclient rockstarservice launcher steamwebhelper socialclubhelper
"""
WRAPPERS = frozenset(_WRAPPERS.split())
NO_GAMES = frozenset(f"{name}.exe" for name in (_SERVICES + _INSTALLERS + _LAUNCHERS).split())


class WineProbe:
    """Likely evidence for a Windows program below a game launcher, weak evidence for any other."""

    def __init__(self, table: ProcessTable) -> None:
        self._table = table

    @property
    def name(self) -> str:
        return "Proton and Wine"

    async def watch(self, report: Report, situation: Situation) -> None:
        await watch_programs(self._table, self.judge, report, situation, interval_s=INTERVAL_S)

    def judge(self, program: Program) -> Sighting | None:
        first = program.arguments[0] if program.arguments else ""
        is_windows = first.lower().endswith(".exe") or program.comm.startswith("wine")
        if not is_windows or not program.app.endswith(".exe") or program.app in NO_GAMES:
            return None
        is_launched = any(_is_wrapper(item) for item in self._table.ancestors(program))
        certainty = Certainty.LIKELY if is_launched else Certainty.WEAK
        return Sighting(Reason.GAME, _title(program), certainty, program.app)


def _is_wrapper(program: Program) -> bool:
    return not WRAPPERS.isdisjoint((program.comm, *map(base_name, program.arguments[:2])))


def _title(program: Program) -> str:
    """As the file is written, without its ending."""
    path = next(item for item in reversed(program.arguments) if item.lower().endswith(".exe"))
    return path.replace("\\", "/").rsplit("/", 1)[-1][:-4]
