"""Decides what to report to the daemon, from what Windows knows. Pure.

Certain: Steam says that a game runs, a program has the screen for itself (exclusive Direct3D), a program of the user's
list runs. Likely: a full-screen program that is not one of those that are full-screen as a matter of course. The rest
of the policy (twice seen, quiet times, "never yield for this") is the daemon's.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.schema import PresenceParams
from potluck_control.states import Certainty, Reason

from potluck_app.windows.signals import Attention, UserSession

SOURCE = "Windows"
LIFETIME_S = 15.0  # an app that died does not stop the daemon for longer
# Full-screen without being games: the desktop itself, browsers, players, presentations, remote desktops.
_NO_GAMES = """
    explorer lockapp logonui searchhost startmenuexperiencehost shellexperiencehost textinputhost applicationframehost
    chrome msedge firefox opera brave vivaldi librewolf
    vlc mpv mpc-hc mpc-hc64 mpc-be mpc-be64 wmplayer potplayermini64 kodi plex stremio spotify video.ui
    powerpnt soffice.bin acrobat acrord32 sumatrapdf
    mstsc vmconnect vmware virtualboxvm teams ms-teams zoom obs64 discord steam steamwebhelper
"""
NO_GAMES = frozenset(f"{name}.exe" for name in _NO_GAMES.split())


@dataclass(frozen=True, slots=True)
class Wishes:
    """The user's settings that matter here; names of programs in lower case."""

    always: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    idle_after_s: float = 300.0


def judge(seen: UserSession, wishes: Wishes) -> tuple[PresenceParams, ...]:
    """Return what holds now, at most one report for each reason."""
    found = [_use(seen, wishes.idle_after_s)]
    if seen.is_on_battery:
        found.append(_report(Reason.BATTERY, "the battery"))
    listed = sorted(seen.programs & wishes.always)
    if listed:
        found.append(_report(Reason.EXCLUSIVE_APP, _title(listed[0]), app=listed[0]))
    front = "" if seen.foreground in wishes.never else seen.foreground
    if seen.steam_game:
        found.append(_report(Reason.GAME, seen.steam_game))
    elif seen.attention is Attention.FULL_SCREEN_3D and seen.foreground not in wishes.never:
        found.append(_report(Reason.GAME, _title(front) or "a full-screen game", app=front))
    elif seen.attention is Attention.BUSY and front and front not in NO_GAMES:
        found.append(_report(Reason.FULL_SCREEN, _title(front), Certainty.LIKELY, front))
    return tuple(found)


def _use(seen: UserSession, idle_after_s: float) -> PresenceParams:
    if seen.attention is Attention.NOT_PRESENT:
        return _report(Reason.AWAY, "the screen is locked")
    if seen.idle_s >= idle_after_s:
        return _report(Reason.AWAY, "nobody", Certainty.LIKELY)
    return _report(Reason.USER_ACTIVE, "keyboard or mouse", Certainty.LIKELY)


def _report(reason: Reason, who: str, certainty: Certainty = Certainty.CERTAIN, app: str = "") -> PresenceParams:
    return PresenceParams(SOURCE, reason, who[:128], certainty, LIFETIME_S, app)


def _title(program: str) -> str:
    return program.removesuffix(".exe")
