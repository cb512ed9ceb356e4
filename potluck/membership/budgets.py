"""Decides what one person, and all strangers together, may take of this node. Pure: no clock, no I/O.

A peer belongs to a person, or is a stranger. Requests and openings of streams cost units, which come back with time;
streams, what they hold, and requests that are being answered are counted while they last. Persons who exceed their
budget are refused. A stranger has a small budget of its own and a part in that of all strangers; one that keeps asking
is thrown out, which costs less than refusing it again and again. Presentations are paid for by the address they come
from, too, and an enroller's node takes only so many newcomers a day from one part of the network.
"""

from __future__ import annotations

import ipaddress
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TypeVar

from potluck.membership.presentation import MAX_PRESENTATION_BYTES
from potluck.protocol.blocks import PeerId, PersonId, each_peer_a_person

Key = TypeVar("Key")

_THROWN_OUT_S = 30.0
_MAX_REMEMBERED = 4096  # accounts
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Allowance:
    """A budget. A request or a stream costs one unit, and one more for each `unit_bytes` of its body."""

    units_s: float
    burst: float  # units that may be spent at once
    unit_bytes: int
    max_request_bytes: int
    requests: int  # requests being answered at the same time
    held_bytes: int  # bytes of requests, half of it of streams' input, and as much of work and unsent answers
    streams: int  # open at a time
    log_lines: int  # lines caused in a minute; a session writes one, and another at its end
    dials: int  # dials asked for in a minute; each costs a process
    refusals: int  # refusals with an answer in a minute; after that the peer is thrown out


PERSON = Allowance(
    units_s=400.0,  # a reader needs one in eight seconds, a neighbour in a small swarm one a second, training dozens
    burst=4000.0,
    unit_bytes=65_536,
    max_request_bytes=1 << 32,  # the network's own limits are lower
    requests=4096,
    held_bytes=64 << 20,
    streams=512,  # a stream costs a file descriptor here and one in p2pd
    log_lines=60,
    dials=6,
    refusals=600,  # a refused peer waits for a second before the next try
)
NEWCOMER = replace(  # somebody on probation: enough for one server, or for one reader and one session at a time or two
    PERSON, units_s=40.0, burst=400.0, requests=64, held_bytes=8 << 20, streams=32, log_lines=10, dials=2, refusals=60
)
STRANGERS = Allowance(
    units_s=40.0,
    burst=200.0,
    unit_bytes=512,
    max_request_bytes=MAX_PRESENTATION_BYTES,
    requests=32,
    held_bytes=65_536,
    streams=16,  # streams that wait for their refusal
    log_lines=4,
    dials=1,
    refusals=4,
)
ADDRESS = replace(STRANGERS, units_s=20.0, burst=100.0, requests=4, held_bytes=4 * MAX_PRESENTATION_BYTES)
ONE_STRANGER = replace(
    STRANGERS,
    units_s=4.0,  # a presentation of 300 bytes costs 1.6; a guest's costs 4, and comes twice a second at most
    burst=40.0,
    requests=2,
    held_bytes=2 * MAX_PRESENTATION_BYTES,
    streams=2,
    log_lines=2,
)


class Refused(Enum):
    """The fate of a request or a stream that is not served."""

    FOR_NOW = auto()  # say so; it may come back in a second
    THROW_OUT = auto()  # say nothing, and close the connection to the peer


@dataclass(slots=True)
class _Minute:
    """A count of events in the present minute."""

    number: int = -1
    done: int = 0

    def may(self, most: int, now: float) -> bool:
        """Count one more; False if it is one too many."""
        number = int(now // _MINUTE_S)
        if number != self.number:
            self.number, self.done = number, 0
        self.done += 1
        return self.done <= most


@dataclass(slots=True)
class _Account:
    """The account of one payer: units left, and what is held."""

    limits: Allowance
    units: float
    counted_at: float
    streams: int = 0
    requests: int = 0
    held_bytes: int = 0
    work_bytes: int = 0
    out_until: float = 0.0  # thrown out
    log_lines: _Minute = field(default_factory=_Minute)
    dials: _Minute = field(default_factory=_Minute)
    refusals: _Minute = field(default_factory=_Minute)

    def has_room(self, num_bytes: int, streams: int) -> bool:
        """Return whether so many streams more may open or, if none, a request of so many bytes be answered."""
        limits = self.limits
        if streams:
            return self.streams + streams <= limits.streams
        return self.held_bytes + num_bytes <= limits.held_bytes and self.requests < limits.requests

    def hold(self, num_bytes: int, streams: int) -> None:
        self.streams += streams
        self.requests += not streams
        self.held_bytes += num_bytes

    def spend(self, num_bytes: int, now: float) -> bool:
        """Pay for a request or a stream; return whether there were enough units."""
        limits = self.limits
        self.refill(now)
        cost = 1 + num_bytes / limits.unit_bytes
        if cost > self.units or num_bytes > limits.max_request_bytes:
            return False
        self.units -= cost
        return True

    def refill(self, now: float) -> None:
        """Give back the units of the time since this was counted."""
        self.units = min(self.units + (now - self.counted_at) * self.limits.units_s, self.limits.burst)
        self.counted_at = now

    @property
    def is_idle(self) -> bool:
        return not self.streams and not self.requests and not self.work_bytes


@dataclass(slots=True)
class Lease:
    """The hold of a request or a stream until `Budgets.end`; its peer may become a member meanwhile."""

    accounts: tuple[_Account, ...]
    held_bytes: int
    streams: int


@dataclass(slots=True)
class Budgets:
    """The accounts of one node. `now` is in seconds of a steady clock.

    Args:
        person_of: names who pays for a peer; None makes it a stranger.
        is_on_probation: whether a peer's person joined a public swarm lately.
        max_streams: of everybody together. When they are open, only those with less than an equal share get more.
    """

    person_of: Callable[[PeerId], PersonId | None] = each_peer_a_person
    is_on_probation: Callable[[PeerId], bool] = lambda peer: False
    max_streams: int = 4096
    _persons: dict[PersonId, _Account] = field(default_factory=dict)
    _each: dict[PeerId, _Account] = field(default_factory=dict)
    _addresses: dict[str, _Account] = field(default_factory=dict)
    _strangers: _Account = field(default_factory=lambda: _Account(STRANGERS, STRANGERS.burst, 0.0))
    _streams: int = 0

    def is_stranger(self, peer: PeerId) -> bool:
        return self.person_of(peer) is None

    def max_request_bytes(self, peer: PeerId) -> int:
        """Return the size up to which a request of `peer` is worth reading."""
        return (STRANGERS if self.person_of(peer) is None else PERSON).max_request_bytes

    def request(self, peer: PeerId, num_bytes: int, now: float) -> Lease | Refused:
        """Decide on a request of so many bytes; its lease ends when it is answered."""
        return self._lease(peer, num_bytes, 0, now)

    def present(self, address: str, num_bytes: int, now: float) -> Lease | Refused:
        """Decide on a stranger's presentation by the address it comes from; `request` has decided by its name."""
        account = _account(self._addresses, address, ADDRESS, now)
        if not (account.has_room(num_bytes, 0) and account.spend(num_bytes, now)):
            return Refused.FOR_NOW
        account.hold(num_bytes, 0)
        return Lease((account,), num_bytes, 0)

    def open_stream(self, peer: PeerId, now: float) -> Lease | Refused:
        """Decide on a stream that `peer` opens; its lease ends with it."""
        return self._lease(peer, 0, 1, now)

    def hold(self, lease: Lease, num_bytes: int) -> bool:
        """Count input that came over a stream and nobody took, or forget it if negative; False: no room for it now.

        A person who holds nothing has room for any message, because a step may be larger than the budget.
        """
        own = lease.accounts[0]
        if num_bytes > 0 and own.held_bytes and own.held_bytes + num_bytes > own.limits.held_bytes // 2:
            return False
        for account in lease.accounts:
            account.held_bytes += num_bytes
        lease.held_bytes += num_bytes
        return True

    def work_on(self, lease: Lease, num_bytes: int) -> bool:
        """Count input that is worked on and its answer until that has left, as `hold` does what came before.

        They are counted apart, or work could wait for the room of input that waits for work.
        """
        own = lease.accounts[0]
        if num_bytes > 0 and own.work_bytes and own.work_bytes + num_bytes > own.limits.held_bytes:
            return False
        for account in lease.accounts:
            account.work_bytes += num_bytes
        return True

    def holder(self, peer: PeerId, now: float) -> Lease:
        """Return a lease for what a stream's handler works on (`work_on`)."""
        return Lease(self._payers(peer, now), 0, 0)

    def end(self, lease: Lease) -> None:
        self._streams -= lease.streams
        for account in lease.accounts:
            account.streams -= lease.streams
            account.requests -= not lease.streams
            account.held_bytes -= lease.held_bytes

    def charge(self, peer: PeerId, units: int, now: float) -> bool:
        """Charge a peer's account for worthless input; return whether units are left."""
        accounts = self._payers(peer, now)
        for account in accounts:
            account.refill(now)
            account.units = max(account.units - units, -account.limits.burst)
        return accounts[0].units >= 0

    def may_log(self, peer: PeerId, now: float) -> bool:
        """Return whether a line about something that `peer` did may be logged; count it."""
        return all(account.log_lines.may(account.limits.log_lines, now) for account in self._payers(peer, now))

    def may_dial(self, peer: PeerId, now: float) -> bool:
        """Return whether this node may start a process to dial `peer`, which asks for it; count it."""
        return all(account.dials.may(account.limits.dials, now) for account in self._payers(peer, now))

    def _lease(self, peer: PeerId, num_bytes: int, streams: int, now: float) -> Lease | Refused:
        accounts = self._payers(peer, now)
        own, is_stranger = accounts[0], len(accounts) > 1
        if own.out_until > now:
            return Refused.THROW_OUT
        if not (own.has_room(num_bytes, streams) and own.spend(num_bytes, now)):
            if own.refusals.may(own.limits.refusals, now):
                return Refused.FOR_NOW
            own.out_until = now + _THROWN_OUT_S
            return Refused.THROW_OUT
        if streams and self._streams >= self.max_streams and own.streams >= self._share():
            return Refused.FOR_NOW
        if is_stranger and not (self._strangers.has_room(num_bytes, streams) and self._strangers.spend(num_bytes, now)):
            return Refused.FOR_NOW
        self._streams += streams
        for account in accounts:
            account.hold(num_bytes, streams)
        return Lease(accounts, num_bytes, streams)

    def _share(self) -> int:
        """Return how many streams each person gets when all are open, one more included."""
        holders = sum(account.streams > 0 for account in self._persons.values())
        return self.max_streams // (holders + 1)

    def _payers(self, peer: PeerId, now: float) -> tuple[_Account, ...]:
        """Return the account of the peer's person, or the stranger's own and that of all strangers."""
        person = self.person_of(peer)
        if person is not None:
            limits = NEWCOMER if self.is_on_probation(peer) else PERSON
            return (_account(self._persons, person, limits, now),)
        return _account(self._each, peer, ONE_STRANGER, now), self._strangers


def _account(accounts: dict[Key, _Account], key: Key, limits: Allowance, now: float) -> _Account:
    account = accounts.get(key)
    if account is None:
        _make_room(accounts)
        account = accounts[key] = _Account(limits, limits.burst, now)
    account.limits = limits  # others when somebody's probation has ended
    return account


def _make_room(accounts: dict[Key, _Account]) -> None:
    """Make room for one more: drop those that are idle, and if that is not enough, the oldest one."""
    if len(accounts) < _MAX_REMEMBERED:
        return
    for key in [key for key, account in accounts.items() if account.is_idle]:
        del accounts[key]
    if len(accounts) >= _MAX_REMEMBERED:
        del accounts[next(iter(accounts))]


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
    """The people whom one enroller's node admitted lately, by place."""

    _times: dict[str, deque[float]] = field(default_factory=dict)

    def admit(self, place: str, now_s: float) -> bool:
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
