"""What the adapter for peers of another implementation codes, and what it may ask of the engine.

`adapter_for` is all that loads the adapter. Nothing of it is loaded for a private swarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from potluck.p2p.network import Stream
    from potluck.petals.adapter import PetalsPeers
    from potluck.protocol.blocks import PeerId, Span
    from potluck.protocol.messages import Caller, ServerInfo, StepReply, StepRequest, TensorReply
    from potluck.protocol.swarm import Swarm
    from potluck.protocol.values import Buffer
    from potluck.wire.calls import CallRequest
    from potluck.wire.message import Limits

T = TypeVar("T")


class SessionCoding(Protocol):
    """Writes and reads the messages of a session; `potluck.wire.sessions` is our own."""

    def encode_step(self, request: StepRequest, /) -> tuple[Buffer, ...]: ...

    def decode_step(self, body: Buffer, *, limits: Limits, first: bool) -> StepRequest: ...

    def encode_step_reply(self, reply: StepReply, /) -> tuple[Buffer, ...]: ...

    def decode_step_reply(
        self, body: Buffer, *, like: tuple[int, ...], answer_tokens: int | None = None
    ) -> StepReply: ...


class CallCoding(Protocol):
    """Reads one stateless call from its frames and writes its answer; `RequestJoiner` is our own."""

    @property
    def num_bytes(self) -> int: ...

    def add(self, frame: Buffer) -> bool: ...

    def target(self) -> tuple[str, Span, Caller]: ...

    def request(self) -> CallRequest: ...

    def encode_reply(self, reply: TensorReply) -> Iterator[tuple[Buffer, ...]]: ...


class EngineCalls(Protocol):
    """What an adapter may ask of the engine that it serves. All but `limits` may raise RemoteError."""

    @property
    def limits(self) -> Limits: ...

    @property
    def span(self) -> Span: ...

    def describe(self) -> ServerInfo: ...

    def check_served(self, prefix: str, span: Span) -> None: ...

    async def compute(self, request: CallRequest, peer: PeerId) -> TensorReply: ...

    async def answer_call(self, stream: Stream, peer: PeerId, coding: CallCoding) -> None: ...

    async def serve_session(self, stream: Stream, peer: PeerId, coding: SessionCoding) -> None: ...

    async def in_thread_if_large(self, num_bytes: int, code: Callable[[], T]) -> T: ...


def adapter_for(swarm: Swarm) -> PetalsPeers | None:
    """Return the adapter for the other peers of an open swarm."""
    if not swarm.is_open:
        return None
    from potluck.petals.adapter import PetalsPeers

    return PetalsPeers(swarm)
