"""Shows a swarm: who serves what, how fast, and which blocks nobody serves."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from potluck_control.formatting import duration, rounded
from potluck_control.schema import SwarmOutlook

from potluck.membership.invite import link_of
from potluck.membership.membership import Membership
from potluck.protocol.records import LiveServer, ServerState
from potluck.protocol.swarm import Swarm
from potluck_cli.connect import own_settings
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, ranges, strip

if TYPE_CHECKING:
    from potluck.directory.directory import Directory

_MAX_NAMED = 4
_MAX_STRIP_LETTERS = 128  # longer models are shown as ranges only


@dataclass(frozen=True, slots=True)
class SwarmServer:
    """One server of a swarm, with its blocks [start, end)."""

    peer_id: str
    name: str | None
    start: int
    end: int
    state: str  # joining, online, offline
    steps_per_s: float  # decode steps through the whole span
    throughput_tps: float
    step_ms: float
    cache_tokens_left: int
    queued_tokens: int
    dtype: str
    version: str
    using_relay: bool


@dataclass(frozen=True, slots=True)
class SwarmOverview:
    """A swarm; `replicas`: servers per block, `gaps`: blocks without a server, `outlook`: null without servers."""

    name: str
    model: str
    revision: str
    num_blocks: int
    open: bool
    link: str | None  # for `potluck bootstrap --swarm`; null in an open swarm
    servers: tuple[SwarmServer, ...]
    replicas: tuple[int, ...]
    gaps: tuple[int, ...]
    outlook: SwarmOutlook | None
    leader_heard_at: float | None = None  # when this computer last heard of a leader's; null: not known


def replicas(swarm: Swarm, servers: Sequence[LiveServer]) -> list[int]:
    """Return how many servers are online for each block."""
    online = [server for server in servers if server.heartbeat.state is ServerState.ONLINE]
    return [sum(block in server.span for server in online) for block in range(swarm.num_blocks)]


def overview(swarm: Swarm, servers: Sequence[LiveServer]) -> SwarmOverview:
    """Return the swarm for scripts."""
    counts = replicas(swarm, servers)
    return SwarmOverview(
        name=swarm.name,
        model=swarm.model,
        revision=swarm.revision,
        num_blocks=swarm.num_blocks,
        open=swarm.is_open,
        link=None if swarm.is_open else link_of(swarm),
        servers=tuple(_server_fields(server) for server in _sorted(servers)),
        replicas=tuple(counts),
        gaps=tuple(block for block, count in enumerate(counts) if count == 0),
        outlook=_outlook(swarm, servers),
    )


def page(swarm: Swarm, servers: Sequence[LiveServer], terminal: Terminal) -> list[str]:
    """Return the swarm as lines for people."""
    kind = "open" if swarm.is_open else "private"
    counts = replicas(swarm, servers)
    lines = [
        terminal.styled(swarm.name, Style.BOLD) + f": {swarm.model}, {swarm.num_blocks} blocks, {kind}",
        *(() if swarm.is_open else (terminal.faint(f"Its link, for a meeting point: {link_of(swarm)}"),)),
        "",
        *terminal.table(("BLOCKS", "SERVER", "STATE", "STEPS/S", "STEP MS", "ROOM", "FORMAT"), _rows(servers)),
        "",
    ]
    if swarm.num_blocks <= _MAX_STRIP_LETTERS:
        lines += [strip(counts), terminal.faint(STRIP_LEGEND)]
    gaps = [block for block, count in enumerate(counts) if count == 0]
    if gaps:
        lines.append(terminal.styled(f"Nobody serves {ranges(gaps)}: the model cannot run yet.", Style.YELLOW))
    else:
        lines.append(terminal.styled("Every block is served.", Style.GREEN))
    seen = _outlook(swarm, servers)
    return lines if seen is None else [*lines, *outlook_lines(seen)]


def leader_heard(at: float, now: float) -> str:
    """Return a sentence about when a computer of the founder or an admin was last heard."""
    return f"A leader's computer was last heard {duration(now - at)} ago."


def outlook_lines(seen: SwarmOutlook) -> list[str]:
    """Return lines about the swarm's capacity, its bottleneck, and what one more server would add."""
    thin = ", ".join(f"{start}:{end}" for start, end in seen.bottlenecks[:_MAX_NAMED])
    more = "" if len(seen.bottlenecks) <= _MAX_NAMED else ", ..."
    span = f"{seen.one_more_span[0]}:{seen.one_more_span[1]}"
    return [
        f"Capacity about {rounded(seen.tokens_per_s)} tokens/s, shared. Bottleneck: blocks {thin}{more}.",
        f"One more typical server would take blocks {span}: about {rounded(seen.one_more_tokens_per_s)} tokens/s.",
    ]


def _outlook(swarm: Swarm, servers: Sequence[LiveServer]) -> SwarmOutlook | None:
    from potluck_engine.placement.swarm_outlook import swarm_outlook

    return swarm_outlook(servers, swarm.num_blocks)


@contextlib.asynccontextmanager
async def directory_of(membership: Membership) -> AsyncIterator[Directory]:
    """Enter the swarm as a client that follows all servers. Raises NetworkError if nobody answers."""
    from potluck.directory.directory import Directory
    from potluck.directory.seal import record_checks
    from potluck.p2p.config import HostConfig
    from potluck.p2p.libp2p import Libp2pHost

    swarm = membership.swarm
    config = HostConfig(
        membership=membership,
        bootstrap_peers=swarm.bootstrap_peers,
        dht_client=True,
        finds_nearby=own_settings().serve.find_nearby,
        record_checks=record_checks(swarm, time.time),
    )
    host = await Libp2pHost.start(config)
    try:
        yield Directory(host, swarm, everybody=True)
    finally:
        await host.close()


async def live_servers(membership: Membership) -> tuple[LiveServer, ...]:
    """Fetch all servers from the swarm's directory. Raises NetworkError if nobody answers."""
    async with directory_of(membership) as directory:
        return (await directory.fetch()).servers


def _sorted(servers: Sequence[LiveServer]) -> list[LiveServer]:
    return sorted(servers, key=lambda server: (server.span, server.record.public_name or "", server.peer_id))


def _rows(servers: Sequence[LiveServer]) -> list[tuple[str, ...]]:
    return [
        (
            str(server.span),
            server.record.public_name or short_id(server.peer_id),
            server.heartbeat.state.name.lower(),
            f"{steps_per_s(server):.0f}",
            f"{server.heartbeat.step_ms:.1f}" if server.heartbeat.step_ms else "-",
            str(server.heartbeat.cache_tokens_left),
            server.record.format.dtype,
        )
        for server in _sorted(servers)
    ]


def _server_fields(server: LiveServer) -> SwarmServer:
    record, heartbeat = server.record, server.heartbeat
    return SwarmServer(
        peer_id=server.peer_id,
        name=record.public_name,
        start=server.span.start,
        end=server.span.end,
        state=heartbeat.state.name.lower(),
        steps_per_s=round(steps_per_s(server), 3),
        throughput_tps=record.throughput_tps,
        step_ms=heartbeat.step_ms,
        cache_tokens_left=heartbeat.cache_tokens_left,
        queued_tokens=heartbeat.queued_tokens,
        dtype=record.format.dtype,
        version=record.version,
        using_relay=record.using_relay,
    )


def steps_per_s(server: LiveServer) -> float:
    """Return the decode steps per second through the whole span."""
    return server.record.inference_tps / len(server.span)


def short_id(peer_id: str) -> str:
    """Return the end of a peer id, which tells servers apart; all ids start with the same letters."""
    return f"...{peer_id[-8:]}"
