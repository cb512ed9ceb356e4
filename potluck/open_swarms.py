"""The adapter that an open swarm loads for its other peers.

These functions are all that names the adapter. Nothing of it is loaded for a private swarm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from potluck.foreign import ForeignPeers
    from potluck.protocol.swarm import Swarm


def adapter_for(swarm: Swarm) -> ForeignPeers | None:
    """Return the adapter for the other peers of an open swarm."""
    if not swarm.is_open:
        return None
    from potluck.petals.adapter import PetalsPeers

    return PetalsPeers(swarm)


def default_prefix(name: str, model_type: str) -> str:
    """Return the prefix of an open swarm under which other peers look for a model."""
    from potluck.petals import prefixes

    return prefixes.default_prefix(name, model_type)
