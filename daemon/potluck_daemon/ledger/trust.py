"""Computes what a peer's credit is worth here. Pure.

A peer's credit is worth what we, and those we trust, received from it. What it did for us counts in full, less what we
did for it. We trust others as far as they worked for us: if A gave us 10 and says that B gave A 50, B's credit is worth
up to 10. This is a flow from us to B through what each received from the next, over at most `MAX_HOPS` peers. Whatever
peers claim to have done for each other, together they get no more than they and those they served really did for us, so
rings of peers and a hundred names of one machine gain nothing.

Source of the idea: maximum flow as a measure of trust, as in BarterCast and in credit networks. The shortest paths are
filled first and never rerouted, which gives a lower bound of the maximum flow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

P = TypeVar("P", bound=Hashable)

MAX_HOPS = 3
_TURNS = 4
"""Peers that share a path get equal parts of it in this many turns; the last turn hands out the rest."""


def worths(
    me: P,
    received: Mapping[P, int],
    given: Mapping[P, int],
    vouched: Mapping[tuple[P, P], int],
    clients: Collection[P],
) -> dict[P, int]:
    """Return microcredits of priority for each of `clients`; they add up to no more than `me` received.

    Args:
        received: what each peer did for `me`.
        given: what `me` did for each peer, which paid with credit.
        vouched: (receiver, giver) -> amount, as both of them signed.
    """
    flow = _Flow(me, received, vouched)
    for peer in sorted(given, key=lambda peer: -received.get(peer, 0)):  # partners pay with their own work first
        flow.take(peer, given[peer], hops=MAX_HOPS)
    found = {client: flow.take(client, received.get(client, 0), hops=1) for client in clients}
    for turn in range(_TURNS):
        share = flow.left if turn == _TURNS - 1 else flow.left // max(len(found), 1)
        for client in found:
            found[client] += flow.take(client, share, hops=MAX_HOPS)
    return found


class _Flow:
    """The capacity that is left of each edge."""

    def __init__(self, me: P, received: Mapping[P, int], vouched: Mapping[tuple[P, P], int]) -> None:
        self._me: Hashable = me
        self._edges: dict[Hashable, dict[Hashable, int]] = {me: {peer: n for peer, n in received.items() if n > 0}}
        for (who, giver), amount in vouched.items():
            if who != me and giver != me and amount > 0:
                self._edges.setdefault(who, {})[giver] = amount

    @property
    def left(self) -> int:
        return sum(self._edges[self._me].values())

    def take(self, peer: Hashable, amount: int, *, hops: int) -> int:
        """Use up to `amount` of the flow to `peer` over at most `hops` edges; return how much there was."""
        taken = 0
        while taken < amount and (path := self._path(peer, hops)):
            part = min(amount - taken, *(self._edges[start][end] for start, end in path))
            for start, end in path:
                self._edges[start][end] -= part
                if not self._edges[start][end]:
                    del self._edges[start][end]
            taken += part
        return taken

    def _path(self, peer: Hashable, hops: int) -> list[tuple[Hashable, Hashable]]:
        """Return the edges of the shortest path; empty if there is none."""
        if peer in self._edges[self._me]:
            return [(self._me, peer)]
        came_from: dict[Hashable, Hashable] = {self._me: self._me}
        queue = deque([(self._me, 0)])
        while queue:
            here, depth = queue.popleft()
            for there in self._edges.get(here, ()) if depth < hops else ():
                if there not in came_from:
                    came_from[there] = here
                    if there == peer:
                        return self._back(peer, came_from)
                    queue.append((there, depth + 1))
        return []

    def _back(self, peer: Hashable, came_from: Mapping[Hashable, Hashable]) -> list[tuple[Hashable, Hashable]]:
        path = []
        while peer != self._me:
            path.append((came_from[peer], peer))
            peer = came_from[peer]
        return path
