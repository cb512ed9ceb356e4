"""Can others outside of this network reach this machine? Judged from its own addresses; nobody is asked."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

import psutil

from potluck_daemon.doctor.finding import Finding, Scene, Severity

NAME = "NAT"
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


@dataclass(frozen=True, slots=True)
class NatFacts:
    addresses: tuple[str, ...]  # of all interfaces
    port: int


def gather(scene: Scene) -> NatFacts:
    found = [item.address for items in psutil.net_if_addrs().values() for item in items if item.family in _FAMILIES]
    return NatFacts(tuple(address.partition("%")[0] for address in found), scene.port)


def judge(facts: NatFacts) -> list[Finding]:
    addresses = [ipaddress.ip_address(address) for address in facts.addresses]
    outside = [address for address in addresses if not (address.is_loopback or address.is_link_local)]
    if not outside:
        text = "this machine has no network"
        return [Finding(NAME, Severity.ERROR, text, "connect it; without a network only a swarm on this machine works")]
    public = {address.version for address in outside if address.is_global}
    if 4 in public:
        text = "this machine has a public address; a firewall may still be in the way"
        return [Finding(NAME, Severity.OK, text)]
    if 6 in public:
        text = "only IPv6 is public; members without IPv6 cannot dial this machine"
        return [Finding(NAME, Severity.NOTE, text)]
    port = f"TCP port {facts.port}" if facts.port else "the engine's TCP port"
    text = "all addresses are private: this machine is behind a router"
    advice = f"members in the same network reach it; for others forward {port} in the router"
    return [Finding(NAME, Severity.WARNING, text, advice)]
