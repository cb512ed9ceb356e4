"""Makes the map of the swarm for placement from the directory: one row a server, one column a block. Pure.

What a server claims is checked against the measurements of others (`belief`). Of its promises, servers that serve count
only those that are soon kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerState
from potluck_engine.placement.belief import believed_tps, measured_tps
from potluck_engine.placement.price import Bools, Floats, ServerTable

_UNKNOWN_DOWNLOAD_BPS = 50e6  # a slow home connection, for servers that have not measured theirs


@dataclass(frozen=True, slots=True)
class ModelSize:
    """The sizes of a model that placement depends on."""

    num_blocks: int
    block_bytes: float  # of one block's files
    token_bits: float  # of one token's hidden states on the wire


@dataclass(frozen=True, slots=True)
class OwnServer:
    """The deciding server, as it knows itself."""

    peer_id: PeerId
    window: int  # blocks that it can hold
    throughput_tps: float  # 0: not known
    stored: frozenset[int] = frozenset()  # blocks whose files are on its disk
    download_bps: float = 0.0  # 0: not known
    span: Span | None = None  # what it serves; None: it joins


@dataclass(frozen=True, slots=True, eq=False)
class SwarmMap:
    """All servers, including the one that decides.

    Shapes: live [servers, blocks]; `servers` as they say.
    """

    peers: tuple[PeerId, ...]
    servers: ServerTable
    live: Bools  # served now
    me: int  # the row of the server that decides

    @classmethod
    def of(
        cls,
        others: Iterable[LiveServer],
        model: ModelSize,
        own: OwnServer,
        links_mbps: Mapping[PeerId, float] | None = None,
    ) -> SwarmMap:
        """Return the map of what the directory knows.

        Args:
            others: may contain the deciding server's own record; `own` replaces it.
            links_mbps: measurements of the deciding server itself.
        """
        known = [server for server in others if _counts(server, own.peer_id)]
        rows = [_Row.of_own(own, model.num_blocks), *(_Row.of(server, model.num_blocks) for server in known)]
        rows.sort(key=lambda row: row.peer_id)  # the same order everywhere, so that all servers find the same plan
        peers = tuple(row.peer_id for row in rows)
        me = peers.index(own.peer_id)
        measured = measured_tps(known, links_mbps or {}, model.token_bits)
        tps = believed_tps(
            np.array([row.throughput_tps for row in rows]), np.array([measured.get(peer, np.nan) for peer in peers])
        )
        tps[me] = own.throughput_tps or tps[me]
        servers = ServerTable(
            start=np.array([row.start for row in rows]),
            length=np.array([row.length for row in rows]),
            window=np.array([row.window for row in rows]),
            throughput_tps=tps,
            fetch_s=_fetch_s(rows, model),
        )
        live = np.zeros((len(rows), model.num_blocks), bool)
        for row, blocks in zip(live, rows, strict=True):
            row[blocks.live] = True
        return cls(peers, servers, live, me)

    @property
    def num_blocks(self) -> int:
        return int(self.live.shape[1])

    @property
    def soon(self) -> Bools:
        """[servers, blocks]: blocks that are live, or will be within seconds because they are being read from disk.

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
        """[servers]: True if its whole target is live and it may move from there."""
        is_done: Bools = (self.servers.spans == self.live).all(axis=1)
        return is_done & (self.servers.length > 0) & (self.servers.window > 0)

    @property
    def has_holes(self) -> bool:
        """True if nobody serves some blocks or is about to."""
        return not bool(self.soon.any(axis=0).all())

    def coverage(self, holds: Bools) -> Floats:
        """Return the tokens a second of the servers that hold each block. Shape: [blocks]."""
        return self.servers.throughput_tps @ holds


def _counts(server: LiveServer, me: PeerId) -> bool:
    return server.peer_id != me and server.heartbeat.state is not ServerState.OFFLINE


@dataclass(frozen=True, slots=True)
class _Row:
    peer_id: PeerId
    start: int
    length: int
    window: int
    throughput_tps: float
    live: slice
    stored: frozenset[int]
    download_bps: float

    @classmethod
    def of(cls, server: LiveServer, num_blocks: int) -> _Row:
        record = server.record
        live = slice(record.span.start, record.span.end)
        return cls(
            server.peer_id,
            *_cut(record.target, num_blocks),
            min(record.window, num_blocks) if record.moves else 0,
            record.throughput_tps,
            live if server.heartbeat.state is ServerState.ONLINE else slice(0),
            record.stored,
            record.download_bps,
        )

    @classmethod
    def of_own(cls, own: OwnServer, num_blocks: int) -> _Row:
        start, length = _cut(own.span, num_blocks) if own.span else (0, 0)
        live = slice(start, start + length)
        window = min(max(own.window, 1), num_blocks)
        return cls(own.peer_id, start, length, window, own.throughput_tps, live, own.stored, own.download_bps)


def _cut(span: Span, num_blocks: int) -> tuple[int, int]:
    """Return start and length of the part inside the model."""
    start = min(span.start, num_blocks)
    return start, min(span.end, num_blocks) - start


def _fetch_s(rows: list[_Row], model: ModelSize) -> Floats:
    """Return the seconds to fetch each block. Shape: [servers, blocks]."""
    each_s = [8 * model.block_bytes / (row.download_bps or _UNKNOWN_DOWNLOAD_BPS) for row in rows]
    fetch_s = np.repeat(np.array(each_s)[:, None], model.num_blocks, axis=1)
    for row, times in zip(rows, fetch_s, strict=True):
        times[[block for block in row.stored if block < model.num_blocks]] = 0.0
    return fetch_s
