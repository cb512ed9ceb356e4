"""What a node of the network is started with. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck.membership.gate import OnNews
from potluck.membership.membership import Membership
from potluck.p2p.joining import OnWaiting
from potluck.p2p.network import DhtKey, DhtSubkey
from potluck.p2p.ports import is_loopback
from potluck.protocol.blocks import PersonOf

RecordCheck = Callable[[DhtSubkey, object, float, PersonOf], bool]
"""subkey, decoded value, expiration (Unix seconds), whose node a peer is -> whether the record may be stored."""

OnAddresses = Callable[[tuple[str, ...]], None]
"""Called with addresses of members, each time that they are others than before."""


def ignore(*told: object) -> None:
    """Do nothing with what a node tells."""


LOOPBACK = ("/ip4/127.0.0.1/tcp/0",)


@dataclass(frozen=True, slots=True)
class HostConfig:
    """A client needs nothing but `bootstrap_peers` and `dht_client`; a server names its listen addresses."""

    membership: Membership | None = None  # what the node shows; None: it lets everybody in, as in an open swarm
    identity_path: Path | None = None  # made if missing; None: a fresh identity for this run
    listen_addrs: tuple[str, ...] = LOOPBACK
    announce_addrs: tuple[str, ...] = ()  # replaces what peers are told; empty: all listen addresses
    bootstrap_peers: tuple[str, ...] = ()  # full multiaddrs ending in /p2p/<peer id>
    dht_client: bool = False  # a client stores no records for others and is not dialled by them
    relays: tuple[str, ...] = ()  # nobody reaches this node but through one of these peers; full multiaddrs
    relays_for_others: bool = True  # carry the traffic of peers that nobody reaches directly
    finds_nearby: bool = False  # look for members on the local network, and be found there
    on_news: OnNews = ignore  # told what is new of the members, to be kept; must not wait
    on_leader: Callable[[], None] = ignore  # called when a leader's computer was heard; must not wait
    on_met: OnAddresses = ignore  # told the full multiaddrs of members that answered, to be kept; must not wait
    on_nearby: OnAddresses = ignore  # told whom the search of the local network has found; must not wait
    record_checks: Mapping[DhtKey, RecordCheck] = field(default_factory=dict)  # keys with rules of their own
    runtime_dir: Path | None = None  # where sockets live; None: the user's own runtime folder
    patience_s: float = 0.0  # how long to try again while no bootstrap peer answers; inf: as long as it takes
    on_waiting: OnWaiting = ignore  # told why it tries again

    @property
    def is_alone(self) -> bool:
        """Whether the network lies within one computer."""
        return all(map(is_loopback, (*self.listen_addrs, *self.bootstrap_peers)))
