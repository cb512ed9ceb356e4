"""A route: which server computes which blocks, in order, and the error when there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from potluck.errors import SwarmError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, ServerRecord

_MAX_NAMED = 4


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """What computes a block: servers may stand in for each other only if this is equal."""

    revision: str
    dtype: str
    quantization: str
    digest: str

    @classmethod
    def of(cls, record: ServerRecord, block: int) -> Variant:
        form, digest = record.format, record.block_digests[block - record.span.start]
        return cls(record.revision, form.dtype, form.quantization, digest)


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
class Vantage:
    """What one client found out by itself."""

    rtts_s: Mapping[PeerId, float] = field(default_factory=dict)  # round trips, measured or estimated
    banned: Collection[PeerId] = ()  # they failed lately, or refuse
    slowness: Mapping[PeerId, float] = field(default_factory=dict)  # times seen over times promised; missing: 1


@dataclass(frozen=True, slots=True)
class RouteHop:
    """A server and the part of its span that a route uses."""

    server: LiveServer
    span: Span
    cost_s: float = 0.0  # estimate of one decode step here

    @property
    def peer_id(self) -> PeerId:
        return self.server.peer_id

    @property
    def pins(self) -> dict[int, Variant]:
        """The variant of each block, for a replacement that must compute the same."""
        return {block: Variant.of(self.server.record, block) for block in self.span}


@dataclass(frozen=True, slots=True)
class Route:
    """Hops whose spans follow each other without gap."""

    hops: tuple[RouteHop, ...]

    @property
    def cost_s(self) -> float:
        """Estimate of one decode step through all of them."""
        return sum(hop.cost_s for hop in self.hops)

    @property
    def parts(self) -> tuple[tuple[PeerId, Span], ...]:
        return tuple((hop.peer_id, hop.span) for hop in self.hops)


class NoRouteError(SwarmError):
    """Some blocks have no usable server; `missing` says which, `excluded` why candidates do not count."""

    def __init__(self, missing: tuple[Span, ...], excluded: Mapping[PeerId, str]) -> None:
        blocks = ", ".join(str(span) for span in missing)
        message = f"nobody serves the blocks {blocks}"
        if excluded:
            named = [f"...{peer[-8:]} {why}" for peer, why in list(excluded.items())[:_MAX_NAMED]]
            more = len(excluded) - len(named)
            message += f" (not used: {', '.join(named)}{f' and {more} more' if more else ''})"
        super().__init__(message, hint=f"wait, or serve them: `potluck serve --blocks {missing[0]}`")
        self.missing = missing
        self.excluded = dict(excluded)
