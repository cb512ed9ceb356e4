"""Judges the active window: is it a game that nothing announced? Pure.

    not a game       the list of other programs, or the menu gives it categories without Game
    certain          full-screen, and the menu says that it is a game
    likely           full-screen, and it asks for no compositor, has a game controller open, or is busy;
                     in a window, and the menu gives it away, and it does something
    weak             everything else that is full-screen, or of which the menu says that it is a game
    unsure           in a window, nothing gives it away, but it is busy without a break: the user is asked

A film fills the screen, too, and a paused game is idle, so each fact alone says little. A game that was confirmed stays
one while its process lives, also minimised; a window that only was busy counts for ten minutes after it was last seen.
Source for the hint: https://specifications.freedesktop.org/wm-spec/latest (_NET_WM_BYPASS_COMPOSITOR).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.applications import MenuEntry, is_desktop_program
from potluck_daemon.presence.probe import WEAK_SHARE, Sighting
from potluck_daemon.presence.processes import Program

HOLD_S = 600.0  # a game that nothing but its looks gave away counts for so long after it was left
ASK_AFTER_S = 20.0  # of being busy; most programs that load or compute something are done by then
_CONFIRM_SHARE = 0.8  # of the interval between two looks: a timer may fire a little early
_QUIET_LOOKS = 2.5  # intervals for which a game that is not confirmed yet may be idle
_RUNTIMES = ("perl", "python", "java", "ruby", "mono", "love", "electron", "sdl", "process ")  # no names of games


@dataclass(frozen=True, slots=True)
class ActiveWindow:
    """What the X server or the compositor tells of the window that has the focus."""

    pid: int | None
    name: str  # its class or application id
    is_full_screen: bool
    wants_no_compositor: bool = False


@dataclass(frozen=True, slots=True)
class Signs:
    """What else is known about the program of a window."""

    program: Program
    entry: MenuEntry | None = None  # of the desktop's menu
    has_controller: bool = False  # looked for when it is full-screen
    cpu_percent: float = 0.0  # of one core since the last look; 0 at the first
    busy_for_s: float = 0.0  # without a break, and in front


@dataclass(frozen=True, slots=True)
class Judgement:
    sighting: Sighting
    is_known: bool = False  # full-screen, and something beside being busy gives it away


@dataclass(frozen=True, slots=True)
class Play:
    """A game, from the first look that took its window for one."""

    judgement: Judgement
    program: Program
    first: float
    last: float
    is_confirmed: bool = False


def is_other(signs: Signs) -> bool:
    """Return whether the program is certainly no game."""
    return is_desktop_program(signs.program) or (signs.entry is not None and signs.entry.is_other)


def judge(window: ActiveWindow, signs: Signs, *, busy_percent: float) -> Judgement | None:
    """Return what the active window is taken for; None: no game."""
    if is_other(signs):
        return None
    is_menu_game = signs.entry is not None and signs.entry.is_game
    if window.is_full_screen:
        has_trait = is_menu_game or signs.has_controller or window.wants_no_compositor
        is_busy = signs.cpu_percent >= busy_percent
        certainty = Certainty.LIKELY if has_trait or is_busy else Certainty.WEAK
        certainty = Certainty.CERTAIN if is_menu_game else certainty
        reason = Reason.GAME if has_trait else Reason.FULL_SCREEN
        return Judgement(_sighting(reason, certainty, window, signs), is_known=has_trait)
    if not is_menu_game:
        unsure = replace(_sighting(Reason.FULL_SCREEN, Certainty.WEAK, window, signs), is_unsure=True)
        return Judgement(unsure) if signs.busy_for_s >= ASK_AFTER_S else None
    is_active = signs.cpu_percent >= busy_percent * WEAK_SHARE
    certainty = Certainty.LIKELY if is_active else Certainty.WEAK
    return Judgement(_sighting(Reason.GAME, certainty, window, signs))


def remember(
    plays: Mapping[int, Play],
    seen: tuple[Program, Judgement] | None,
    now: float,
    *,
    interval_s: float,
    is_alive: Callable[[Program], bool],
) -> dict[int, Play]:
    """Return the games that go on after a look: those that still run, and the one that was just seen."""
    kept = {
        pid: play
        for pid, play in plays.items()
        if is_alive(play.program) and (play.judgement.is_known or now - play.last < HOLD_S)
    }
    recent = now - interval_s * _QUIET_LOOKS
    kept = {pid: play for pid, play in kept.items() if play.is_confirmed or play.last >= recent}
    if seen is None or seen[1].sighting.certainty is Certainty.WEAK:
        return kept
    program, judgement = seen
    before = kept.get(program.pid)
    if before is None or before.program.comm != program.comm:
        before = Play(judgement, program, now, now)
    is_certain = judgement.sighting.certainty is Certainty.CERTAIN
    is_confirmed = before.is_confirmed or is_certain or now - before.first >= interval_s * _CONFIRM_SHARE
    is_known = judgement.is_known or before.judgement.is_known
    if before.is_confirmed and not is_certain:  # one thing keeps one name, in a window or full-screen
        judgement = before.judgement
    play = Play(replace(judgement, is_known=is_known), program, before.first, now, is_confirmed)
    return kept | {program.pid: play}


def sightings(plays: Mapping[int, Play], seen: tuple[Program, Judgement] | None) -> tuple[Sighting, ...]:
    """Return what to report: games that go on, and what was just seen, however weak."""
    found = {pid: play.judgement.sighting for pid, play in plays.items() if play.is_confirmed}
    if seen is not None:
        found.setdefault(seen[0].pid, seen[1].sighting)
    return tuple(dict.fromkeys(found.values()))


def _sighting(reason: Reason, certainty: Certainty, window: ActiveWindow, signs: Signs) -> Sighting:
    return Sighting(reason, _title(window, signs), certainty, signs.program.app)


def _title(window: ActiveWindow, signs: Signs) -> str:
    """Return the name that people know."""
    if signs.entry is not None and signs.entry.is_game:
        return signs.entry.title
    is_runtime = window.name.lower().startswith(_RUNTIMES)
    return signs.program.app if is_runtime or not window.name else window.name
