"""A route: which server computes which blocks, in order, and the error when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
class Hop:
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

    hops: tuple[Hop, ...]

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
        hint = f"wait, or serve them: `potluck serve --blocks {missing[0]}`"
        if not excluded:  # nobody else is known either
            hint += "; if others can use it, your invite is out of date"
        super().__init__(message, hint=hint)
        self.missing = missing
        self.excluded = dict(excluded)
