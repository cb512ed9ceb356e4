"""A small internet of network namespaces: machines with public addresses, and one behind a router with real NAT rules.

boot 45.45.7.1, friend 45.45.7.2, router 45.45.7.3 - one switch; behind the router: home 192.168.77.2
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

PUBLIC = {"boot": "45.45.7.1", "friend": "45.45.7.2", "router": "45.45.7.3"}
"""Addresses that are public: p2pd treats private and documentation ranges otherwise. They exist in here only."""

_RULES = """
table ip nat {
 chain leaving {
  type nat hook postrouting priority 100;
  oifname "wan" masquerade
 }
}
table ip guard {
 chain forwarded {
  type filter hook forward priority 0; policy drop;
  iifname "lan" accept
  ct state established,related accept
 }
 chain incoming {
  type filter hook input priority 0; policy accept;
  iifname "wan" ct state new drop
 }
}
"""


@dataclass(frozen=True, slots=True)
class NatWorld:
    """`namespace` of a machine: boot, friend, router or home."""

    prefix: str

    def namespace(self, machine: str) -> str:
        return f"{self.prefix}{machine}"


@contextlib.contextmanager
def nat_world() -> Iterator[NatWorld]:
    """Make the namespaces; remove them at the end."""
    world = NatWorld(f"pln{os.getpid() % 10_000}")
    machines = [*PUBLIC, "home", "switch"]
    try:
        for machine in machines:
            _run("ip", "netns", "add", world.namespace(machine))
            _run("ip", "-n", world.namespace(machine), "link", "set", "lo", "up")
        _wire(world)
        yield world
    finally:
        for machine in machines:
            subprocess.run(["ip", "netns", "delete", world.namespace(machine)], capture_output=True)


def _wire(world: NatWorld) -> None:
    switch, router, home = (world.namespace(machine) for machine in ("switch", "router", "home"))
    _run("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
    _run("ip", "-n", switch, "link", "set", "bridge", "up")
    for machine, address in PUBLIC.items():
        _cable(world.namespace(machine), "wan", switch, f"to-{machine}")
        _run("ip", "-n", switch, "link", "set", f"to-{machine}", "master", "bridge")
        _run("ip", "-n", world.namespace(machine), "address", "add", f"{address}/24", "dev", "wan")
    _cable(router, "lan", home, "lan")
    _run("ip", "-n", router, "address", "add", "192.168.77.1/24", "dev", "lan")
    _run("ip", "-n", home, "address", "add", "192.168.77.2/24", "dev", "lan")
    _run("ip", "-n", home, "route", "add", "default", "via", "192.168.77.1")
    _run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    _run("ip", "netns", "exec", router, "nft", "-f", "-", text=_RULES)


def _cable(one: str, name: str, other: str, other_name: str) -> None:
    _run("ip", "-n", one, "link", "add", name, "type", "veth", "peer", "name", other_name, "netns", other)
    _run("ip", "-n", one, "link", "set", name, "up")
    _run("ip", "-n", other, "link", "set", other_name, "up")


def _run(*command: str, text: str | None = None) -> None:
    subprocess.run(command, input=text, check=True, capture_output=True, text=True)
