"""What a server announces: one record, changed rarely, and a small heartbeat, sent often.

A server counts as live while both are valid. The ranges are those of records that others announce. Signatures,
membership proofs and bytes are `potluck.directory`'s matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from potluck.protocol.blocks import PeerId, Span

Count = Annotated[int, Meta(ge=0, le=1 << 50)]
Amount = Annotated[float, Meta(ge=0.0, le=1e15)]  # never NaN
_Format = Annotated[str, Meta(min_length=1, max_length=32)]


class ServerState(IntEnum):
    """The state of a server, with the numbers of Petals' records."""

    OFFLINE = 0
    JOINING = 1
    ONLINE = 2


def span_digest(block_digests: Sequence[str]) -> str:
    """Return one digest for several blocks in order, 16 hex digits; what `Caller.revision_digest` demands."""
    return hashlib.sha256(" ".join(block_digests).encode()).hexdigest()[:16]


UNKNOWN = ""
"""Revision, digest or format of a server that does not tell them: one of another implementation."""

AUDITS = ("on", "known", "off")
"""Who may recompute windows of a client: any other member's server, only servers in use anyway, or nobody."""

PACKINGS = ("auto", "on", "off")
"""Where a client has hidden states packed: over slow links of servers that don't compute in float32, wherever servers
can, or nowhere."""

QUANTIZATIONS = ("none", "int8", "int4")
"""How an engine can hold the matrices of its blocks."""

CACHE_QUANTIZATIONS = ("none", "int8")
"""How an engine can hold the keys and values of sessions that share steps."""


class NumberFormat(Struct, frozen=True, array_like=True):
    """The format in which a server holds and computes numbers.

    Servers replace each other only if `dtype` and `quantization` are equal. They may differ in `cache`, because the
    replacement server computes keys and values again.
    """

    dtype: _Format  # compute and wire: "float32", "bfloat16", "float16"
    quantization: _Format = "none"  # weights in memory: one of QUANTIZATIONS, or a name of another implementation's
    cache: _Format = "none"  # keys and values, except in exact sessions: one of CACHE_QUANTIZATIONS, or unknown


class ServerRecord(Struct, frozen=True, array_like=True):
    """The part of a server's announcement that changes rarely.

    `span` is what is served now: contiguous, never empty; while nothing is yet (JOINING), the same as `target`.
    """

    peer_id: PeerId
    span: Span
    revision: str  # revision of the checkpoint, named as in the swarm
    format: NumberFormat
    block_digests: tuple[str, ...]  # one a block of the span, 16 hex digits, of names, shapes, dtypes and bytes
    max_batch_tokens: Count
    max_length: Count
    inference_tps: Amount  # single-token steps a second through one block
    forward_tps: Amount  # tokens a second through one block
    network_tps: Amount  # tokens a second that the link carries
    throughput_tps: Amount  # tokens a second through this server
    version: Annotated[str, Meta(min_length=1, max_length=64)]
    public_name: Annotated[str, Meta(min_length=1, max_length=100)] | None = None
    adapters: Annotated[tuple[Annotated[str, Meta(min_length=1, max_length=200)], ...], Meta(max_length=64)] = ()
    using_relay: bool = False
    target: Span = None  # type: ignore[assignment]  # what it moves to, a promise; None: it rests, the same as `span`
    window: Count = 0  # how many blocks it can hold; 0: no more than span or target
    stored: frozenset[int] = frozenset()  # blocks whose files are on its disk
    download_bps: Amount = 0.0  # measured, bits a second; 0: not known
    moves: bool = False  # it goes where the swarm needs it; if not, its blocks were chosen for good
    private_adapter_bytes: Count = 0  # the largest adapter that callers may bring; 0: none
    weights: str = ""  # digest of the manifest that its files were checked by; empty: they were not
    packing_error: Amount | None = None  # relative error of outputs that `potluck.wire.packing` packs; None: can't

    def __post_init__(self) -> None:
        if self.target is None:
            force_setattr(self, "target", self.span)
        force_setattr(self, "window", max(self.window, len(self.span), len(self.target)))

    @property
    def is_ours(self) -> bool:
        """Return whether the server told what its weights are, which servers of other implementations do not."""
        return all(self.block_digests)

    def digests_of(self, span: Span) -> tuple[str, ...]:
        """Return the digests of the part `span` of this server's span."""
        return self.block_digests[span.within(self.span)]


class Heartbeat(Struct, frozen=True, array_like=True):
    """The part of a server's announcement that changes often."""

    peer_id: PeerId
    state: ServerState
    cache_tokens_left: Count  # tokens, through the whole span
    queued_tokens: Count = 0
    step_ms: Amount = 0.0  # recent median time of a decode step, queue included
    batch: Count = 0  # rows in recent steps
    queue_ms: Amount = 0.0  # what a step that comes now has to wait
    pings_s: dict[PeerId, float] = {}  # round trips to other servers
    links_mbps: dict[PeerId, float] = {}  # bandwidth measured to other servers


@dataclass(frozen=True, slots=True)
class LiveServer:
    """A server as seen by a reader of the directory."""

    record: ServerRecord
    heartbeat: Heartbeat

    @property
    def peer_id(self) -> PeerId:
        return self.record.peer_id

    @property
    def span(self) -> Span:
        return self.record.span
