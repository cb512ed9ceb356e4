"""The cap on uploads, and homes with IPv6 alone.

A cap is held if all that leaves the node stays below it. Two homes with IPv6 alone are namespaces behind routers that
are namespaces too, which needs root.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from potluck_control.states import State

from benchmarks.figures import Measured, figure
from benchmarks.setup.namespaces import add_namespace, forward_packets, lay_cable, run, set_rules
from potluck.errors import PotluckError
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig, Stream
from potluck.protocol.blocks import PeerId
from tests.helpers.machine import Machine

CAP_BYTES_S = 4e6
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


@figure("cap_held", unit="ratio", reach=1.05)
def cap_held(soak: bool) -> Measured:
    """What three streams together carry over a cap of 4 MB/s on uploads, in 5 s (20 in soak)."""
    seconds = 20.0 if soak else 5.0
    carried = asyncio.run(_carried(seconds))
    value = sum(carried) / seconds / CAP_BYTES_S
    shares = [round(share / (sum(carried) or 1), 3) for share in carried]
    return Measured(value, {"cap_bytes_s": CAP_BYTES_S, "seconds": seconds, "shares": shares})


@figure("ipv6_only", unit="s", reach=10)
def ipv6_only(soak: bool) -> Measured:
    """Seconds from an invite to the first token between two homes with IPv6 alone, one behind a firewall.

    `potluck generate`, the slowest of all tries. Needs root and nftables.
    """
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


@contextlib.contextmanager
def _two_homes() -> Iterator[tuple[Machine, Machine]]:
    """A home with a server, and one behind a firewall that lets nobody in; raises PotluckError without namespaces."""
    homes, routers = ([f"pl6{os.getpid() % 10_000}{kind}{number}" for number in (1, 2)] for kind in "hr")
    with contextlib.ExitStack() as made:
        try:
            for name in (*homes, *routers):
                add_namespace(made, name)
            lay_cable((routers[0], "wan", "2a45:45::1/64"), (routers[1], "wan", "2a45:45::2/64"))
            for home, router, line, far in zip(homes, routers, _LINES, ("2", "1"), strict=True):
                lay_cable((router, "lan", f"{line}::1/64"), (home, "uplink", f"{line}::2/64"))
                run("ip", "-n", home, "route", "add", "default", "via", f"{line}::1")
                run("ip", "-n", router, "route", "add", "default", "via", f"2a45:45::{far}")
                forward_packets(router, "ipv6.conf.all.forwarding")
            set_rules(routers[1], _FIREWALL)
        except (OSError, subprocess.CalledProcessError) as error:
            raise PotluckError("no homes with IPv6 here", hint="run as root, with ip, nft and IPv6") from error
        folders = [Path(made.enter_context(tempfile.TemporaryDirectory(prefix="pl-"))) for _ in homes]
        host, guest = (Machine(home, folder, num_blocks=12) for home, folder in zip(homes, folders, strict=True))
        made.callback(guest.end)
        made.callback(host.end)
        yield host, guest
