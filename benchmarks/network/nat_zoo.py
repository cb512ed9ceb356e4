"""Figure `nat_zoo`: a home behind each kind of router (two in soak), and whether each two of them reach each other.

Every home runs a node as a server does, which finds out whether others can dial it and goes behind relays if they
can't. Public members relay: the meeting point, far from all, and others in the middle. For each two homes, one calls
the other by its peer id with more bytes than a relay of p2pd's own carries. Then it is told over which kind of
connection. Needs root and nftables.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from potluck_control.processes.engine_report import Reach
from potluck_engine.network.reachability import needed_relays, start_reachable

from benchmarks.figures import Measured, figure
from benchmarks.network.routers import KINDS, homes
from potluck.errors import PotluckError
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId
from tests.helpers.internet import ACROSS_AN_OCEAN, SAME_CONTINENT, internet

_PUBLIC = ("meeting", "member 1", "member 2", "member 3")
_ECHO = "Potluck.zoo.echo"
_BODY = bytes(300_000)  # more than the 128 KiB of a relay that was not told to carry more
_PORT = 31337
_AT_ONCE = 6
_CALL_S, _WITHIN_S, _PAUSE_S = 20.0, 30.0, 2.0  # limits of a call and of all that a pair may try; the pause between two
_AGAIN_S = (
    5.0  # a node asks again whether it can be dialled after this time, if nobody answered; the engine takes a minute
)
_ANSWER_S = 200.0  # limit for a start, or for all calls
_PUNCHING_S = 5.0  # p2pd may replace relayed connections by direct ones meanwhile


@figure("nat_zoo", unit="pairs", reach=0, shown=True)
def unconnected(soak: bool) -> Measured:
    """Pairs of homes behind six kinds of routers that cannot connect within half a minute.

    Full cone, restricted, port-restricted, symmetric, carrier-grade and UDP blocked, two of each in soak. `detail`
    says how many are direct, and which relays they use. Needs root and nftables.
    """
    kinds = [(f"{kind} {number}", kind) for kind in KINDS for number in range(1, 3 if soak else 2)]
    places = [place for place, _ in kinds]
    far = {("meeting", place): ACROSS_AN_OCEAN for place in places}
    with (
        internet([*_PUBLIC, *places], SAME_CONTINENT, far) as world,
        homes(world, kinds) as namespaces,
        contextlib.ExitStack() as running,
    ):
        meeting = _started(running, world.namespace("meeting"), world.address("meeting"), "")
        address = meeting.hear()["address"]
        members = [_started(running, world.namespace(each), world.address(each), address) for each in _PUBLIC[1:]]
        for member in members:
            member.hear()
        nodes = dict[str, _Process]()
        for each in _groups(list(namespaces)):
            nodes |= {place: _started(running, namespaces[place], "0.0.0.0", address) for place in each}
            for place in each:
                nodes[place].hear()
        found, failed = Counter[str](), list[str]()
        times = []
        kind_of = dict(kinds)
        pairs = list(combinations(nodes, 2))
        for one, other in pairs:
            said = nodes[one].ask("call", nodes[other].told["peer"])
            times.append(said["seconds"])
            if not said["ok"]:
                failed.append(f"{kind_of[one]} - {kind_of[other]}: {said['why']}")
        time.sleep(_PUNCHING_S)
        direct, near, nearer = Counter[str](), 0, {member.told["peer"] for member in members}
        for one, other in pairs:
            said = nodes[one].ask("way", nodes[other].told["peer"])
            way = said["way"]
            near += way == "relayed" and not nearer.isdisjoint(said["relays"])
            found[way] += 1
            if way == "direct":
                direct[f"{kind_of[one]} - {kind_of[other]}"] += 1
        detail = {
            "pairs": len(pairs),
            "direct": found["direct"],
            "relayed": found["relayed"],
            "relayed_by_the_nearer_relay": near,
            "direct_by_kind": dict(direct),
            "reach": {kind_of[place]: node.told["reach"] for place, node in nodes.items()},
            "failed": failed,
            "slowest_s": round(max(times), 2),
            "median_s": round(sorted(times)[len(times) // 2], 2),
        }
    return Measured(float(len(failed)), detail)


class _Process:
    """A node in a namespace that answers questions in JSON lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.told: dict[str, Any] = {}

    def hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], _ANSWER_S)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise PotluckError("a node of the zoo ended" if ready else "a node of the zoo does not answer")
        said: dict[str, Any] = json.loads(line)
        self.told = self.told or said
        return said

    def ask(self, *words: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()
        return self.hear()


def _started(running: contextlib.ExitStack, namespace: str, ip: str, bootstrap: str) -> _Process:
    """Start a node that tells about itself once it has joined."""
    command = ["ip", "netns", "exec", namespace, sys.executable, "-m", "benchmarks.network.nat_zoo", ip, bootstrap]
    process = running.enter_context(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    running.callback(process.terminate)
    return _Process(process)


def _groups(places: list[str]) -> Iterator[list[str]]:
    """Yield a few at a time, because peers dial a few at a time."""
    for first in range(0, len(places), _AT_ONCE):
        yield places[first : first + _AT_ONCE]


async def _serve(ip: str, bootstrap: str) -> None:
    """Tell who the node is, then answer questions until the standard input ends."""
    peers = (bootstrap,) if bootstrap else ()
    config = HostConfig(listen_addrs=(f"/ip4/{ip}/tcp/{_PORT}",), bootstrap_peers=peers, patience_s=120.0)
    host, reachability = await start_reachable(config)
    while peers and reachability.finding.reach is Reach.UNKNOWN:
        await asyncio.sleep(_AGAIN_S)
        await reachability.find_out()
        if needed := await needed_relays(host, config, reachability):
            await host.move(needed)

    async def echo(body: bytes, _: PeerId) -> bytes:
        return body

    await host.serve_unary(_ECHO, echo)
    address = next((each for each in await host.addresses() if ip in each), "")
    _say(peer=host.peer_id, address=address, reach=reachability.finding.reach.value)
    while words := (await asyncio.to_thread(sys.stdin.readline)).split():
        peer = PeerId(words[1])
        if words[0] == "way":
            seen = (await host.neighbours()).get(peer, ())
            ways = {"relayed" if "p2p-circuit" in each else "direct" for each in seen}
            relays = [
                each.split("/p2p/")[1].split("/")[0] for each in seen if "p2p-circuit" in each and "/p2p/" in each
            ]
            _say(way=min(ways, default="gone"), relays=relays)
            continue
        began = time.monotonic()
        while True:
            try:
                is_same = await host.call(peer, _ECHO, _BODY, timeout_s=_CALL_S) == _BODY
                why = "" if is_same else "other bytes came back"
                break
            except PotluckError as error:
                why = error.message
            if time.monotonic() - began > _WITHIN_S:
                break
            await asyncio.sleep(_PAUSE_S)
        _say(ok=not why, why=why, seconds=round(time.monotonic() - began, 3))
    await host.close()


def _say(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(*sys.argv[1:3]))
