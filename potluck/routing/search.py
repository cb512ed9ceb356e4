"""The route of least latency, by dynamic programming over block boundaries: O(servers x blocks).

Pure: servers and measurements in, route out. A hop may use any part of a server's span. The costs are the client's: in
a star, where each hop is a round trip from the client, what servers measured between each other does not count.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from potluck.protocol.adapters import find_adapter
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerState
from potluck.routing.route import Hop, NoRouteError, Route, Variant

UNKNOWN_RTT_S = 0.15  # what stock clients assume of a server they have not measured
HOP_OVERHEAD_S = 0.001  # (de)serialising and scheduling at both ends, measured on loopback
FULL_CACHE_PENALTY_S = 10.0  # stock clients' value: such a server is taken only if there is no other
_MAX_QUEUE_S = 5.0
_MAX_BLOCK_S = 10.0


@dataclass(frozen=True, slots=True)
class Needs:
    """What a session asks of every server on its route."""

    revision: str | None = None  # None: any; servers that do not tell theirs always pass
    max_length: int = 0  # tokens of the longest sequence
    cache_tokens: int = 0  # tokens that the KV cache should have free
    pins: Mapping[int, Variant] = field(default_factory=dict)  # blocks that must be exactly these
    dtype: str | None = None  # of the computation; this and the next: a server that does not tell never passes
    quantization: str | None = None  # of the weights
    adapter: str | None = None  # name, hash or id of a LoRA adapter


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A usable server: seconds a decode step for the hop and for each block, and what it has of the wanted span."""

    server: LiveServer
    hop_s: float
    block_s: float
    variants: dict[int, Variant]

    @classmethod
    def of(cls, server: LiveServer, span: Span, rtt_s: float, needs: Needs) -> _Candidate:
        record, beat = server.record, server.heartbeat
        declared_s = 1.0 / record.inference_tps if record.inference_tps > 0 else _MAX_BLOCK_S
        measured_s = beat.step_ms / 1000 / len(record.span)
        queue_s = beat.queued_tokens * len(record.span) / record.forward_tps if record.forward_tps > 0 else 0.0
        hop_s = rtt_s + HOP_OVERHEAD_S + min(queue_s, _MAX_QUEUE_S)
        if beat.cache_tokens_left < needs.cache_tokens:
            hop_s += FULL_CACHE_PENALTY_S
        common = range(max(span.start, server.span.start), min(span.end, server.span.end))
        variants = {block: Variant.of(server, block) for block in common}
        return cls(server, hop_s, min(max(declared_s, measured_s), _MAX_BLOCK_S), variants)


def find_route(
    servers: Iterable[LiveServer],
    span: Span,
    *,
    rtts_s: Mapping[PeerId, float] | None = None,
    banned: Collection[PeerId] = (),
    needs: Needs | None = None,
) -> Route:
    """The cheapest chain of servers that covers `span`.

    Where replicas of a block differ in weights or numbers, the variant that most usable servers have is chosen, the
    smallest one among equals; pinned blocks accept only their pin.

    Raises:
        NoRouteError: some blocks have no usable server.
    """
    needs = needs or Needs()
    candidates = sorted(servers, key=lambda server: server.peer_id)
    excluded = {server.peer_id: why for server in candidates if (why := _exclusion(server, span, banned, needs))}
    rtts = rtts_s or {}
    usable = [
        _Candidate.of(server, span, rtts.get(server.peer_id, UNKNOWN_RTT_S), needs)
        for server in candidates
        if server.peer_id not in excluded and _overlaps(server.span, span)
    ]
    chosen = _choose_variants(usable, needs.pins)
    missing = _runs(block for block in span if block not in chosen)
    if missing:
        raise NoRouteError(missing, _why_not(candidates, missing, excluded))
    return _cheapest(usable, span, chosen)


def replacement(
    servers: Iterable[LiveServer],
    hop: Hop,
    *,
    rtts_s: Mapping[PeerId, float] | None = None,
    banned: Collection[PeerId] = (),
    needs: Needs | None = None,
) -> tuple[Hop, ...]:
    """The best servers for exactly the blocks of `hop`, computing exactly the same, without its server.

    Raises:
        NoRouteError: nobody else has these blocks in the same form.
    """
    needs = needs or Needs()
    pinned = replace(needs, pins=hop.pins)
    return find_route(servers, hop.span, rtts_s=rtts_s, banned={*banned, hop.peer_id}, needs=pinned).hops


def choose_adapter(servers: Iterable[LiveServer], wanted: str) -> str:
    """The id of the adapter that `wanted` means, so that all servers of a client use the same one.

    Names may stand for different contents at different servers; what is served for the most blocks is taken. Returns
    `wanted` where nobody has it.
    """
    blocks: Counter[str] = Counter()
    for server in servers:
        found = find_adapter(server.record.adapters, wanted)
        if found is not None:
            blocks[found] += len(server.span)
    return min(blocks, key=lambda each: (-blocks[each], each), default=wanted)


def _exclusion(server: LiveServer, span: Span, banned: Collection[PeerId], needs: Needs) -> str | None:
    """Why this server cannot be on the route at all, or None."""
    record, state = server.record, server.heartbeat.state
    if not _overlaps(server.span, span):
        return None
    if server.peer_id in banned:
        return "failed recently"
    if state is not ServerState.ONLINE:
        return f"is {state.name.lower()}"
    if needs.revision is not None and record.revision and record.revision != needs.revision:
        return f"serves revision {record.revision}"
    if needs.dtype is not None and record.format.dtype != needs.dtype:
        return f"computes in {record.format.dtype or 'what it does not tell'}"
    if needs.quantization is not None and record.format.quantization != needs.quantization:
        return f"holds its weights in {record.format.quantization or 'what it does not tell'}"
    if needs.adapter is not None and find_adapter(record.adapters, needs.adapter) is None:
        return f"does not have the adapter {needs.adapter}"
    if record.max_length < needs.max_length:
        return f"takes at most {record.max_length} tokens"
    return None


def _choose_variants(usable: list[_Candidate], pins: Mapping[int, Variant]) -> dict[int, Variant]:
    """The variant of each block that somebody serves."""
    counts: dict[int, Counter[Variant]] = {}
    for candidate in usable:
        for block, variant in candidate.variants.items():
            counts.setdefault(block, Counter())[variant] += 1
    chosen = {}
    for block, variants in counts.items():
        if block not in pins:
            chosen[block] = min(variants, key=lambda variant: (-variants[variant], variant))
        elif pins[block] in variants:
            chosen[block] = pins[block]
    return chosen


def _cheapest(usable: list[_Candidate], span: Span, chosen: Mapping[int, Variant]) -> Route:
    """`best` is the least cost of everything before a block, `inside[i]` that of being in server i since some block."""
    best: tuple[float, int] = (0.0, 0)  # seconds, hops: of equal ones the fewer hops
    came_by: dict[int, tuple[int, int]] = {}  # block boundary -> index of the server before it, where it was entered
    inside: dict[int, tuple[float, int, int]] = {}  # index of a server -> seconds, hops, block where it was entered
    for block in span:
        winner: tuple[float, int] = (math.inf, 0)
        for index, candidate in enumerate(usable):
            if candidate.variants.get(block) != chosen[block]:
                inside.pop(index, None)
                continue
            entering = (best[0] + candidate.hop_s, best[1] + 1, block)
            seconds, hops, entered = min(inside.get(index, entering), entering)
            inside[index] = (seconds + candidate.block_s, hops, entered)
            if inside[index][:2] < winner:
                winner = inside[index][:2]
                came_by[block + 1] = (index, entered)
        best = winner
    hops_backwards = []
    end = span.end
    while end > span.start:
        index, start = came_by[end]
        hops_backwards.append(Hop(usable[index].server, Span(start, end)))
        end = start
    return Route(tuple(reversed(hops_backwards)), best[0])


def _why_not(
    candidates: list[LiveServer], missing: tuple[Span, ...], excluded: Mapping[PeerId, str]
) -> dict[PeerId, str]:
    """Reasons of those servers that have any of the missing blocks."""
    return {
        server.peer_id: excluded.get(server.peer_id, "has other weights or number formats")
        for server in candidates
        if any(_overlaps(server.span, gap) for gap in missing)
    }


def _runs(blocks: Iterable[int]) -> tuple[Span, ...]:
    """Ascending blocks as the fewest spans."""
    runs: list[Span] = []
    for block in blocks:
        if runs and runs[-1].end == block:
            runs[-1] = Span(runs[-1].start, block + 1)
        else:
            runs.append(Span(block, block + 1))
    return tuple(runs)


def _overlaps(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
