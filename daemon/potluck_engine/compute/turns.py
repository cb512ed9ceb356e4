"""Shares compute between people who compete for it. Pure: no lock, no clock.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): each client (a person with all their machines; in an open swarm a
peer) has a virtual time that advances by its compute divided by its share, and the client that is furthest behind is
next. A client that was away begins at the present time, so that nobody can save turns up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping

from potluck.protocol.blocks import PersonId

LEFTOVER = 1 / 32
"""The part of the compute that all clients share equally, whatever they are worth.

With more, opening a hundred names in an open swarm would pay; with less, strangers would starve beside a busy donor.
"""

_FINE = 4
"""By how many tokens the shares of one step may be off."""

Shares = Callable[[Collection[PersonId]], Mapping[PersonId, float]]
"""Returns a share above 0 for each of the clients that compete now."""


def equal_shares(clients: Collection[PersonId]) -> Mapping[PersonId, float]:
    return dict.fromkeys(clients, 1.0)


def shares_by_worth(worth: Mapping[PersonId, int], clients: Collection[PersonId]) -> Mapping[PersonId, float]:
    """Return shares in proportion to the clients' worth; equal ones if nobody is worth anything.

    Because of the proportion, splitting work over several names gains nothing.
    """
    total = sum(worth.get(client, 0) for client in clients)
    if not total:
        return equal_shares(clients)
    leftover = LEFTOVER / len(clients)
    return {client: (1 - LEFTOVER) * worth.get(client, 0) / total + leftover for client in clients}


class Turns:
    """Keeps the virtual times of all clients that wait or have waited lately."""

    def __init__(self, shares: Shares = equal_shares) -> None:
        self._shares = shares
        self._times: dict[PersonId, float] = {}
        self._now = 0.0

    def first(self, clients: Collection[PersonId]) -> PersonId:
        """Return the client that is furthest behind; of equals, the first one."""
        times = self._current(clients)
        chosen = min(clients, key=times.__getitem__)
        self._now = times[chosen]
        return chosen

    def order(self, clients: Collection[PersonId]) -> list[PersonId]:
        """Return the clients, the one that is furthest behind first."""
        return sorted(clients, key=self._current(clients).__getitem__)

    def divide(self, wanted: Mapping[PersonId, int], budget: int, piece: int) -> dict[PersonId, int]:
        """Divide `budget`, each part to the client that is furthest behind. Clients that get nothing are left out.

        Args:
            piece: the size of a client's first part.
        """
        left = dict(wanted)
        given: dict[PersonId, int] = {}
        times = dict(self._current(left))
        self._now = min(times[client] for client in left)
        shares = self._shares(left)
        while budget > 0 and left:
            client = min(left, key=times.__getitem__)
            part = min(left[client], _FINE if client in given else piece, budget)
            times[client] += part / shares[client]
            given[client] = given.get(client, 0) + part
            budget -= part
            left[client] -= part
            if not left[client]:
                del left[client]
        return given

    def charge(self, given: Mapping[PersonId, int], rivals: Collection[PersonId], most: float = math.inf) -> None:
        """Charge clients for the amounts that they were given.

        Args:
            rivals: all clients that compete now.
            most: the largest amount for which a client can be charged ahead of the present time.
        """
        shares = self._shares({*rivals, *given})
        times = self._current(given)
        for client, amount in given.items():
            limit = max(self._now + most / shares[client], times[client])
            times[client] = min(times[client] + amount / shares[client], limit)

    def _current(self, clients: Collection[PersonId]) -> dict[PersonId, float]:
        """Return the virtual times after moving those of `clients` to the present and dropping old ones."""
        if len(self._times) > 4 * len(clients) + 64:
            self._times = {client: time for client, time in self._times.items() if time > self._now}
        for client in clients:
            self._times[client] = max(self._times.get(client, self._now), self._now)
        return self._times
