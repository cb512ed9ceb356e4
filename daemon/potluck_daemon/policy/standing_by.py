"""Decides whether a small node keeps this computer's place in the swarm while no engine runs. Pure."""

from __future__ import annotations

from potluck_control.states import Reason, State

from potluck_daemon.policy.decide import PREPARE_S, Decision, Rung

RETURN_FACTOR = 2  # a node that left because memory was short returns once so many times the reserve is free

# Reasons to leave the swarm: nobody could use this computer, or bytes cost something.
_LEAVES = (
    *(Reason.SHUTDOWN, Reason.SLEEP, Reason.NO_SWARM, Reason.NO_ENGINE),
    *(Reason.METERED, Reason.BATTERY, Reason.UPLOAD_CAP, Reason.DOWNLOAD_CAP, Reason.COST_CAP),
)


def stands_by(decision: Decision, *, is_memory_short: bool) -> bool:
    """Return whether to stay in the swarm without an engine: yes in a pause or a game, no where bytes cost something.

    While an engine is on its way, the answer is yes too, so that the node stays until the engine takes over.
    """
    has_engine = decision.rung in (Rung.FINISHING, Rung.OFFLOADED)
    return not has_engine and decision.reason not in _LEAVES and not is_memory_short


def is_worth_a_start(decision: Decision) -> bool:
    """Return whether a node should begin: not while an engine starts, or if it would have to leave again at once."""
    return decision.state is not State.STARTING and (decision.left_s is None or decision.left_s > PREPARE_S)
