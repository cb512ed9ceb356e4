"""How many newcomers an enroller's node takes from one part of the network. No I/O and no clock."""

from __future__ import annotations

import ipaddress
from collections import deque
from dataclasses import dataclass, field

NEWCOMERS_OF_A_PLACE = 8  # a day: a household, or some people of one provider
_DAY_S = 86_400
_MAX_PLACES = 8192  # remembered; then the oldest is forgotten
_IPV4_BITS, _IPV6_BITS = 24, 48  # what one person usually gets from a provider at once


def place_of(origin: str) -> str:
    """Return the range of an address: /24 of an IPv4 one, /48 of an IPv6 one; unknown addresses share one place.

    Args:
        origin: an IP address, or a network of IPv6.
    """
    try:
        network = ipaddress.ip_network(origin, strict=False)
    except ValueError:
        return "unknown"
    bits = _IPV4_BITS if network.version == 4 else _IPV6_BITS
    return str(ipaddress.ip_network((network.network_address, bits), strict=False))


@dataclass(slots=True)
class Newcomers:
    """Whom one enroller's node took lately, by place."""

    _times: dict[str, deque[float]] = field(default_factory=dict)

    def take(self, place: str, now_s: float) -> bool:
        """Count one more; False if it is one too many."""
        times = self._times.get(place, deque())
        while times and times[0] <= now_s - _DAY_S:
            times.popleft()
        if len(times) >= NEWCOMERS_OF_A_PLACE:
            return False
        if place not in self._times and len(self._times) >= _MAX_PLACES:
            del self._times[next(iter(self._times))]
        times.append(now_s)
        self._times[place] = times
        return True
