"""A route: which server computes which blocks, in order, and the error when there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from potluck.errors import SwarmError
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.records import LiveServer, NumberFormat

_MAX_NAMED = 4


@dataclass(frozen=True, slots=True, order=True)
class Variant:
    """What computes a block: servers may stand in for each other only if this is equal."""

    revision: str
    dtype: str
    quantization: str
    digest: str

    @classmethod
    def of(cls, server: LiveServer, block: int) -> Variant:
        record = server.record
        form: NumberFormat = record.format
        return cls(record.revision, form.dtype, form.quantization, record.block_digests[block - record.span.start])


@dataclass(frozen=True, slots=True)
class Hop:
    """A server and the part of its span that a route uses."""

    server: LiveServer
    span: Span

    @property
    def peer_id(self) -> PeerId:
        return self.server.peer_id

    @property
    def pins(self) -> dict[int, Variant]:
        """The variant of each block, for a replacement that must compute the same."""
        return {block: Variant.of(self.server, block) for block in self.span}


@dataclass(frozen=True, slots=True)
class Route:
    """Hops whose spans follow each other without gap; `cost_s` estimates one decode step through all of them."""

    hops: tuple[Hop, ...]
    cost_s: float


class NoRouteError(SwarmError):
    """Some blocks have no usable server; `missing` says which, `excluded` why candidates do not count."""

    def __init__(self, missing: tuple[Span, ...], excluded: Mapping[PeerId, str]) -> None:
        blocks = ", ".join(str(span) for span in missing)
        message = f"nobody serves the blocks {blocks}"
        if excluded:
            named = [f"...{peer[-8:]} {why}" for peer, why in list(excluded.items())[:_MAX_NAMED]]
            more = len(excluded) - len(named)
            message += f" (not used: {', '.join(named)}{f' and {more} more' if more else ''})"
        super().__init__(
            message, hint=f"start an engine for them, for instance with `potluck serve --blocks {missing[0]}`, or wait"
        )
        self.missing = missing
        self.excluded = dict(excluded)
