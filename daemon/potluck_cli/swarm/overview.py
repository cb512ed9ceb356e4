"""Shows a swarm: who serves what, how fast, and which layers nobody serves."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs
from potluck_control.api.schema import OneMore, SpeedForYou, Status, SwarmStatus
from potluck_control.methods import members
from potluck_control.methods.members import SeenServer
from potluck_control.processes.engine_messages import MAX_SERVERS

from potluck.errors import PotluckError
from potluck.formatting import duration, layer_ranges, layers, rounded
from potluck.membership.invite import link_of
from potluck.membership.membership import Membership
from potluck.protocol.records import LiveServer
from potluck.protocol.swarm import Swarm
from potluck_cli.daemon_access import daemon, own_settings, status_or_reason, with_own_daemon
from potluck_cli.terminal import STRIP_LEGEND, Style, Terminal, WaitNotice, strip

if TYPE_CHECKING:
    from potluck.directory.directory import Directory

_FRESH_S = 30.0  # an engine looks every ten seconds
_MAX_STRIP_LETTERS = 128  # longer models are shown as numbers only


@dataclass(frozen=True, slots=True)
class SwarmOverview:
    """A swarm; `replicas`: servers per block, `gaps`: blocks without a server, `one_more`: null without servers.

    `speed_for_you`: null where this computer knows neither answers nor, by its engine, the way to the servers.
    """

    name: str
    model: str
    revision: str
    num_blocks: int
    open: bool
    link: str | None  # the argument of `potluck bootstrap --swarm`; null in an open swarm
    servers: tuple[SeenServer, ...]
    replicas: tuple[int, ...]
    gaps: tuple[int, ...]
    one_more: OneMore | None
    speed_for_you: SpeedForYou | None = None
    leader_heard_at: float | None = None  # when this computer last heard of a leader's; null: not known
    draft: str = ""  # the small model that drafts for it; empty: none


def overview(swarm: Swarm, servers: Sequence[LiveServer]) -> SwarmOverview:
    """Return what the servers of a swarm's directory make of it."""
    from potluck_engine.placement.outlook import one_more, seen_servers

    return _overview(swarm, seen_servers(servers), one_more(servers, swarm.num_blocks))


def read_swarm(membership: Membership) -> SwarmOverview:
    """Return a swarm as this computer's engine just saw it, or look for it. Raises NetworkError if nobody answers."""
    status = status_or_reason()
    known = _served(status, membership.swarm)
    if not isinstance(status, Status) or known is None:
        return _look_for(membership)
    found = daemon().call(members.LIST, members.SwarmParams(known.name))
    is_fresh = found.servers_at is not None and time.time() - found.servers_at < _FRESH_S
    if is_fresh and len(found.servers) < MAX_SERVERS:
        seen = _overview(membership.swarm, found.servers, known.one_more)
    else:
        seen = _look_for(membership)
    names = {each.peer_id: f"{member.name}: {each.name}" for member in found.members for each in member.machines}
    servers = tuple(structs.replace(server, name=server.name or names.get(server.peer_id)) for server in seen.servers)
    return replace(seen, servers=servers, leader_heard_at=status.leader_heard_at, speed_for_you=known.speed_for_you)


def own_speed(swarm: Swarm) -> SpeedForYou | None:
    """Return how fast answers come to this computer, as its daemon says; None: it doesn't serve the swarm."""
    known = _served(status_or_reason(), swarm)
    return None if known is None else known.speed_for_you


def _served(status: Status | PotluckError, swarm: Swarm) -> SwarmStatus | None:
    known = status.swarm if isinstance(status, Status) else None
    return known if known is not None and known.prefix == swarm.prefix else None


def _look_for(membership: Membership) -> SwarmOverview:
    return overview(membership.swarm, asyncio.run(live_servers(with_own_daemon(membership))))


def _overview(swarm: Swarm, servers: Sequence[SeenServer], one_more: OneMore | None) -> SwarmOverview:
    online = [range(server.start, server.end) for server in servers if server.state == "online"]
    counts = tuple(sum(block in span for span in online) for block in range(swarm.num_blocks))
    return SwarmOverview(
        name=swarm.name,
        model=swarm.model,
        revision=swarm.revision,
        num_blocks=swarm.num_blocks,
        open=swarm.is_open,
        link=None if swarm.is_open else link_of(swarm),
        servers=tuple(
            sorted(servers, key=lambda server: (server.start, server.end, server.name or "", server.peer_id))
        ),
        replicas=counts,
        gaps=tuple(block for block, count in enumerate(counts) if count == 0),
        one_more=one_more,
        draft=swarm.draft_name,
    )


def overview_lines(swarm: SwarmOverview, terminal: Terminal) -> list[str]:
    """Return the swarm as lines for people."""
    kind = "open" if swarm.open else "private"
    lines = [
        terminal.styled(swarm.name, Style.BOLD) + f": {swarm.model}, {swarm.num_blocks} layers, {kind}",
        *((f"{swarm.draft} speeds it up.",) if swarm.draft else ()),
        *(() if swarm.link is None else (terminal.faint(f"Its link, for a meeting point: {swarm.link}"),)),
        "",
        *terminal.table(("LAYERS", "SERVER", "STATE", "STEPS/S", "STEP MS", "ROOM", "FORMAT"), _rows(swarm.servers)),
        "",
    ]
    if swarm.num_blocks <= _MAX_STRIP_LETTERS:
        lines += [strip(swarm.replicas), terminal.faint(STRIP_LEGEND)]
    if swarm.gaps:
        lines.append(
            terminal.styled(f"Nobody serves {layer_ranges(swarm.gaps)}: the model cannot run yet.", Style.YELLOW)
        )
    else:
        lines.append(terminal.styled("Every layer is served.", Style.GREEN))
    lines += speed_lines(swarm.speed_for_you, swarm.one_more, is_whole=not swarm.gaps)
    return lines if swarm.leader_heard_at is None else [*lines, leader_heard(swarm.leader_heard_at, time.time())]


def leader_heard(at: float, now: float) -> str:
    """Return a sentence about when a computer of the founder or an admin was last heard."""
    return f"A leader's computer was last heard {duration(now - at)} ago."


def speed_lines(speed: SpeedForYou | None, more: OneMore | None, *, is_whole: bool) -> list[str]:
    """Return lines about how fast answers come here, and what one more server would bring. `is_whole`: no gaps."""
    lines = []
    if speed is not None:
        why = "as your last answers came" if speed.is_measured else "expected from the servers' times"
        lines.append(f"About {rounded(speed.tokens_per_s)} tokens/s for you ({why}).")
    if more is not None:
        span = layer_ranges(range(*more.span))
        lines.append(f"One more typical server would take {span}{brought(more, is_whole=is_whole)}.")
    return lines


def brought(more: OneMore, *, is_whole: bool) -> str:
    """Return the end of a sentence: what one more server would bring to a swarm, with no gaps if it `is_whole`."""
    if not is_whole:
        return ""
    return f" and let {100 * more.gain:.0f} % more answers run at once" if more.gain >= 0.005 else " as a spare"


@contextlib.asynccontextmanager
async def directory_of(membership: Membership) -> AsyncIterator[Directory]:
    """Enter the swarm as a client that follows all servers. Raises NetworkError if nobody answers."""
    from potluck.directory.directory import Directory
    from potluck.directory.seal import record_checks
    from potluck.p2p.libp2p import Libp2pHost
    from potluck.p2p.network import HostConfig

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
    with WaitNotice(f"Looking for the swarm {membership.swarm.name}", 10):
        async with directory_of(membership) as directory:
            return await directory.fetch()


def _rows(servers: Sequence[SeenServer]) -> list[tuple[str, ...]]:
    return [
        (
            layers(server.start, server.end),
            server.name or short_id(server.peer_id),
            server.state,
            f"{server.steps_per_s:.0f}",
            f"{server.step_ms:.1f}" if server.step_ms else "-",
            str(server.cache_tokens_left),
            server.dtype,
        )
        for server in servers
    ]


def short_id(peer_id: str) -> str:
    """Return the end of a peer id, which tells servers apart; all ids start with the same letters."""
    return f"...{peer_id[-8:]}"
