"""The table of all checks: a question, the function that measures, and the judge that answers with a remedy.

A check that raises becomes a finding, too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

from potluck_control.api.schema import Status
from potluck_control.methods.health import Finding
from potluck_control.places import Places

from potluck.allowance import memory
from potluck.errors import PotluckError
from potluck.membership.joined import chosen_swarm
from potluck.p2p.listening import outer_ips, own_ips
from potluck.sentences import Sentence, sentence
from potluck_daemon.doctor import computer, network
from potluck_daemon.doctor.finding import NOTE, Diagnosis, Scene
from potluck_daemon.environment.hardware import read_hardware
from potluck_daemon.settings.state import StateFile
from potluck_daemon.settings.store import load_settings

log = logging.getLogger(__name__)


# A check of something that the scene already holds measures nothing.
CHECKS: tuple[tuple[Sentence, Callable[[Scene], Any], Callable[[Scene, Any], Diagnosis]], ...] = (
    (sentence("Are the settings right?"), lambda _: None, computer.judge_settings),
    (sentence("Does the daemon run?"), lambda _: version("potluck"), computer.judge_daemon),
    (sentence("Is the engine installed?"), computer.is_engine_installed, computer.judge_engine),
    (sentence("Can a GPU be used?"), lambda _: read_hardware(), computer.judge_graphics),
    (sentence("Is there enough memory?"), lambda _: memory(), computer.judge_memory),
    (sentence("Is there room on the disk?"), computer.read_disks, computer.judge_disks),
    (sentence("Is the clock right?"), computer.read_clock, computer.judge_clock),
    (sentence("Can games be seen?"), lambda _: None, computer.judge_desktop),
    (sentence("Can the engine use its port?"), network.is_port_taken, network.judge_port),
    (sentence("Can others reach this computer?"), lambda _: outer_ips(own_ips()), network.judge_reach),
    (sentence("Does the swarm answer?"), network.count_answering, network.judge_swarm),
    (sentence("Who can use the gateway?"), lambda _: None, network.judge_gateway),
)


def read_scene(places: Places, found: Status | PotluckError) -> Scene:
    """Read what all checks start from. Never raises for what files hold.

    Args:
        found: the running daemon's status, or why there is none.
    """
    loaded = load_settings(places.settings_file)
    file = StateFile(places.state_file)
    file.load()
    served = file.state.swarm.name if file.state.swarm is not None else ""
    chosen, _ = chosen_swarm(places.swarms_file, loaded.settings.serve.swarm, served)
    swarm = None if chosen is None else chosen.swarm
    status, away = (None, found) if isinstance(found, PotluckError) else (found, None)
    return Scene(places, loaded, swarm, file.state.port, status, away)


def examine(scene: Scene) -> Iterator[Finding]:
    """Yield the finding of each check."""
    for question, measure, judge in CHECKS:
        try:
            verdict = judge(scene, measure(scene))
        except Exception as error:  # the edge: one check must not hide the others
            log.debug("the check %r failed", str(question), exc_info=True)
            verdict = Diagnosis(NOTE, sentence("could not be checked ({why})", why=type(error).__name__))
        yield Finding(question, *verdict)
