"""A swarm and the invite to it.

A swarm is one model at one revision and the people who share it. Private by default: whoever holds the invite holds
the membership key and may serve, use and invite. An open swarm has no key; anybody may speak to it, stock peers too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LOCAL_REVISION = "local"  # of a checkpoint in a folder, which is on no hub


@dataclass(frozen=True, slots=True)
class Swarm:
    """Everything one needs to join. `str(swarm)` never shows the key."""

    name: str
    model: str  # hub name, or the name under which a local checkpoint is known
    num_blocks: int
    prefix: str  # of block uids: no dot, no space
    revision: str = "main"
    bootstrap_peers: tuple[str, ...] = ()  # full multiaddrs ending in /p2p/<peer id>
    membership_key: bytes | None = field(default=None, repr=False)  # 32 bytes; None: open

    @property
    def is_open(self) -> bool:
        return self.membership_key is None
