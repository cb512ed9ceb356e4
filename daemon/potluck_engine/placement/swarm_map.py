"""Makes the map of the swarm for placement from the directory: one row a server, one column a block. Pure.

A server's claimed speed is bounded, so that one liar cannot move the swarm: by what others measured of its link, if
enough of them did, and otherwise by the usual speed in the swarm. In the simulated swarm of volunteers, the bound on
unmeasured claims costs 3 % of the honest capacity.

Of the promises of others, servers that serve count only those that are soon kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerState
from potluck_engine.placement.price import Bools, Floats, ServerTable

_MAX_UNMEASURED = 4.0  # times the usual throughput
_MAX_MEASURED = 8.0  # the same with a fast link, which says nothing about compute; no simulated volunteer is faster
_MIN_WITNESSES = 8  # fewer may all have slow links themselves
_UNKNOWN_DOWNLOAD_BPS = 50e6  # a slow home connection, for servers that have not measured theirs


def believed_tps(claimed: Floats, measured: Floats) -> Floats:
    """Return the tokens a second with which each server counts. Shape: [servers].

    Args:
        claimed: [servers], 0 for servers that are loading their first blocks and do not know yet.
        measured: [servers], NaN where too few others measured.
    """
    known = np.sort(claimed[claimed > 0])
    usual = float(known[(len(known) - 1) // 2]) if len(known) else 1.0  # the slower one of two, as the other may lie
    most = np.where(np.isnan(measured), _MAX_UNMEASURED * usual, np.minimum(measured, _MAX_MEASURED * usual))
    return np.where(claimed > 0, np.minimum(claimed, most), usual)


def measured_tps(servers: Sequence[LiveServer], token_bits: float) -> dict[PeerId, float]:
    """Return the tokens a second that a server's link carries, for servers that enough others measured.

    The second best report counts: a slow reporter or an enemy cannot lower it, and one accomplice cannot raise it.

    Args:
        token_bits: the size of one token's hidden states.
    """
    reports: dict[PeerId, list[float]] = {}
    for reporter in servers:
        for peer, mbps in reporter.heartbeat.links_mbps.items():
            if peer != reporter.peer_id:
                reports.setdefault(peer, []).append(mbps)
    checked = {peer: sorted(links) for peer, links in reports.items() if len(links) >= _MIN_WITNESSES}
    return {peer: links[-2] * 1e6 / token_bits for peer, links in checked.items()}


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The sizes of a model that placement depends on."""

    num_blocks: int
    block_bytes: float  # size of one block's files
    token_bits: float  # size of one token's hidden states on the wire


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server as placement knows it: the deciding one by its own knowledge, the others by their announcements.

    Attributes:
        window: how many blocks it can hold; 0 if it stays where it is.
        throughput_tps: 0 if it is not known.
        stored: the blocks whose files are on its disk.
        download_bps: 0 if it is not known.
        span: the blocks that it serves or is about to serve; None if it joins.
    """

    peer_id: PeerId
    window: int
    throughput_tps: float
    stored: frozenset[int] = frozenset()
    download_bps: float = 0.0
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SwarmMap:
    """All servers, including the one that decides.

    Shapes: live [servers, blocks].

    Attributes:
        servers: the table by what servers announce.
        live: whether a server serves a block now.
        me: the row of the server that decides.
    """

    peers: tuple[PeerId, ...]
    servers: ServerTable
    live: Bools
    me: int

    @classmethod
    def of(cls, others: Iterable[LiveServer], model: ModelSize, own: KnownServer) -> SwarmMap:
        """Return the map of a swarm.

        Args:
            others: the servers in the directory. `own` replaces the deciding server's record among them.
        """
        known = [server for server in others if _counts(server, own.peer_id)]
        online = (server for server in known if server.heartbeat.state is ServerState.ONLINE)
        served = {own.peer_id: own.span} | {server.peer_id: server.record.span for server in online}
        rows = [replace(own, window=max(own.window, 1)), *map(_as_announced, known)]
        rows.sort(key=lambda row: row.peer_id)  # all servers need the same order to find the same plan
        peers = tuple(row.peer_id for row in rows)
        me = peers.index(own.peer_id)
        measured = measured_tps(known, model.token_bits)
        tps = believed_tps(
            np.array([row.throughput_tps for row in rows]), np.array([measured.get(peer, np.nan) for peer in peers])
        )
        tps[me] = own.throughput_tps or tps[me]
        spans = np.array([_cut(row.span, model.num_blocks) for row in rows])
        servers = ServerTable(
            start=spans[:, 0],
            length=spans[:, 1],
            window=np.array([min(row.window, model.num_blocks) for row in rows]),
            throughput_tps=tps,
            fetch_s=_fetch_s(rows, model),
        )
        live = np.zeros((len(rows), model.num_blocks), bool)
        for blocks, peer in zip(live, peers, strict=True):
            start, length = _cut(served.get(peer), model.num_blocks)
            blocks[start : start + length] = True
        return cls(peers, servers, live, me)

    @property
    def num_blocks(self) -> int:
        return int(self.live.shape[1])

    @property
    def soon(self) -> Bools:
        """The blocks that are live, or will be within seconds because they are being read from disk.

        Shape: [servers, blocks].

        A promise to download helps nobody for minutes, and a server with the files can stand in meanwhile; in the
        simulation that is worth 2 to 4 % of the whole capacity. Blocks that a server is leaving don't count, and
        neither do the new blocks of a server that waits for files before it moves.
        """
        spans = self.servers.spans
        there: Bools = spans & (self.live | (self.servers.fetch_s == 0))
        leaving = np.flatnonzero((self.live > spans).any(axis=1))
        waiting = leaving[(there[leaving] < spans[leaving]).any(axis=1)]
        there[waiting] &= self.live[waiting]
        return there

    @property
    def at_rest(self) -> Bools:
        """True for servers whose whole target is live and which may move from there. Shape: [servers]."""
        is_done: Bools = (self.servers.spans == self.live).all(axis=1)
        return is_done & (self.servers.length > 0) & (self.servers.window > 0)

    @property
    def has_holes(self) -> bool:
        """True if nobody serves some block or is about to serve it."""
        return not bool(self.soon.any(axis=0).all())

    def coverage(self, holds: Bools) -> Floats:
        """Return the tokens a second of the servers that hold each block. Shape: [blocks]."""
        return self.servers.throughput_tps @ holds


def _counts(server: LiveServer, me: PeerId) -> bool:
    return server.peer_id != me and server.heartbeat.state is not ServerState.OFFLINE


def _as_announced(server: LiveServer) -> KnownServer:
    record = server.record
    window = record.window if record.moves else 0
    return KnownServer(
        server.peer_id, window, record.throughput_tps, record.stored, record.download_bps, span=record.target
    )


def _cut(span: Span | None, num_blocks: int) -> tuple[int, int]:
    """Return the start and the length of a span's part inside the model."""
    if span is None:
        return 0, 0
    start = min(span.start, num_blocks)
    return start, min(span.end, num_blocks) - start


def _fetch_s(rows: list[KnownServer], model: ModelSize) -> Floats:
    """Return the seconds to fetch each block. Shape: [servers, blocks]."""
    each_s = [8 * model.block_bytes / (row.download_bps or _UNKNOWN_DOWNLOAD_BPS) for row in rows]
    fetch_s = np.repeat(np.array(each_s)[:, None], model.num_blocks, axis=1)
    for row, times in zip(rows, fetch_s, strict=True):
        times[[block for block in row.stored if block < model.num_blocks]] = 0.0
    return fetch_s
