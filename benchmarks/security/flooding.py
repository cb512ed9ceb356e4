"""What a member and a newcomer cost who send worthless things as fast as they can: `flood`.

Both run in a process of their own, capped to one core.
What the victim, an engine, and its p2pd spend beyond what honest calls cost is divided by what the attackers spend.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.figures import Measured, figure
from benchmarks.setup.local_swarm import LocalSwarm
from benchmarks.setup.models import checkpoint
from potluck.directory import exchange
from potluck.errors import NetworkError
from potluck.membership.gate import PRESENT, ROSTER
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck.membership.presentation import Exchange, Presentation, encode
from potluck.membership.records import (
    NOTHING,
    Application,
    Entry,
    Machines,
    Record,
    Remove,
    raw_content,
    read_record,
    sign,
)
from potluck.p2p.encoding import split_peer
from potluck.p2p.libp2p import Libp2pHost
from potluck.p2p.network import HostConfig
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import QuoteRequest
from potluck.wire.message import encode as encode_message
from potluck.wire.protocols import QUOTE

_NUM_BLOCKS, _HIDDEN_SIZE = 2, 512
_ATTACK_S, _SOAK_S = 30.0, 300.0
_IDLE_S = 10.0
_CALLERS = 64
_CALL_S = 5.0
_ANSWER_S = 0.2  # limit of an attacker's wait
_PAUSE_S = 0.02  # pause between two honest calls
_VARIANTS = 200
_BATCH = 30  # records of a message


@figure("flood", unit="s/s", reach=0.05)
def cost(soak: bool) -> Measured:
    """Processor time of a victim over that of a member and a newcomer who send worthless things at full speed."""
    seconds = _SOAK_S if soak else _ATTACK_S
    with ExitStack() as stack:
        swarm = stack.enter_context(LocalSwarm(checkpoint(_HIDDEN_SIZE, _NUM_BLOCKS), [Span(0, _NUM_BLOCKS)]))
        mallory, _ = swarm.join("Mallory")
        JoinedSwarms(swarm.folder / "Eve" / "swarms.json", swarm.folder / "Eve" / "key").join(swarm.invite, name="Eve")
        engine = swarm.engines[0]
        engine.wait_online()
        first, last = _cores()
        victim = psutil.Process(engine.pid)
        for process in (victim, *victim.children(recursive=True)):
            process.cpu_affinity([last])
        began_s, own_began_s = _cpu_s(victim), sum(victim.cpu_times()[:2])
        idle = asyncio.run(_honest_calls(swarm.membership, engine.peer_id, _IDLE_S))
        usual = (_cpu_s(victim) - began_s) / _IDLE_S
        own_usual = (sum(victim.cpu_times()[:2]) - own_began_s) / _IDLE_S
        place = [str(swarm.folder), mallory.swarm.name, str(engine.wait_online()["addresses"][0])]
        attackers = stack.enter_context(_attackers(place, first, seconds))
        before = _cpu_s(victim), _cpu_s(psutil.Process(attackers.pid))
        own_s = sum(victim.cpu_times()[:2])
        began = time.monotonic()
        busy = asyncio.run(_honest_calls(swarm.membership, engine.peer_id, seconds - 2.0))
        theirs = _cpu_s(psutil.Process(attackers.pid)) - before[1]
        lasted = time.monotonic() - began
        spent = _cpu_s(victim) - before[0] - usual * lasted
        own_s = sum(victim.cpu_times()[:2]) - own_s - own_usual * lasted
        output, _ = attackers.communicate(timeout=60)
    ratio = _p95(busy) / _p95(idle)
    detail = {
        "victim_cpu_s": round(spent, 2),
        "victim_without_p2pd_cpu_s": round(own_s, 2),
        "victim_usual_cpu_s": round(usual * seconds, 2),
        "attackers_cpu_s": round(theirs, 2),
        "honest_p95_over_idle": round(ratio, 2),
        "honest_p95_ms": [round(_p95(each) * 1e3, 2) for each in (idle, busy)],
        "honest_calls": len(busy),
        "answers": output.strip(),
    }
    return Measured(spent / theirs, detail, holds=ratio <= 2)


def _cores() -> tuple[int, int]:
    cores = sorted(os.sched_getaffinity(0))
    return cores[0], cores[-1]


def _p95(seconds: list[float]) -> float:
    return statistics.quantiles(seconds, n=20)[-1]


def _cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process and of those that it started, p2pd above all."""
    spent = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            spent += sum(each.cpu_times()[:2])
    return spent


@contextlib.contextmanager
def _attackers(arguments: list[str], core: int, seconds: float) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.security.flooding", str(seconds), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            psutil.Process(process.pid).cpu_affinity([core])
            assert process.stdout is not None
            process.stdout.readline()
            yield process
        finally:
            process.kill()


def _question(membership: Membership) -> bytes:
    return encode_message(QuoteRequest(membership.swarm.prefix, Span(0, _NUM_BLOCKS), 1, 0))


async def _honest_calls(membership: Membership, peer: PeerId, seconds: float) -> list[float]:
    """Return how long calls of the founder's took."""
    host = await Libp2pHost.start(_config(membership))
    taken: list[float] = []
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.monotonic()
            await host.call(peer, QUOTE, _question(membership), timeout_s=_CALL_S)
            taken.append(time.monotonic() - began)
            await asyncio.sleep(_PAUSE_S)
    finally:
        await host.close()
    return taken


def _config(membership: Membership) -> HostConfig:
    peers = membership.swarm.bootstrap_peers
    return HostConfig(membership=membership.for_client(), bootstrap_peers=peers, patience_s=20.0)


async def _attack(seconds: float, folder: Path, name: str, address: str) -> None:
    victim, way = split_peer(address)
    answers: Counter[str] = Counter()
    async with contextlib.AsyncExitStack() as stack:
        hosts = []
        for person, key in (("Mallory/potluck", "identity.key"), ("Eve", "key")):
            membership = JoinedSwarms(folder / person / "swarms.json", folder / person / key).find(name)
            host = await Libp2pHost.start(_config(membership))
            stack.push_async_callback(host.close)
            await host.call(victim, QUOTE, _question(membership), timeout_s=_CALL_S)
            hosts.append((membership, host))
        print("attacking", flush=True)
        end = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            for membership, host in hosts:
                assert host.members is not None
                calls = itertools.cycle(_worthless(membership, host))
                for _ in range(_CALLERS):
                    group.create_task(_send_for_ever(host, victim, way, calls, end, answers))
    print(dict(answers))


async def _send_for_ever(
    host: Libp2pHost, victim: PeerId, way: str, calls: Iterator[tuple[str, bytes]], end: float, answers: Counter[str]
) -> None:
    while time.monotonic() < end:
        protocol, body = next(calls)
        try:
            await host._running().call_directly(victim, protocol, body, timeout_s=_ANSWER_S)
            answers["taken"] += 1
        except RemoteError as error:
            answers[error.code.name.lower()] += 1
            if error.code is Code.UNREACHABLE:  # thrown out
                with contextlib.suppress(NetworkError):
                    await host._running().connect(victim, [way], timeout_s=_ANSWER_S)


def _worthless(membership: Membership, host: Libp2pHost) -> list[tuple[str, bytes]]:
    """Return what no node keeps: forged, invented, known, repeated and broken things, thirty at a time."""
    assert host.members is not None
    members = host.members.roster
    key, rng = members.swarm_key, random.Random(1)
    own = Ed25519PrivateKey.generate()
    (chain, entries), *_ = members.chains.of(NOTHING).items()
    invite = read_record(membership.application).body
    assert isinstance(invite, Application)

    def forged(record: Record) -> bytes:
        data = bytearray(record.data)
        data[-1] ^= 1 + rng.randrange(255)
        return bytes(data)

    def entry() -> bytes:
        said = raw_content(Remove(rng.randbytes(32)))
        made = Entry(chain, len(entries), entries[-1].hash, {}, said)
        return forged(sign(key, made, own)).replace(own.public_key().public_bytes_raw(), key)

    def strange_entry() -> bytes:
        return sign(key, Entry(rng.randbytes(32), 5, NOTHING, {}, raw_content(Remove(rng.randbytes(32)))), own).data

    def application() -> bytes:
        person = Ed25519PrivateKey.generate()
        asked = Application(person.public_key().public_bytes_raw(), "Nobody", invite.invite)
        return forged(sign(key, asked, person, own))

    def machines() -> bytes:
        person = next(iter(members.people))
        return forged(sign(key, Machines(person, rng.randrange(1 << 40), ()), own))

    calls: list[tuple[str, bytes]] = []
    kinds = (entry, strange_entry, application, machines)
    for number in range(_VARIANTS):
        made = tuple(kinds[number % len(kinds)]() for _ in range(_BATCH))
        calls += [
            (ROSTER, encode(Exchange(records=made))),
            (ROSTER, encode(Exchange(records=(rng.randbytes(300),) * _BATCH))),
            (ROSTER, encode(Exchange(records=tuple(item.data for item in entries[:_BATCH])))),
            (PRESENT, encode(Presentation(application=made[0], machines=made[-1], entries=made[: _BATCH // 2]))),
            (exchange.REPORT, exchange.encode(exchange.FailureReport(bytes(32)))),
            (exchange.PUSH, exchange.encode(exchange.Push([]))),
        ]
    return calls


if __name__ == "__main__":
    asyncio.run(_attack(float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]))
