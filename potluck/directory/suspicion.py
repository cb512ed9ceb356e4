"""When a server is taken for dead before its heartbeat runs out: pure bookkeeping, the pings are the caller's.

    clients complain (two different ones within a minute), or we cannot reach it ourselves -> ping it
    it does not answer -> we suspect it, and say so in our heartbeat; it beats anew -> we do not
    two servers suspect it since its last heartbeat -> readers take it for gone (`Table.suspected`)

So one liar removes nobody: neither a client who complains of everybody, nor a server that suspects everybody.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

from potluck.directory.fields import MAX_SUSPECTS
from potluck.protocol.blocks import PeerId

COMPLAINTS = 2  # of different clients
COMPLAINT_LIVES_S = 60.0
NUM_WATCHERS = 3  # servers that are told of a failure: the same ones by all who see the same swarm
_MAX_COMPLAINED_OF = 1024


class Suspicion:
    """What one server heard of others, and whom it suspects. `now` is of any steady clock, in seconds."""

    def __init__(self) -> None:
        self._complaints: OrderedDict[PeerId, dict[PeerId, float]] = OrderedDict()
        self._suspects: OrderedDict[PeerId, None] = OrderedDict()

    @property
    def suspects(self) -> tuple[PeerId, ...]:
        """The latest ones, for the heartbeat."""
        return tuple(self._suspects)[-MAX_SUSPECTS:]

    def complain(self, client: PeerId, suspect: PeerId, now: float) -> bool:
        """Note a client's complaint; whether it is time to ping the suspect."""
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
        """It did not answer our own ping."""
        self._suspects[peer] = None
        self._suspects.move_to_end(peer)
        if len(self._suspects) > MAX_SUSPECTS:
            self._suspects.popitem(last=False)

    def clear(self, peer: PeerId) -> bool:
        """It was heard of; whether it was suspected."""
        if peer not in self._suspects:
            return False
        del self._suspects[peer]
        return True


def watchers_of(suspect: PeerId, servers: Iterable[PeerId]) -> list[PeerId]:
    """Whom to tell that `suspect` failed (rendezvous hashing): where the complaints of all clients meet."""
    others = [peer for peer in servers if peer != suspect]
    ranked = sorted(others, key=lambda peer: hashlib.sha256(f"{suspect} {peer}".encode()).digest())
    return ranked[:NUM_WATCHERS]
