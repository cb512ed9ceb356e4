"""Caps, links and lines: `cap_held`, `link_error` and `ipv6_only`.

A cap is held if all that leaves the node stays below it. A link is measured over a cable between two network
namespaces that carries a known rate. Two homes with IPv6 alone are namespaces behind routers that are namespaces too.
All but the cap need root.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from potluck_control.states import State
from potluck_engine.network.link_speed import NetworkSpeed

from benchmarks.figures import Measured
from potluck.errors import PotluckError
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig, Stream
from potluck.protocol.blocks import PeerId
from tests.helpers.machine import Machine

CAP_BYTES_S = 4e6
RATES_MBIT = (5.0, 20.0, 80.0)
_FRAME = 1 << 18
_PROTOCOL = "benchmark.answers"
_LINES = ("2a45:45:1", "2a45:45:2")  # public for everybody, and given to nobody: they exist in the namespaces only
_FIREWALL = """
table ip6 home {
 chain forwarded {
  type filter hook forward priority 0; policy drop;
  iifname "lan" accept
  ct state established,related accept
 }
}
"""


def cap_held(soak: bool) -> Measured:
    """Three streams that ask for all they can get, against the cap."""
    seconds = 20.0 if soak else 5.0
    carried = asyncio.run(_carried(seconds))
    value = sum(carried) / seconds / CAP_BYTES_S
    shares = [round(share / (sum(carried) or 1), 3) for share in carried]
    return Measured(value, {"cap_bytes_s": CAP_BYTES_S, "seconds": seconds, "shares": shares})


def link_error(soak: bool) -> Measured:
    """The largest error of a measured bandwidth, in percent, over cables of known rates."""
    found = {rate: [_measured_mbps(rate) for _ in range(3 if soak else 1)] for rate in RATES_MBIT}
    worst = max(abs(mbps / rate - 1) for rate, each in found.items() for mbps in each)
    return Measured(100 * worst, {"mbps_by_rate": {str(rate): each for rate, each in found.items()}})


def ipv6_only(soak: bool) -> Measured:
    """Seconds from an invite to the first word in another home, if neither home has IPv4, the slowest of all tries."""
    with _two_homes() as (host, guest):
        host.run("start", "--demo")
        host.wait_state(State.SERVING)
        invite = host.folder / "invite"
        invite.write_text(host.run("swarm", "invite"))
        taken_s = [_first_word_s(guest, invite) for _ in range(5 if soak else 1)]
        return Measured(max(taken_s), {"tries_s": [round(each, 2) for each in taken_s]})


def _first_word_s(guest: Machine, invite: Path) -> float:
    words = ("generate", "--stream", "--max-new-tokens", "4", "--invite-file", str(invite), "Count from 7 to 18:")
    began = time.monotonic()
    with subprocess.Popen(guest.command(*words), env=guest.environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        if not process.stdout.read(1):
            raise PotluckError("no word came from the other home")
        return time.monotonic() - began


async def _carried(seconds: float) -> list[int]:
    """Bytes that each of three callers got."""
    server = await Libp2pHost.start(HostConfig())
    try:
        client = await Libp2pHost.start(HostConfig(bootstrap_peers=await server.addresses(), dht_client=True))
        try:
            server.uploads.bytes_s = CAP_BYTES_S
            end = time.monotonic() + seconds
            await server.serve_stream(_PROTOCOL, lambda stream, _: _pour(stream, end), max_frame_bytes=_FRAME)
            return list(await asyncio.gather(*(_drink(client, server.peer_id) for _ in range(3))))
        finally:
            await client.close()
    finally:
        await server.close()


async def _pour(stream: Stream, end: float) -> None:
    while time.monotonic() < end:
        await stream.send(bytes(_FRAME))


async def _drink(client: Libp2pHost, peer: PeerId) -> int:
    stream = await client.open_stream(peer, _PROTOCOL, timeout_s=10, max_frame_bytes=_FRAME)
    total = 0
    while (frame := await stream.receive()) is not None:
        total += len(frame)
    return total


def _measured_mbps(rate_mbit: float) -> float:
    """What two servers find of a cable that carries so much each way."""
    with _cable(rate_mbit) as names, _node(names[0], "10.214.9.1", "") as one:
        assert one.stdout is not None
        address = one.stdout.readline().strip()
        with _node(names[1], "10.214.9.2", address) as other:
            assert other.stdout is not None
            assert one.stdin is not None
            one.stdin.write(other.stdout.readline().strip().rpartition("/p2p/")[2] + "\n")
            one.stdin.flush()
            return float(json.loads(other.stdout.readline()))


@contextlib.contextmanager
def _cable(rate_mbit: float) -> Iterator[tuple[str, str]]:
    """Two namespaces; raises PotluckError where they cannot be made."""
    names = (f"plb{os.getpid() % 10_000}a", f"plb{os.getpid() % 10_000}b")
    shape = ["tbf", "rate", f"{rate_mbit}mbit", "burst", "16kb", "latency", "300ms"]
    try:
        try:
            for name in names:
                _run("ip", "netns", "add", name)
            ends = ("type", "veth", "peer", "name", "wire", "netns", names[1])
            _run("ip", "-n", names[0], "link", "add", "wire", *ends)
            for number, name in enumerate(names, start=1):
                _run("ip", "-n", name, "address", "add", f"10.214.9.{number}/24", "dev", "wire")
                _run("ip", "-n", name, "link", "set", "wire", "up")
                _run("ip", "-n", name, "link", "set", "lo", "up")
                _run("tc", "-n", name, "qdisc", "replace", "dev", "wire", "root", *shape)
        except (OSError, subprocess.CalledProcessError) as error:
            raise PotluckError("no shaped cable here", hint="run as root, with ip and tc") from error
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "delete", name], capture_output=True)


@contextlib.contextmanager
def _two_homes() -> Iterator[tuple[Machine, Machine]]:
    """A home with a server, and one behind a firewall that lets nobody in; raises PotluckError without namespaces."""
    homes, routers = ([f"pl6{os.getpid() % 10_000}{kind}{number}" for number in (1, 2)] for kind in "hr")
    with contextlib.ExitStack() as made:
        try:
            for name in (*homes, *routers):
                _run("ip", "netns", "add", name)
                made.callback(subprocess.run, ["ip", "netns", "delete", name], capture_output=True)
                _run("ip", "-n", name, "link", "set", "lo", "up")
            _wire(routers[0], "wan", "2a45:45::1", routers[1], "wan", "2a45:45::2")
            for home, router, line, far in zip(homes, routers, _LINES, ("2", "1"), strict=True):
                _wire(router, "lan", f"{line}::1", home, "uplink", f"{line}::2")
                _run("ip", "-n", home, "route", "add", "default", "via", f"{line}::1")
                _run("ip", "-n", router, "route", "add", "default", "via", f"2a45:45::{far}")
                _run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
            subprocess.run(
                ["ip", "netns", "exec", routers[1], "nft", "-f", "-"], input=_FIREWALL, check=True, text=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise PotluckError("no homes with IPv6 here", hint="run as root, with ip, nft and IPv6") from error
        folders = [Path(made.enter_context(tempfile.TemporaryDirectory(prefix="pl-"))) for _ in homes]
        host, guest = (Machine(home, folder, num_blocks=12) for home, folder in zip(homes, folders, strict=True))
        made.callback(guest.end)
        made.callback(host.end)
        yield host, guest


def _wire(one: str, device: str, address: str, other: str, its_device: str, its_address: str) -> None:
    _run("ip", "-n", one, "link", "add", device, "type", "veth", "peer", "name", its_device, "netns", other)
    for name, end, ip in ((one, device, address), (other, its_device, its_address)):
        _run("ip", "-n", name, "address", "add", f"{ip}/64", "dev", end, "nodad")
        _run("ip", "-n", name, "link", "set", end, "up")


@contextlib.contextmanager
def _node(namespace: str, ip: str, bootstrap: str) -> Iterator[subprocess.Popen[str]]:
    command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "benchmarks.networks", ip, bootstrap]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()


async def _serve(ip: str, bootstrap: str) -> None:
    """Tell the own address; with a bootstrap peer measure with it and tell the result, else answer whoever is named."""
    peers = (bootstrap,) if bootstrap else ()
    host = await Libp2pHost.start(HostConfig(listen_addrs=(f"/ip4/{ip}/tcp/0",), bootstrap_peers=peers))
    speed = NetworkSpeed(host)
    await speed.serve()
    print(next(address for address in await host.addresses() if ip in address), flush=True)
    if not bootstrap:
        speed.set_known([PeerId((await asyncio.to_thread(sys.stdin.readline)).strip())])
        await asyncio.Event().wait()
    peer = PeerId(bootstrap.rpartition("/p2p/")[2])
    while peer not in speed.links_mbps:
        await speed.measure_round([peer])
    print(json.dumps(speed.links_mbps[peer]), flush=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:3]))
