"""Where a node listens: checks addresses, finds free ports, and chooses at which IPs others may reach this computer.

Left out are IPs that lead others nowhere: of loopback, of one link alone, of bridges that only containers and virtual
machines here use, and temporary IPv6 addresses (RFC 8981) while others last. Tunnels count: friends may share a VPN.
Imports nothing heavy.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import re
import socket
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from potluck.errors import NetworkError
from potluck.sentences import sentence

ANY = ("0.0.0.0", "::")
_MAX_STEPS = 20  # next ports that are tried when one is taken: the first free one is the same after each start
_MAX_PORT = 65_535
_EXAMPLE = "/ip4/192.0.2.7/tcp/31330"
_ADDRESS = re.compile(r"/(ip4|ip6|dns|dns4|dns6)/([A-Za-z0-9.:_-]+)/(tcp|udp)/(\d{1,5})(/[A-Za-z0-9._-]+)*")


def check_listen_address(addr: str) -> str:
    """Return a multiaddr to listen on. Raises ValueError if it is none."""
    if addr.startswith("/dns"):
        raise ValueError(f"expected an address such as {_EXAMPLE}, not {addr!r}")
    return check_announced_address(addr)


def check_announced_address(addr: str) -> str:
    """Return a multiaddr to tell others, which may begin with a name of the DNS. Raises ValueError if it is none."""
    found, host = _ADDRESS.fullmatch(addr), host_of(addr)
    kind = f"ip{host.version}" if host is not None else "dns"
    if found is None or int(found[4]) > _MAX_PORT or not found[1].startswith(kind):
        raise ValueError(f"expected an address such as {_EXAMPLE}, not {addr!r}")
    return addr


def everywhere(port: int) -> tuple[str, ...]:
    """Return the multiaddrs of a TCP port of this computer. p2pd leaves out a family that is missing."""
    return f"/ip4/0.0.0.0/tcp/{port}", f"/ip6/::/tcp/{port}"


def require_free_ports(addrs: Sequence[str]) -> None:
    """Raise NetworkError if another program listens at one of them.

    p2pd shares a busy TCP port (SO_REUSEPORT) and silently gets half of its connections, so look first.
    """
    for addr in addrs:
        error = _obstacle(addr)
        if error is not None:
            raise _taken(addr, error) from error


def claim_ports(addrs: Sequence[str]) -> ExitStack:
    """Keep other nodes of this computer away from free ports until the returned stack is closed.

    Of two nodes that start at the same moment, each would find a port free, and their p2pd's would share it.

    Raises:
        NetworkError: another program listens at one of them, or another node claims it.
    """
    require_free_ports(addrs)
    with ExitStack() as claims:
        for addr in dict.fromkeys(addrs):
            try:
                claims.enter_context(_claim(addr))
            except OSError as error:
                raise _taken(addr, error) from error
        return claims.pop_all()


def with_free_ports(addrs: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses, with one of the next ports instead of each that another program has.

    Addresses with the same port, such as those of IPv4 and IPv6, get the same one.
    """
    given = {port: _free(port, addrs) for addr in addrs if (port := multiaddr_part(addr, "tcp"))}
    return tuple(_at(addr, given[port]) if (port := multiaddr_part(addr, "tcp")) else addr for addr in addrs)


def _free(named: str, addrs: Sequence[str]) -> int:
    """Return a port at which nobody listens instead, at none of the addresses that have this one; 0: any free one."""
    port, same = int(named), [addr for addr in addrs if multiaddr_part(addr, "tcp") == named]
    others = range(port, min(port + _MAX_STEPS, _MAX_PORT + 1)) if port else ()
    return next((other for other in others if not any(_obstacle(_at(addr, other)) for addr in same)), 0)


def _at(addr: str, port: int) -> str:
    return re.sub(r"/tcp/\d+", f"/tcp/{port}", addr)


def _obstacle(addr: str) -> OSError | None:
    """Return why nobody can listen at an address; None if it is free, or has no TCP port of its own."""
    for family, name in ((socket.AF_INET, "ip4"), (socket.AF_INET6, "ip6")):
        host, port = multiaddr_part(addr, name), multiaddr_part(addr, "tcp")
        if host is None or port is None or port == "0":
            continue
        try:
            with _claim(addr), socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # past connections do not count
                if name == "ip6":
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # p2pd listens like this
                probe.bind((host, int(port)))
                probe.listen(1)
        except OSError as error:
            if error.errno != errno.EAFNOSUPPORT or host not in ANY:  # a family that is missing has no IPs to be busy
                return error
    return None


def _claim(addr: str) -> socket.socket:
    """Return a socket with a name that only one process has, in no file system (Linux only). Raises OSError.

    Where a sandbox refuses such names, or the address is too long for one, nothing is claimed.
    """
    claim = socket.socket(socket.AF_UNIX)
    if sys.platform == "linux" and multiaddr_part(addr, "tcp") not in (None, "0"):
        try:
            claim.bind(f"\0potluck{addr}")
        except OSError as error:
            claim.close()
            if error.errno == errno.EADDRINUSE:
                raise
    return claim


def _taken(addr: str, error: OSError) -> NetworkError:
    host, port = multiaddr_part(addr, "ip4") or multiaddr_part(addr, "ip6"), multiaddr_part(addr, "tcp")
    return NetworkError(
        sentence("cannot listen on {host} port {number}: {why}", host=host, number=port, why=error.strerror),
        hint=sentence("choose another port, or 0 for any free one"),
    )


def tcp_port(addrs: Sequence[str]) -> int:
    """Return the TCP port at which a node listens for IPv4, of its own multiaddrs; 0: at none."""
    return next(iter(tcp_ports([addr for addr in addrs if multiaddr_part(addr, "ip4") is not None])), 0)


def tcp_ports(addrs: Sequence[str]) -> tuple[int, ...]:
    """Return the TCP ports at which a node is found directly, of its own multiaddrs."""
    direct = [multiaddr_part(addr, "tcp") for addr in addrs if "/p2p-circuit" not in addr]
    return tuple(dict.fromkeys(int(port) for port in direct if port is not None))


def multiaddr_part(addr: str, name: str) -> str | None:
    """Return what follows a name in a multiaddr, such as the host after `ip4`; None if it is not there."""
    parts = addr.split("/")
    return parts[parts.index(name) + 1] if name in parts[:-1] else None


def host_of(addr: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP that a multiaddr begins with, or that `addr` is itself; None: a name."""
    try:
        return ipaddress.ip_address(addr.split("/")[2] if addr.startswith("/") else addr)
    except (IndexError, ValueError):
        return None


def is_loopback(addr: str) -> bool:
    """Return whether a multiaddr, or an IP, is of this computer alone."""
    host = host_of(addr)
    return host is not None and host.is_loopback


def names_this_computer(host: str) -> bool:
    """Return whether the host of a web address is this computer."""
    return host.lower() == "localhost" or is_loopback(host)


_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_PASSING_FLAGS = 0x01 | 0x08 | 0x20 | 0x40  # <linux/if_addr.h>: temporary, a duplicate, deprecated, tentative
_INNER_NAMES = ("vboxnet", "vmnet")  # VirtualBox and VMware; the kernel does not see these as bridges
_TRANSLATED = ipaddress.ip_network("192.0.0.0/24")  # RFC 7335: what a computer with IPv6 alone shows old programs
_SHARED = ipaddress.ip_network("100.64.0.0/10")  # addresses inside a provider's network, or of a VPN such as Tailscale


@dataclass(frozen=True, slots=True)
class OwnIp:
    """An IP of one of this computer's interfaces."""

    ip: str
    is_inner: bool = False  # its interface leads to containers and virtual machines of this computer alone
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


def announced_addresses(told: Iterable[str], listen: Iterable[str], own: Iterable[OwnIp]) -> tuple[str, ...]:
    """Return the addresses to tell others, best first, relays and loopback last. Pure.

    Args:
        told: addresses from p2pd: of each family loopback and the IP of the default route, if there is one.
        listen: addresses at which the node is configured to listen.
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
    import psutil  # here, because many commands check addresses and few need the interfaces

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
