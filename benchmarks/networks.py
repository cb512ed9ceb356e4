"""Caps and links: `cap_held` and `link_error`.

A cap is held if all that leaves the node stays below it. A link is measured over a cable between two network
namespaces that carries a known rate, which needs root.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from potluck_engine.network_speed import NetworkSpeed

from benchmarks.figures import Measured
from potluck.errors import PotluckError
from potluck.p2p.config import HostConfig
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import Stream
from potluck.protocol.blocks import PeerId

CAP_BYTES_S = 4e6
RATES_MBIT = (5.0, 20.0, 80.0)
_FRAME = 1 << 18
_PROTOCOL = "benchmark.answers"


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
        speed.know([PeerId((await asyncio.to_thread(sys.stdin.readline)).strip())])
        await asyncio.Event().wait()
    peer = PeerId(bootstrap.rpartition("/p2p/")[2])
    while peer not in speed.links_mbps:
        await speed.look([peer])
    print(json.dumps(speed.links_mbps[peer]), flush=True)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:3]))
