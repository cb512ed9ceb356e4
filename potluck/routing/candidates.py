"""Selects the few hundred servers that are worth a search, with their costs.

Pure: the columns and the client's knowledge in, candidates out. Which route they make is `search`'s decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, Span, runs_of
from potluck.protocol.records import LiveServer, ServerState
from potluck.routing.route import Needs, NoRouteError, Vantage, Variant
from potluck.routing.servers import NO_BLOCK, Floats, Ints, ServerColumns

UNKNOWN_RTT_S = 0.15  # what Petals clients assume for a server they have not measured
HOP_OVERHEAD_S = 0.001  # serialising and scheduling at both ends, measured on loopback
FULL_CACHE_PENALTY_S = 10.0  # Petals clients' value, applied in full to a server with no free cache
DOUBT_PENALTY_S = 1000.0  # more than any route of servers that answer
_MAX_CANDIDATES = 300
_MIN_A_BLOCK = 8


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Servers worth a search.

    Attributes:
        rows: their rows in the columns, [candidates].
        fits: whether a candidate has a block in the variant chosen for it, [candidates, blocks of the wanted span].
        hop_s: cost of entering each candidate, [candidates].
        block_s: cost of each block there, [candidates].
    """

    rows: Ints
    fits: NDArray[np.bool_]
    hop_s: Floats
    block_s: Floats

    @classmethod
    def of(cls, columns: ServerColumns, span: Span, vantage: Vantage, needs: Needs) -> Candidates:
        """Return the cheapest usable servers, with several for each block. Raises NoRouteError."""
        usable = _usable(columns, span, vantage, needs)
        forms, form = np.unique(columns.form[usable], return_inverse=True)
        codes = columns.forms.table(max(span.end, int(columns.end.max(initial=0))))[forms, span.start : span.end]
        votes = (
            np.array([vantage.votes.get(columns.servers[row].peer_id, 1.0) for row in usable])
            if vantage.votes
            else None
        )
        chosen = _chosen(columns, span, codes, np.bincount(form, votes, minlength=len(forms)), needs)
        missing = runs_of(span.start + int(offset) for offset in np.flatnonzero(chosen == NO_BLOCK))
        if missing:
            raise NoRouteError(missing, _why_not(columns, missing, vantage, needs))
        form_fits = codes == chosen
        hop_s, block_s = (values[usable] for values in costs(columns, vantage, needs))
        kept = _prune(form, form_fits, hop_s, block_s)
        return cls(usable[kept], form_fits[form[kept]], hop_s[kept], block_s[kept])


def costs(columns: ServerColumns, vantage: Vantage, needs: Needs) -> tuple[Floats, Floats]:
    """Return the seconds a decode step spends on entering each server of the columns, and on each block there."""
    rtt_s = np.full(len(columns.servers) + 1, UNKNOWN_RTT_S)  # the last place: servers not in the columns
    slowness = np.ones(len(columns.servers) + 1)
    for column, known in ((rtt_s, vantage.rtts_s), (slowness, vantage.slowness)):
        rows = np.fromiter((columns.index.get(peer, -1) for peer in known), np.int64, len(known))
        column[rows] = np.fromiter(known.values(), np.float64, len(known))
    lacking = np.maximum(1.0 - columns.free_tokens / max(needs.cache_tokens, 1), 0.0) if needs.cache_tokens else 0.0
    hop_s = (rtt_s[:-1] + HOP_OVERHEAD_S + columns.wait_s) * slowness[:-1] + FULL_CACHE_PENALTY_S * lacking
    hop_s[[row for peer in vantage.doubted if (row := columns.index.get(peer)) is not None]] += DOUBT_PENALTY_S
    return hop_s, columns.block_s * slowness[:-1]


def round_trips(peers: Sequence[PeerId], vantage: Vantage) -> Floats:
    """Return the round trips from the client, in seconds; an assumption for servers whose distance nobody knows."""
    return np.array([vantage.rtts_s.get(peer, UNKNOWN_RTT_S) for peer in peers], np.float64)


def exclusion(server: LiveServer, vantage: Vantage, needs: Needs) -> str | None:
    """Return the reason why this server cannot be on any route, or None."""
    record, state = server.record, server.heartbeat.state
    if server.peer_id in vantage.strays:
        return "holds other weights than the swarm's model"
    if server.peer_id in vantage.banned:
        return "failed recently"
    if state is not ServerState.ONLINE:
        return f"is {state.name.lower()}"
    if needs.revision is not None and record.revision and record.revision != needs.revision:
        return f"serves revision {record.revision}"
    if needs.dtype is not None and record.format.dtype != needs.dtype:
        return f"computes in {record.format.dtype or 'an unknown format'}"
    if needs.quantization is not None and record.format.quantization != needs.quantization:
        return f"holds its weights in {record.format.quantization or 'an unknown format'}"
    if needs.cache is not None and record.format.cache != needs.cache:
        return f"holds its cache in {record.format.cache or 'an unknown format'}"
    if needs.adapter is not None and find_adapter(record.adapters, needs.adapter) is None:
        return f"does not have the adapter {needs.adapter}"
    if needs.brings_adapter and not record.private_adapter_bytes:
        return "takes no adapters that callers bring"
    if record.max_length < needs.max_length:
        return f"takes at most {record.max_length} tokens"
    if record.max_batch_tokens < needs.call_tokens:
        return f"takes at most {record.max_batch_tokens} tokens in one call"
    return None


def _usable(columns: ServerColumns, span: Span, vantage: Vantage, needs: Needs) -> Ints:
    """Return the rows of servers that have any of the blocks and no reason for exclusion."""
    mask = columns.is_online & (columns.start < span.end) & (columns.end > span.start)
    mask &= (columns.max_length >= needs.max_length) & (columns.max_call >= needs.call_tokens)
    mask[[columns.index[peer] for peer in vantage.banned if peer in columns.index]] = False
    rows = np.flatnonzero(mask)
    demands = (needs.revision, needs.dtype, needs.quantization, needs.cache, needs.adapter)
    if demands == (None,) * 5 and not needs.brings_adapter:
        return rows
    return np.array([row for row in rows if exclusion(columns.servers[row], vantage, needs) is None], np.int64)


def _chosen(columns: ServerColumns, span: Span, codes: Ints, votes: NDArray[np.float64] | Ints, needs: Needs) -> Ints:
    """Return the code for each block of the span: its pin, or the one with most votes; ties go to the smallest variant.

    Args:
        codes: of the variants, [forms, blocks].
        votes: of the servers with each form, [forms].
    """
    is_there = codes != NO_BLOCK
    weights = np.broadcast_to(votes[:, None], codes.shape)[is_there]
    counts = np.bincount(codes[is_there], weights=weights)
    chosen = np.full(len(span), NO_BLOCK, np.int64)

    def rank(code: int) -> tuple[bool, float, Variant]:
        block, variant = columns.forms.variants[code]
        return variant != needs.pins.get(block, variant), -float(counts[code]), variant

    for code in np.flatnonzero(counts).tolist():
        block, variant = columns.forms.variants[code]
        if not variant.can_replace(needs.pins.get(block, variant)):
            continue
        best = int(chosen[block - span.start])
        if best == NO_BLOCK or rank(code) < rank(best):
            chosen[block - span.start] = code
    return chosen


def _prune(form: Ints, form_fits: NDArray[np.bool_], hop_s: Floats, block_s: Floats) -> Ints:
    """Return the places of the servers with the least cost per block, with enough of them for each block."""
    lengths = form_fits.sum(axis=1)[form]
    is_any = lengths > 0
    cost_s = np.where(is_any, hop_s / np.maximum(lengths, 1) + block_s, np.inf)
    order = np.argsort(cost_s, kind="stable")[: int(is_any.sum())]
    kept = order[:_MAX_CANDIDATES]
    covered = form_fits[form[kept]].sum(axis=0)
    more = [order[form_fits[form[order], block]][:_MIN_A_BLOCK] for block in np.flatnonzero(covered < _MIN_A_BLOCK)]
    return np.unique(np.concatenate([kept, *more]))


def _why_not(columns: ServerColumns, missing: tuple[Span, ...], vantage: Vantage, needs: Needs) -> dict[PeerId, str]:
    """Return the reason for each server that announces any of the missing blocks."""
    return {
        server.peer_id: exclusion(server, vantage, needs) or "has other weights or number formats"
        for server in columns.servers
        if any(server.span.start < gap.end and gap.start < server.span.end for gap in missing)
    }
