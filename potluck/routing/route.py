"""Defines what a session asks of its servers, the route that it gets, and the error when there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from potluck.errors import SwarmError
from potluck.formatting import layer_ranges
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import UNKNOWN, LiveServer, ServerRecord

_MAX_NAMED = 4


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """The exact form of a block: servers can replace each other only if their variants are equal, as far as known."""

    revision: str
    dtype: str
    quantization: str
    digest: str

    @classmethod
    def of(cls, record: ServerRecord, block: int) -> Variant:
        form, digest = record.format, record.block_digests[block - record.span.start]
        return cls(record.revision, form.dtype, form.quantization, digest)

    def can_replace(self, other: Variant) -> bool:
        """Return whether this is the same, or not known to differ: servers of other implementations tell no weights."""
        if UNKNOWN not in (self.revision, other.revision):
            return self == other
        formats = ((self.dtype, other.dtype), (self.quantization, other.quantization))
        return all(one == another or UNKNOWN in (one, another) for one, another in formats)


@dataclass(frozen=True, slots=True)
class Needs:
    """The demands of a session on every server of its route."""

    revision: str | None = None  # None: any; servers that announce none always pass
    max_length: int = 0  # tokens of the longest sequence
    call_tokens: int = 0  # rows x tokens of a call without a session
    cache_tokens: int = 0  # tokens that the KV cache should have free
    pins: Mapping[int, Variant] = field(default_factory=dict)  # block -> what its server must be able to replace
    dtype: str | None = None  # format of the computation; here and below, a server that announces none never passes
    quantization: str | None = None  # format of the weights
    cache: str | None = None  # how keys and values are held
    adapter: str | None = None  # name, hash or id of a LoRA adapter
    brings_adapter: bool = False  # the caller's own, which the server must take


@dataclass(frozen=True, slots=True)
class Vantage:
    """The knowledge that one client gathered by itself."""

    rtts_s: Mapping[PeerId, float] = field(default_factory=dict)  # round trips, measured or estimated
    banned: Collection[PeerId] = ()  # servers that failed lately or refuse, and strays
    strays: Collection[PeerId] = ()  # banned servers with other weights than the swarm's
    slowness: Mapping[PeerId, float] = field(default_factory=dict)  # seen step time over the promised one; missing: 1
    doubted: Collection[PeerId] = ()  # servers to choose only where there are no others
    votes: Mapping[PeerId, float] = field(default_factory=dict)  # votes on the variant of a block; missing: 1
    places: Mapping[PeerId, str] = field(default_factory=dict)  # network range; servers of one range share a draw


@dataclass(frozen=True, slots=True)
class RouteHop:
    """One server of a route and the part of its span that is used."""

    server: LiveServer
    span: Span
    cost_s: float = 0.0  # estimate of one decode step here, with the way from the client and back

    @property
    def peer_id(self) -> PeerId:
        return self.server.peer_id

    @property
    def pins(self) -> dict[int, Variant]:
        """Return the variant of each block, which a replacement server must match."""
        return {block: Variant.of(self.server.record, block) for block in self.span}


@dataclass(frozen=True, slots=True)
class Route:
    """A chain of hops whose spans follow each other without a gap."""

    hops: tuple[RouteHop, ...]
    saved_s: float = 0.0  # seconds of a decode step, because it goes from server to server

    @property
    def cost_s(self) -> float:
        """Return an estimate of one decode step through all hops, in seconds."""
        return sum(hop.cost_s for hop in self.hops) - self.saved_s

    @property
    def parts(self) -> tuple[tuple[PeerId, Span], ...]:
        return tuple((hop.peer_id, hop.span) for hop in self.hops)


class NoRouteError(SwarmError):
    """Some blocks have no usable server: `missing` names them, `excluded` gives the reason for each known server."""

    def __init__(self, missing: tuple[Span, ...], excluded: Mapping[PeerId, str]) -> None:
        message = f"nobody serves {layer_ranges(block for span in missing for block in span)}"
        if excluded:
            named = [f"...{peer[-8:]} {why}" for peer, why in list(excluded.items())[:_MAX_NAMED]]
            more = len(excluded) - len(named)
            message += f" (not used: {', '.join(named)}{f' and {more} more' if more else ''})"
        super().__init__(message, hint=f"wait, or serve them: `potluck serve --layers {missing[0].layers}`")
        self.missing = missing
        self.excluded = dict(excluded)
