"""Reports to the daemon what Windows knows of its user: what to report, and the thread that does so.

What to report is pure. Certain: Steam says that a game runs, a program has the screen for itself (exclusive Direct3D),
a program of the user's list runs. Likely: a full-screen program, unless it is usually full-screen. The rest of the
policy (seen twice, quiet times, "never yield for this") is the daemon's.

The thread reports changes at once, repeats what holds before the daemon forgets it, and withdraws what ended. While the
daemon is away it rests; the app's link notices when the daemon is back.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import structs
from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.methods import settings
from potluck_control.states import Certainty, Reason

from potluck.errors import PotluckError
from potluck_app.windows.user_session import Attention, UserSession

SOURCE = "Windows"
LIFETIME_S = 15.0  # reports of an app that died expire after this time
# Full-screen without being games: the desktop itself, browsers, players, presentations, remote desktops.
_NO_GAMES = """
    explorer lockapp logonui searchhost startmenuexperiencehost shellexperiencehost textinputhost applicationframehost
    chrome msedge firefox opera brave vivaldi librewolf
    vlc mpv mpc-hc mpc-hc64 mpc-be mpc-be64 wmplayer potplayermini64 kodi plex stremio spotify video.ui
    powerpnt soffice.bin acrobat acrord32 sumatrapdf
    mstsc vmconnect vmware virtualboxvm teams ms-teams zoom obs64 discord steam steamwebhelper
"""
NO_GAMES = frozenset(f"{name}.exe" for name in _NO_GAMES.split())
log = logging.getLogger(__name__)
POLL_S = 1.0
REPEAT_S = LIFETIME_S / 3
SETTINGS_S = 30.0  # a change of the settings takes effect within this time


@dataclass(frozen=True, slots=True)
class PresenceSettings:
    """The user's settings that matter here. Names of programs are in lower case."""

    always: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    idle_after_s: float = 300.0


def presence_reports(seen: UserSession, chosen: PresenceSettings) -> tuple[schema.PresenceParams, ...]:
    """Return what holds now, at most one report for each reason."""
    found = [_use(seen, chosen.idle_after_s)]
    if seen.is_on_battery:
        found.append(_report(Reason.BATTERY, "the battery"))
    listed = sorted(seen.programs & chosen.always)
    if listed:
        found.append(_report(Reason.EXCLUSIVE_APP, _title(listed[0]), app=listed[0]))
    front = "" if seen.foreground in chosen.never else seen.foreground
    if seen.steam_game:
        found.append(_report(Reason.GAME, seen.steam_game))
    elif seen.attention is Attention.FULL_SCREEN_3D and seen.foreground not in chosen.never:
        found.append(_report(Reason.GAME, _title(front) or "a full-screen game", app=front))
    elif seen.attention is Attention.BUSY and front and front not in NO_GAMES:
        found.append(_report(Reason.FULL_SCREEN, _title(front), Certainty.LIKELY, front))
    return tuple(found)


def _use(seen: UserSession, idle_after_s: float) -> schema.PresenceParams:
    if seen.attention is Attention.NOT_PRESENT:
        return _report(Reason.AWAY, "the screen is locked")
    if seen.idle_s >= idle_after_s:
        return _report(Reason.AWAY, "nobody", Certainty.LIKELY)
    return _report(Reason.USER_ACTIVE, "keyboard or mouse", Certainty.LIKELY)


def _report(reason: Reason, who: str, certainty: Certainty = Certainty.CERTAIN, app: str = "") -> schema.PresenceParams:
    return schema.PresenceParams(SOURCE, reason, who[:128], certainty, LIFETIME_S, app)


def _title(program: str) -> str:
    return program.removesuffix(".exe")


class PresenceReporter:
    """The thread that reports what `look` sees of the user's session."""

    def __init__(
        self, client: ControlClient, look: Callable[[], UserSession], clock: Callable[[], float] = time.monotonic
    ):
        self._client = client
        self._look = look
        self._clock = clock
        self._chosen, self._chosen_at = PresenceSettings(), -SETTINGS_S
        self._reported: dict[Reason, tuple[schema.PresenceParams, float]] = {}
        self._stopped = threading.Event()
        self.is_connected = threading.Event()  # `report_presence` sets and clears it

    def start(self) -> None:
        threading.Thread(target=self._run, name="presence", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()
        self.is_connected.set()

    def report(self) -> None:
        """Look once, and report what changed. Raises PotluckError if the daemon does not answer."""
        now = self._clock()
        if now - self._chosen_at >= SETTINGS_S:
            self._chosen, self._chosen_at = presence_settings(self._client.call(settings.GET)), now
        holds = {report.reason: report for report in presence_reports(self._look(), self._chosen)}
        for reason in self._reported.keys() - holds.keys():
            self._client.call(schema.PRESENCE, structs.replace(self._reported[reason][0], lifetime_s=0.0))
            del self._reported[reason]
        for reason, report in holds.items():
            before, reported_at = self._reported.get(reason, (None, now))
            if report != before or now - reported_at >= REPEAT_S:
                self._client.call(schema.PRESENCE, report)
                self._reported[reason] = (report, now)

    def forget(self) -> None:
        """Report everything again at the next look, because the daemon is a new one."""
        self._reported.clear()

    def _run(self) -> None:
        while self.is_connected.wait() and not self._stopped.is_set():
            try:
                self.report()
            except PotluckError as error:  # the daemon went away; the link reports its return
                log.info("presence was not reported: %s", error)
                self.forget()
            self._stopped.wait(POLL_S)


def presence_settings(page: settings.SettingsPage) -> PresenceSettings:
    """Return the settings in force that matter here."""
    values = {item.key: item.value for section in page.sections for item in section.settings}

    def names(key: str) -> frozenset[str]:
        value = values.get(key, ())
        return frozenset(map(_file_name, value)) if isinstance(value, tuple) else frozenset()

    idle = values.get("when.idle_after_s")
    idle_s = float(idle) if isinstance(idle, int | float) else PresenceSettings().idle_after_s
    return PresenceSettings(names("yield.always"), names("yield.never"), idle_s)


def _file_name(program: str) -> str:
    """Return the file name of a program that people call, say, "Blender"."""
    name = program.lower()
    return name if name.endswith(".exe") else f"{name}.exe"
