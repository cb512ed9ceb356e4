"""Runs all checks. A check that fails itself becomes a finding."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from potluck_control.places import Places
from potluck_control.schema import Status

from potluck.errors import PotluckError
from potluck.membership.joined import chosen_swarm
from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor import clock, desktop, disk, gateway, gpu, memory, nat, packages, port, service, swarm
from potluck_daemon.doctor.finding import Finding, Scene, Severity
from potluck_daemon.settings.state import StateFile
from potluck_daemon.settings.store import load

log = logging.getLogger(__name__)

CHECKS: tuple[tuple[Sentence, Callable[[Scene], Any], Callable[[Any], list[Finding]]], ...] = tuple(
    (module.NAME, module.gather, module.judge)
    for module in (service, packages, gpu, memory, disk, clock, port, nat, gateway, swarm, desktop)
)


def read_scene(places: Places, found: Status | PotluckError) -> Scene:
    """Read what all checks start from; `found`: the running daemon's status, or why there is none.

    Never raises for what files hold.
    """
    loaded = load(places.settings_file)
    memory = StateFile(places.state_file)
    memory.load()
    served = memory.state.swarm.name if memory.state.swarm is not None else ""
    chosen, _ = chosen_swarm(places.swarms_file, loaded.settings.serve.swarm, served)
    swarm = None if chosen is None else chosen.swarm
    if isinstance(found, PotluckError):
        return Scene(places, loaded, swarm, memory.state.port, None, found)
    return Scene(places, loaded, swarm, memory.state.port, found)


def examine(scene: Scene) -> list[Finding]:
    return [finding for found in examine_each(scene) for finding in found]


def examine_each(scene: Scene) -> Iterator[list[Finding]]:
    """Yield the findings of each check."""
    for name, gather, judge in CHECKS:
        try:
            yield judge(gather(scene))
        except Exception as error:  # the edge: one check must not hide the others
            log.debug("check %s failed", name, exc_info=True)
            yield [Finding(name, Severity.NOTE, sentence("could not be checked ({why})", why=type(error).__name__))]
