"""Checks that games can be seen: the daemon must reach the desktop's windows, and not every desktop shows them."""

from __future__ import annotations

from potluck_control.schema import ProbeState

from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.presence.applications import ApplicationProbe
from potluck_daemon.presence.full_screen import FullScreenProbe
from potluck_daemon.presence.session import SessionProbe
from potluck_daemon.presence.toplevels import WaylandWindowsProbe

NAME = sentence("desktop")
_WORKS = (ProbeState.WATCHING, ProbeState.SEEN)


def gather(scene: Scene) -> dict[Sentence, ProbeState]:
    """Return the states of the daemon's detectors by name; empty without a daemon."""
    return {probe.name: probe.state for probe in scene.status.probes} if scene.status is not None else {}


def judge(states: dict[Sentence, ProbeState]) -> list[Finding]:
    session = states.get(SessionProbe.name)
    if session is ProbeState.FAILED:
        text = sentence(
            "a desktop runs, but its windows cannot be seen: games that do not announce themselves are missed"
        )
        return [Finding(NAME, Severity.ERROR, text, sentence("run `potluck start` in a terminal of the desktop"))]
    if session not in _WORKS:
        return [Finding(NAME, Severity.OK, sentence("no desktop is watched"))]
    if any(states.get(name) in _WORKS for name in (FullScreenProbe.name, WaylandWindowsProbe.name)):
        return [Finding(NAME, Severity.OK, sentence("windows can be seen"))]
    if states.get(ApplicationProbe.name) in _WORKS:
        text = sentence("this desktop shows no windows: games of its menu are noticed when they are busy")
        return [
            Finding(NAME, Severity.NOTE, text, sentence("`potluck programs always NAME` for a game that is missed"))
        ]
    text = sentence("nothing shows windows here: games that do not announce themselves are missed")
    return [Finding(NAME, Severity.ERROR, text, sentence("`potluck programs always NAME` for each game"))]
