"""How somebody without an invite joins a public swarm: an enrolment node sets a challenge, and its answer is work.

A challenge is signed by an enrolment node and holds the newcomer's key, the place they come from and the time. So the
answer serves one person, from one place, for some minutes: it can't be prepared, passed on or used again. Somebody who
was removed needs another key, and with it another answer. Each place may give a few answers a day, right or wrong,
because each costs the node 10 ms. No I/O and no clock.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import msgpack
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from potluck.membership.statements import KEY_BYTES
from potluck.membership.work import NONCE_BYTES
from potluck.protocol.codes import Code, RemoteError

LIVES_S = 900  # fifteen times what the work takes on average: whoever has a slow computer or bad luck is done by then
ANSWERS_OF_A_PLACE = 8  # a day: a household, or some people of one provider
_ANSWERS_A_MINUTE = 60  # of everybody together: 1 % of a core
_DAY_S = 86_400
_MAX_SKEW_S = 300
_MAX_PLACES = 8192  # remembered; then the oldest is forgotten
_MAX_PLACE_CHARS = 80
_IPV4_BITS, _IPV6_BITS = 24, 48  # what one person usually gets from a provider at once
_PURPOSE = b"potluck challenge 1\0"


@dataclass(frozen=True, slots=True)
class Challenge:
    """What an answer is bound to.

    Attributes:
        person: key of the newcomer.
        place: where they come from, see `place_of`.
        bits: the price, see `work.py`.
        author: the key that signed it.
    """

    person: bytes
    place: str
    bits: int
    at_s: int
    author: bytes


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


def set_challenge(
    swarm_key: bytes, person: bytes, place: str, bits: int, now_s: float, author: Ed25519PrivateKey
) -> bytes:
    """Return a challenge with its signature."""
    body = msgpack.packb([person, place, bits, int(now_s)])
    key = author.public_key().public_bytes_raw()
    return bytes(msgpack.packb([body, key, author.sign(_PURPOSE + swarm_key + body)]))


def read_challenge(swarm_key: bytes, data: bytes) -> Challenge:
    """Check form and signature, not who the author is. Raises RemoteError NOT_A_MEMBER."""
    try:
        body, author, signature = msgpack.unpackb(data)
        person, place, bits, at_s = msgpack.unpackb(body)
        if not isinstance(person, bytes) or len(person) != KEY_BYTES or not isinstance(place, str):
            raise ValueError("a field")
        if type(bits) is not int or not 0 < bits <= 32 or type(at_s) is not int or len(place) > _MAX_PLACE_CHARS:
            raise ValueError("a field")
        Ed25519PublicKey.from_public_bytes(author).verify(signature, _PURPOSE + swarm_key + body)
    except (ValueError, TypeError, InvalidSignature, msgpack.UnpackException) as error:
        raise _refused("the challenge is not in order") from error
    return Challenge(person, place, bits, at_s, author)


@dataclass(slots=True)
class EnrolmentDesk:
    """What one enrolment node remembers of the answers it got lately."""

    _times: dict[str, deque[float]] = field(default_factory=dict)  # of answers, by place
    _minute: int = 0
    _in_minute: int = 0

    def require_room(self, place: str, now_s: float) -> None:
        """Raises RemoteError NOT_A_MEMBER if a place has no answer left, before anybody works in vain."""
        if len(self._lately(place, now_s)) >= ANSWERS_OF_A_PLACE:
            raise _refused("too many people joined from your part of the network today; try again tomorrow")

    def take(
        self,
        challenge: Challenge,
        nonce: bytes,
        *,
        person: bytes,
        place: str,
        bits: int,
        now_s: float,
        may_set: Callable[[bytes], bool],
    ) -> None:
        """Count an answer whose work is worth checking.

        Args:
            person, place: who brings it, and from where.
            bits: the price now.
            may_set: whether a key belongs to an enrolment node.

        Raises:
            RemoteError: NOT_A_MEMBER: it answers no challenge of this person and place; BUSY: too many at a time.
        """
        if not may_set(challenge.author) or challenge.bits < bits:
            raise _refused("the challenge was not set by an enrolment node at today's price")
        if challenge.person != person:
            raise _refused("the challenge was set for somebody else")
        if challenge.place != place:
            raise _refused("the challenge was set for another part of the network")
        if not now_s - LIVES_S <= challenge.at_s <= now_s + _MAX_SKEW_S:
            raise _refused("the challenge has expired")
        if len(nonce) != NONCE_BYTES:
            raise _refused("the answer is not in order")
        self.require_room(place, now_s)
        minute = int(now_s // 60)
        if minute != self._minute:
            self._minute, self._in_minute = minute, 0
        if self._in_minute >= _ANSWERS_A_MINUTE:
            raise RemoteError(Code.BUSY, "many people are joining", retry_after_s=5.0)
        self._in_minute += 1
        if place not in self._times and len(self._times) >= _MAX_PLACES:
            del self._times[next(iter(self._times))]
        self._times.setdefault(place, deque()).append(now_s)

    def _lately(self, place: str, now_s: float) -> deque[float]:
        times = self._times.get(place, deque())
        while times and times[0] <= now_s - _DAY_S:
            times.popleft()
        return times


def _refused(reason: str) -> RemoteError:
    return RemoteError(Code.NOT_A_MEMBER, reason)
