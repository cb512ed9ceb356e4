"""Homes behind routers of all kinds, on an emulated internet: one namespace for each router, one for each home.

full cone         whoever knows the outer port reaches the home | router.forwards all
restricted        only addresses that the home has sent to
port-restricted   only addresses and ports that the home has sent to
symmetric         the same, and each destination sees another port
carrier-grade     a port-restricted router behind another one
no UDP            a port-restricted router that drops UDP

The kernel's own NAT (nftables) keeps a port where it is free, as most routers do.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence

from benchmarks.setup.namespaces import add_namespace, forward_packets, lay_cable, run, set_rules
from potluck.errors import PotluckError
from tests.helpers.internet import Internet

KINDS = ("full cone", "restricted", "port-restricted", "symmetric", "carrier-grade", "no UDP")

_NETWORK = "192.168"
_RULES = """
table ip zoo {{
 set sent_to {{ type ipv4_addr; flags dynamic,timeout; timeout 5m; }}
 chain entering {{
  type nat hook prerouting priority -100;
  {entering}
 }}
 chain leaving {{
  type nat hook postrouting priority 100;
  oifname "wan" masquerade {how}
 }}
 chain forwarded {{
  type filter hook forward priority 0; policy drop;
  {dropped}
  iifname "lan" add @sent_to {{ ip daddr }}
  iifname "lan" accept
  ct state established,related accept
  ct status dnat accept
 }}
 chain incoming {{
  type filter hook input priority 0; policy accept;
  iifname "wan" ct state new drop
 }}
}}
"""


@contextlib.contextmanager
def homes(world: Internet, kinds: Sequence[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Put a home behind each place; return the namespaces of the homes by place.

    Args:
        kinds: places of the internet with the kind of their router, one of `KINDS`.

    Raises:
        PotluckError: NAT rules cannot be made here.
    """
    made: dict[str, str] = {}
    with contextlib.ExitStack() as cleaning:
        try:
            for number, (place, kind) in enumerate(kinds):
                name = f"plz{os.getpid() % 100_000}h{number}"
                router = world.namespace(place)
                run("ip", "-n", router, "route", "add", "default", "dev", "wan")
                if kind == "carrier-grade":
                    made[place] = add_namespace(cleaning, f"{name}i")
                    _wire(router, add_namespace(cleaning, name), 2 * number, "wan")
                    _wire(name, made[place], 2 * number + 1, "wan")
                    _set_rules(name, "port-restricted", 2 * number + 1)
                else:
                    made[place] = add_namespace(cleaning, name)
                    _wire(router, made[place], 2 * number, "wan")
                _set_rules(router, kind, 2 * number)
        except (OSError, subprocess.CalledProcessError) as error:
            why = str(getattr(error, "stderr", "") or error).strip()
            raise PotluckError(
                f"no NAT in namespaces here: {why}", hint="run as root, with iproute2 and nft"
            ) from error
        yield made


def _wire(router: str, home: str, number: int, name: str) -> None:
    """Lay a cable from a router to a home, or to the router of a home, which calls its end `name`."""
    lay_cable((router, "lan", f"{_NETWORK}.{number + 1}.1/24"), (home, name, f"{_NETWORK}.{number + 1}.2/24"))
    run("ip", "-n", home, "route", "add", "default", "via", f"{_NETWORK}.{number + 1}.1")
    forward_packets(router, "ipv4.ip_forward")


def _set_rules(router: str, kind: str, number: int) -> None:
    home = f"{_NETWORK}.{number + 1}.2"
    entering = {
        "full cone": f'iifname "wan" dnat to {home}',
        "restricted": f'iifname "wan" ip saddr @sent_to dnat to {home}',
    }
    rules = _RULES.format(
        entering=entering.get(kind, ""),
        how="fully-random" if kind == "symmetric" else "",
        dropped="meta l4proto udp drop" if kind == "no UDP" else "",
    )
    set_rules(router, rules)
