"""The table of all checks: a question, the function that measures, and the judge that answers with a remedy.

A check that fails itself becomes a finding.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from potluck_control.places import Places
from potluck_control.schema import Status

from potluck.errors import PotluckError
from potluck.membership.joined import chosen_swarm
from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor import computer, network
from potluck_daemon.doctor.finding import Diagnosis, Finding, Scene, Severity
from potluck_daemon.settings.state import StateFile
from potluck_daemon.settings.store import load

log = logging.getLogger(__name__)


def _known(_: Scene) -> None:
    """Measure nothing, for a check of what the scene already holds."""


CHECKS: tuple[tuple[Sentence, Callable[[Scene], Any], Callable[[Scene, Any], Diagnosis]], ...] = (
    (sentence("Are the settings right?"), _known, computer.judge_settings),
    (sentence("Does the daemon run?"), computer.installed_version, computer.judge_daemon),
    (sentence("Is the engine installed?"), computer.is_engine_installed, computer.judge_engine),
    (sentence("Can a GPU be used?"), computer.find_graphics, computer.judge_graphics),
    (sentence("Is there enough memory?"), computer.read_memory, computer.judge_memory),
    (sentence("Is there room on the disk?"), computer.visit_disks, computer.judge_disks),
    (sentence("Is the clock right?"), computer.read_clock, computer.judge_clock),
    (sentence("Can games be seen?"), _known, computer.judge_desktop),
    (sentence("Can the engine use its port?"), network.is_port_taken, network.judge_port),
    (sentence("Can others reach this computer?"), network.outer_addresses, network.judge_reach),
    (sentence("Does the swarm answer?"), network.count_answering, network.judge_swarm),
    (sentence("Who can use the gateway?"), _known, network.judge_gateway),
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


def examine(scene: Scene) -> Iterator[Finding]:
    """Yield the finding of each check."""
    for question, measure, judge in CHECKS:
        try:
            verdict = judge(scene, measure(scene))
        except Exception as error:  # the edge: one check must not hide the others
            log.debug("the check %r failed", str(question), exc_info=True)
            verdict = Diagnosis(Severity.NOTE, sentence("could not be checked ({why})", why=type(error).__name__))
        yield Finding(question, *verdict)
