"""Programs that are no games although they use the GPU or fill the screen, and the judgement of GPU use.

The names are data: `resources/programs/not-games.toml`. Only the guesses (windows, use of the GPU, inherited
environments) look here; the user's always-yield list outranks it.
"""

from __future__ import annotations

import functools
import tomllib

from potluck_control.resources import resource
from potluck_control.states import Certainty, Reason

from potluck_daemon.presence.probe import Sighting
from potluck_daemon.presence.processes import Program

WEAK_SHARE = 0.4  # of the share that makes a program likely to be a game: full-screen with this much is one


@functools.cache
def not_games() -> frozenset[str]:
    """Return the names of programs that are no games, in lower case."""
    groups = tomllib.loads(resource("programs/not-games.toml").read_text()).values()
    return frozenset(name for group in groups for name in group["programs"])


def is_desktop_program(program: Program) -> bool:
    """Return whether the program is no game by its own name; what it was started with does not count."""
    return not not_games().isdisjoint(program.own_names)


def gpu_use(program: Program, percent: float, *, busy_percent: float, pci: str) -> Sighting | None:
    """Judge a program by its share of a GPU: likely a game from `busy_percent` on, a weak sign for less."""
    if percent < busy_percent * WEAK_SHARE or is_desktop_program(program):
        return None
    certainty = Certainty.LIKELY if percent >= busy_percent else Certainty.WEAK
    return Sighting(Reason.GPU_BUSY, program.app, certainty, program.app, pci)
