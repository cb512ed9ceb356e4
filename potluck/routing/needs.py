"""What a session asks of the servers on its route, and what its client knows of them beside the directory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from potluck.protocol.blocks import PeerId
from potluck.routing.route import Variant


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
