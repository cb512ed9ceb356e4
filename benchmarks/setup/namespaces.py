"""Network namespaces as machines and routers, joined by cables. Making them needs root, ip, and nft for rules."""

from __future__ import annotations

import contextlib
import subprocess


def add_namespace(made: contextlib.ExitStack, name: str) -> str:
    """Add a namespace with a loopback, which goes when `made` is closed. Raises subprocess.CalledProcessError."""
    run("ip", "netns", "add", name)
    made.callback(subprocess.run, ["ip", "netns", "delete", name], capture_output=True)
    run("ip", "-n", name, "link", "set", "lo", "up")
    return name


def lay_cable(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    """Join two namespaces; each end is a namespace, a device and its address with the length of its prefix."""
    run("ip", "-n", one[0], "link", "add", one[1], "type", "veth", "peer", "name", other[1], "netns", other[0])
    for namespace, device, address in (one, other):
        options = ("nodad",) if ":" in address else ()
        run("ip", "-n", namespace, "address", "add", address, "dev", device, *options)
        run("ip", "-n", namespace, "link", "set", device, "up")


def set_rules(namespace: str, rules: str) -> None:
    """Load nftables' rules."""
    run("ip", "netns", "exec", namespace, "nft", "-f", "-", text=rules)


def forward_packets(router: str, route: str) -> None:
    """Make a namespace a router, for `ipv4.ip_forward` or `ipv6.conf.all.forwarding`."""
    run("ip", "netns", "exec", router, "sysctl", "-qw", f"net.{route}=1")


def run(*command: str, text: str | None = None) -> None:
    subprocess.run(command, input=text, check=True, capture_output=True, text=True)
