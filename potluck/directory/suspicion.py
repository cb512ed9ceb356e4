"""Decides when a server counts as dead before its heartbeat expires. Pure bookkeeping: the caller sends the pings.

    two clients complain within a minute, or we cannot reach the server ourselves -> ping it
    it does not answer -> suspect it and say so in our heartbeat, until it sends a new heartbeat
    two servers suspect it since its last heartbeat -> readers regard it as gone (`Table.suspected`)

A single liar removes nobody, neither a client that complains of everybody nor a server that suspects everybody.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

from potluck.directory.fields import MAX_SUSPECTS
from potluck.protocol.blocks import PeerId

COMPLAINTS = 2  # by different clients
COMPLAINT_LIVES_S = 60.0
NUM_WATCHERS = 3  # servers that hear of a failure; all clients that see the same swarm choose the same ones
_MAX_COMPLAINED_OF = 1024


class Suspicion:
    """The complaints that one server has heard, and its suspects. `now` is in seconds of a steady clock."""

    def __init__(self) -> None:
        self._complaints: OrderedDict[PeerId, dict[PeerId, float]] = OrderedDict()
        self._suspects: OrderedDict[PeerId, None] = OrderedDict()

    @property
    def suspects(self) -> tuple[PeerId, ...]:
        """Return the latest suspects, for the heartbeat."""
        return tuple(self._suspects)[-MAX_SUSPECTS:]

    def complain(self, client: PeerId, suspect: PeerId, now: float) -> bool:
        """Note a client's complaint; return whether it is time to ping the suspect."""
        clients = self._complaints.setdefault(suspect, {})
        self._complaints.move_to_end(suspect)
        if len(self._complaints) > _MAX_COMPLAINED_OF:
            self._complaints.popitem(last=False)
        clients[client] = now
        for other in [other for other, when in clients.items() if now - when > COMPLAINT_LIVES_S]:
            del clients[other]
        if len(clients) < COMPLAINTS:
            return False
        del self._complaints[suspect]
        return True

    def suspect(self, peer: PeerId) -> None:
        """Note that a server did not answer our ping."""
        self._suspects[peer] = None
        self._suspects.move_to_end(peer)
        if len(self._suspects) > MAX_SUSPECTS:
            self._suspects.popitem(last=False)

    def clear(self, peer: PeerId) -> bool:
        """Note that a server was heard of; return whether it was suspected."""
        if peer not in self._suspects:
            return False
        del self._suspects[peer]
        return True


def watchers_of(suspect: PeerId, servers: Iterable[PeerId]) -> list[PeerId]:
    """Return the servers to tell that `suspect` failed; rendezvous hashing brings all clients' complaints together."""
    others = [peer for peer in servers if peer != suspect]
    ranked = sorted(others, key=lambda peer: hashlib.sha256(f"{suspect} {peer}".encode()).digest())
    return ranked[:NUM_WATCHERS]
