"""What a node of the network is started with. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from potluck.p2p.network import DhtKey, DhtSubkey
from potluck.protocol.blocks import PersonOf, each_for_itself

RecordCheck = Callable[[DhtSubkey, object, float], bool]
"""subkey, decoded value, expiration (Unix seconds) -> whether a node may store and return this record."""

LOOPBACK = ("/ip4/127.0.0.1/tcp/0",)


@dataclass(frozen=True, slots=True)
class HostConfig:
    """A client needs nothing but `bootstrap_peers` and `dht_client`; a server names its listen addresses."""

    identity_path: Path | None = None  # made if missing; None: a fresh identity for this run
    listen_addrs: tuple[str, ...] = LOOPBACK
    announce_addrs: tuple[str, ...] = ()  # replaces what peers are told; empty: all listen addresses
    bootstrap_peers: tuple[str, ...] = ()  # full multiaddrs ending in /p2p/<peer id>
    dht_client: bool = False  # a client stores no records for others and is not dialled by them
    nat: bool | None = None  # port mapping, AutoNAT, relays; None: only when not everything is on loopback
    is_private: bool = False  # peers are strangers, with hardly any budget, until they show that they are members
    relays: tuple[str, ...] = ()  # nobody reaches this node but through one of these peers; full multiaddrs
    relays_for_others: bool = True  # carry the traffic of peers that nobody reaches directly
    record_checks: Mapping[DhtKey, RecordCheck] = field(default_factory=dict)  # keys with rules of their own
    person_of: PersonOf = each_for_itself  # who shares a budget, and the room for records that this node keeps
    runtime_dir: Path | None = None  # where sockets live; None: the user's own runtime folder
    start_timeout_s: float = 10.0
