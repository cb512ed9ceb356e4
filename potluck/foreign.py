"""Loads the adapter for peers of another implementation, which a private swarm never does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from potluck.petals.adapter import PetalsPeers
    from potluck.protocol.swarm import Swarm


def adapter_for(swarm: Swarm) -> PetalsPeers | None:
    """Return the adapter for the other peers of an open swarm."""
    if not swarm.is_open:
        return None
    from potluck.petals.adapter import PetalsPeers

    return PetalsPeers(swarm)
