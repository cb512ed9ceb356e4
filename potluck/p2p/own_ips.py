"""Chooses at which of its own IPs others may reach this computer.

Left out are IPs that lead others nowhere: of loopback, of one link alone, of bridges that only containers and virtual
machines here use, and IPv6 addresses that pass (RFC 8981) while others last. Tunnels count: friends may share a VPN.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from potluck.p2p.ports import ANY, is_loopback

_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_PASSING_FLAGS = 0x01 | 0x08 | 0x20 | 0x40  # of <linux/if_addr.h>: temporary, a duplicate, deprecated, tentative
_INNER_NAMES = ("vboxnet", "vmnet")  # of VirtualBox and VMware, which are no bridges to the kernel
_TRANSLATED = ipaddress.ip_network("192.0.0.0/24")  # RFC 7335: what a computer with IPv6 alone shows old programs
_SHARED = ipaddress.ip_network("100.64.0.0/10")  # of a provider, or of a VPN such as Tailscale


@dataclass(frozen=True, slots=True)
class OwnIp:
    ip: str
    is_inner: bool = False  # of an interface that leads to containers and virtual machines of this computer alone
    is_passing: bool = False


def outer_ips(own: Iterable[OwnIp]) -> tuple[str, ...]:
    """Return the IPs at which others may reach this computer: the best of each kind, then the next of each. Pure."""
    kinds = {each: kind for each in own if not each.is_inner and (kind := _kind(each.ip)) is not None}
    lasting = {kind for each, kind in kinds.items() if not each.is_passing}
    count = Counter[int]()
    ranked = []
    for each, kind in kinds.items():
        if not each.is_passing or kind not in lasting:
            ranked.append((count[kind], kind, each.ip))
            count[kind] += 1
    return tuple(ip for _, _, ip in sorted(ranked))


def announced(told: Iterable[str], listen: Iterable[str], own: Iterable[OwnIp]) -> tuple[str, ...]:
    """Return the addresses to tell others, best first, relays and loopback last. Pure.

    Args:
        told: by p2pd. Of all IPs of a family it tells loopback and the one that its default route has, if any.
        listen: where the node was told to listen.
    """
    own = list(own)
    outer, known = outer_ips(own), {each.ip for each in own}
    wide = {addr.split("/")[1] for addr in listen if addr.split("/")[2] in ANY}
    ranks: dict[str, int] = {}
    for addr in told:
        _, family, host, rest = addr.split("/", 3)
        if "/p2p-circuit" in addr:
            ranks[addr] = len(outer)
        elif family not in wide or host not in known:  # chosen by the user, or what routers and other peers see
            ranks[addr] = -1
        else:
            same = [ip for ip in outer if (":" in ip) == (family == "ip6")]
            ranks |= {f"/{family}/{ip}/{rest}": outer.index(ip) for ip in same}
            if is_loopback(addr):
                ranks[addr] = len(outer) + 1
    return tuple(sorted(ranks, key=ranks.__getitem__))


def own_ips() -> list[OwnIp]:
    """Return the IPs of all interfaces that are up."""
    passing = set(_passing(Path("/proc/net/if_inet6")))
    states = psutil.net_if_stats()
    return [
        OwnIp(str(ip), _is_inner(interface), str(ip) in passing)
        for interface, found in psutil.net_if_addrs().items()
        if interface not in states or states[interface].isup
        for each in found
        if each.family in _FAMILIES
        for ip in [ipaddress.ip_address(each.address.partition("%")[0])]
    ]


def _kind(ip: str) -> int | None:
    """Return the rank of a kind of IP; None if it leads nobody here."""
    found = ipaddress.ip_address(ip)
    if found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified or found in _TRANSLATED:
        return None
    if isinstance(found, ipaddress.IPv6Address) and (found.sixtofour or found.teredo):
        return 5  # tunnels through others' relays, most of which are gone
    if found in _SHARED:
        return 3
    return (0 if found.is_global else 4) if found.version == 6 else 1 if found.is_global else 2


def _is_inner(interface: str) -> bool:
    """Return whether an interface is a bridge without a port to the outside, or is named as one."""
    folder = Path("/sys/class/net", interface)
    if not (folder / "bridge").is_dir():
        return interface.startswith(_INNER_NAMES)
    ports = [folder.parent / port.name for port in (folder / "brif").glob("*")]
    return not any((port / "device").exists() or [*port.glob("lower_*")] for port in ports)


def _passing(table: Path) -> Iterator[str]:
    """Yield the IPv6 addresses that pass, as the kernel lists them; other systems than Linux tell nothing."""
    with contextlib.suppress(OSError):
        for line in table.read_text().splitlines():
            digits, _, _, _, flags, _ = line.split()
            if int(flags, 16) & _PASSING_FLAGS:
                yield str(ipaddress.IPv6Address(bytes.fromhex(digits)))
