"""What strangers cost, and what one member takes from others: `stranger_memory`, `stranger_cpu`, `hog`, `unread`."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass

import psutil
import torch

from benchmarks.figures import Measured, figure
from benchmarks.security.attackers import HIDDEN_SIZE, KINDS, attack
from benchmarks.setup.local_swarm import LocalEngine, LocalProcess, LocalSwarm
from benchmarks.setup.machine import rss_bytes
from benchmarks.setup.models import checkpoint
from benchmarks.setup.sessions import Decoder, client_of
from potluck.client.swarm_client import SwarmClient
from potluck.errors import PotluckError
from potluck.protocol.blocks import Span

NUM_BLOCKS = 4
_ATTACK_S = 60.0
_WARM_UP_ROUNDS = 10
_SETTLE_S = 3.0
_CPU_WINDOW_S = 20.0
_UNREAD_S = 60.0
_RELEASE_S, _FORGET_S = 15.0, 60.0
_FILLING_SESSIONS, _FILLING_TOKENS = 64, 1024  # more than are open at a time in the attack
_MAX_FILES = 4  # the engine's own, which come and go
_REFUSED_S = 60.0  # counts as: never


@dataclass(frozen=True, slots=True)
class _Cost:
    """Memory and CPU time of a node's own processes and of its p2pd."""

    own_bytes: int
    p2pd_bytes: int
    own_cpu_s: float
    p2pd_cpu_s: float

    @property
    def all_bytes(self) -> int:
        return self.own_bytes + self.p2pd_bytes

    @classmethod
    def of(cls, node: LocalProcess) -> _Cost:
        """Read both. Processes that came and went count as the node's own, as do other p2pds."""
        process = psutil.Process(node.pid)
        p2pd, *others = sorted(process.children(recursive=True), key=lambda child: child.create_time())
        times, own_bytes = process.cpu_times(), rss_bytes(node.pid)
        own_cpu_s = times.user + times.system + times.children_user + times.children_system
        for other in others:
            try:
                own_cpu_s += sum(other.cpu_times()[:2])
                own_bytes += rss_bytes(other.pid)
            except (psutil.Error, OSError):  # it ended meanwhile
                continue
        return cls(own_bytes, rss_bytes(p2pd.pid), own_cpu_s, sum(p2pd.cpu_times()[:2]))


@figure("stranger_memory", unit="MB", reach=32, shown=True)
def memory(soak: bool) -> Measured:
    """Growth of an engine and a bootstrap node in 60 s of strangers' stores, streams and calls at full speed, with
    p2pd.
    """
    with _swarm() as swarm, client_of(swarm) as client:
        nodes = _nodes(swarm)
        before_ms = [_decode_ms(client) for _ in range(_WARM_UP_ROUNDS)]
        before = {name: _Cost.of(node) for name, node in nodes.items()}
        most, under_ms = dict(before), []
        seconds = _ATTACK_S * (5 if soak else 1)
        with attack("everything", seconds, *map(_address, nodes.values()), niceness=10) as process:
            while process.poll() is None:
                under_ms.append(_decode_ms(client))
                for name, node in nodes.items():
                    most[name] = max(most[name], _Cost.of(node), key=lambda cost: cost.all_bytes)
        time.sleep(_SETTLE_S)
        after = {name: _Cost.of(node) for name, node in nodes.items()}
    growth = {name: _mb(after[name].all_bytes - before[name].all_bytes) for name in nodes}
    detail = {
        **{f"{name}_mb": grown for name, grown in growth.items()},
        **{f"{name}_peak_mb": _mb(most[name].all_bytes - before[name].all_bytes) for name in nodes},
        **{f"{name}_p2pd_mb": _mb(after[name].p2pd_bytes - before[name].p2pd_bytes) for name in nodes},
        "decode_speed": round(statistics.median(before_ms) / statistics.median(under_ms), 2),
    }
    return Measured(sum(growth.values()), detail)


@figure("stranger_cpu", unit="s", reach=0.5)
def cpu(soak: bool) -> Measured:
    """CPU time that strangers can cost an engine in 20 s by the most costly kind of call."""
    with _swarm() as swarm:
        engine = swarm.engines[0]
        idle = _spent(engine, None)
        spent = {kind: _spent(engine, kind) for kind in KINDS if kind != "everything"}
    detail = {
        **{f"{kind}_s": round(own - idle[0], 2) for kind, (own, _) in spent.items()},
        **{f"{kind}_p2pd_s": round(p2pd - idle[1], 2) for kind, (_, p2pd) in spent.items()},
        "idle_s": round(idle[0], 2),
    }
    return Measured(max(own for own, _ in spent.values()) - idle[0], detail)


@figure("hog", unit="s", reach=1)
def hog(soak: bool) -> Measured:
    """Longest wait until another member's session opens while a member opens sessions without end."""
    with _swarm() as swarm, client_of(swarm) as client, attack("hog", 600.0, swarm.invite) as process:
        waits = []
        for seed in range(20 if soak else 5):
            decoder = Decoder(client, HIDDEN_SIZE, torch.float32, prompt_tokens=8, seed=seed)
            began = time.monotonic()
            try:
                client.run(decoder.start())
                waits.append(time.monotonic() - began)
                client.run(decoder.decode(20))
                client.run(decoder.close())
            except PotluckError:
                waits.append(_REFUSED_S)
                break
        is_hogging = process.poll() is None
    return Measured(max(waits), {"waits_s": [round(wait, 3) for wait in waits]}, holds=is_hogging)


@figure("unread", unit="MB", reach=32)
def unread(soak: bool) -> Measured:
    """Growth of an engine in 60 s (600 in soak) of clients that never read, and that vanish in a prefill."""
    with _swarm() as swarm, client_of(swarm) as client:
        engine = swarm.engines[0]
        _fill(client)
        time.sleep(_RELEASE_S)
        process, before = psutil.Process(engine.pid), _Cost.of(engine)
        files, most = process.num_fds(), before
        seconds = _UNREAD_S * (10 if soak else 1)
        with attack("unread", seconds, swarm.invite) as one, attack("vanishing", seconds, swarm.invite) as other:
            while one.poll() is None or other.poll() is None:
                time.sleep(0.5)
                most = max(most, _Cost.of(engine), key=lambda cost: cost.all_bytes)
        time.sleep(_RELEASE_S)
        after = _Cost.of(engine)
        time.sleep(_FORGET_S - _RELEASE_S)
        later = _Cost.of(engine)
        kept = process.num_fds() - files
        step_ms = _decode_ms(client)
    detail = {
        "peak_mb": _mb(most.all_bytes - before.all_bytes),
        "own_peak_mb": _mb(most.own_bytes - before.own_bytes),
        "p2pd_mb": _mb(after.p2pd_bytes - before.p2pd_bytes),
        "after_a_minute_mb": _mb(later.all_bytes - before.all_bytes),
        "files_kept": kept,
        "step_ms": round(step_ms, 1),
    }
    return Measured(_mb(after.own_bytes - before.own_bytes), detail, holds=kept <= _MAX_FILES)


def _fill(client: SwarmClient) -> None:
    """Have honest sessions use the cache, whose pages stay with the engine, so that they don't count."""
    decoders = [
        Decoder(client, HIDDEN_SIZE, torch.float32, prompt_tokens=_FILLING_TOKENS, seed=seed)
        for seed in range(_FILLING_SESSIONS)
    ]

    async def answer_all() -> None:
        await asyncio.gather(*(each.start() for each in decoders))
        await asyncio.gather(*(each.close() for each in decoders))

    client.run(answer_all())


def _swarm() -> LocalSwarm:
    return LocalSwarm(checkpoint(HIDDEN_SIZE, NUM_BLOCKS), [Span(0, NUM_BLOCKS)])


def _nodes(swarm: LocalSwarm) -> dict[str, LocalProcess]:
    assert swarm.bootstrap is not None
    return {"engine": swarm.engines[0], "bootstrap": swarm.bootstrap}


def _address(node: LocalProcess) -> str:
    return str(node.wait_online()["addresses"][0])


def _spent(engine: LocalEngine, kind: str | None) -> tuple[float, float]:
    """Seconds of CPU of the engine and of its p2pd in 20 s, from the first call on."""
    if kind is None:
        return _watch(engine)
    with attack(kind, 600.0, _address(engine)):
        return _watch(engine)


def _watch(engine: LocalEngine) -> tuple[float, float]:
    before = _Cost.of(engine)
    time.sleep(_CPU_WINDOW_S)
    after = _Cost.of(engine)
    return after.own_cpu_s - before.own_cpu_s, after.p2pd_cpu_s - before.p2pd_cpu_s


def _decode_ms(client: SwarmClient) -> float:
    """Milliseconds of a step of a short session, which leaves no pages behind."""
    decoder = Decoder(client, HIDDEN_SIZE, torch.float32, prompt_tokens=32, seed=0)
    client.run(decoder.start())
    client.run(decoder.decode(100))
    client.run(decoder.close())
    return 1000 * statistics.median(decoder.times_s)


def _mb(num_bytes: float) -> float:
    return round(num_bytes / 1e6, 1)
