"""The calls between a client and an engine, as types.

Knows nothing of bytes, sockets or models; `potluck.wire` turns these into the stock encoding and back. Tensors are
torch tensors on the CPU, but torch is not imported here, so light processes can use this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from potluck.protocol.blocks import PeerId, Span

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Caller:
    """What a caller says of itself on each opening message; all of it optional."""

    membership: bytes | None = None  # proof for a private swarm, see protocol.membership
    adapter: str | None = None  # LoRA name
    revision_digest: str | None = None  # demanded `span_digest` of the weights; refuse if it differs
    delegation: bytes | None = None  # for whom it spends, see protocol.receipts
    vouchers: tuple[bytes, ...] = ()  # what that donor did for others
    receipt: bytes | None = None  # with stateless calls: for those before


@dataclass(frozen=True, slots=True)
class ForwardRequest:
    """Stateless forward of `span`.

    Shapes: hidden [batch, tokens, hidden_size]; prompts [blocks, batch or 1, prompt_tokens, hidden_size] or None.
    """

    prefix: str
    span: Span
    hidden: Tensor
    prompts: Tensor | None = None
    caller: Caller = field(default_factory=Caller)
    output_compression: tuple[int, ...] = ()  # one stock CompressionType per output tensor


@dataclass(frozen=True, slots=True)
class BackwardRequest:
    """Stateless backward of `span`; the server recomputes the forward.

    Shapes: hidden and grad [batch, tokens, hidden_size]; prompts as in ForwardRequest.
    """

    prefix: str
    span: Span
    hidden: Tensor
    grad: Tensor
    prompts: Tensor | None = None
    caller: Caller = field(default_factory=Caller)
    output_compression: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Timing:
    """What a server tells about a call; stock servers tell nothing (all zero)."""

    queue_ms: float = 0.0
    compute_ms: float = 0.0
    cache_tokens_left: int | None = None
    is_leaving: bool = False  # the server leaves on purpose before long and will end its sessions
    tab: bytes | None = None  # name of the tab to sign receipts for; told once
    countersigned: bytes | None = None  # the last receipt that the server booked; told once
    takes_brief: bool = False  # the server reads later steps of this stream in the brief form; told once


@dataclass(frozen=True, slots=True)
class TensorReply:
    """Answer to forward (one tensor) and backward (grad of hidden, then grad of prompts if prompts were given)."""

    tensors: tuple[Tensor, ...]
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class NextServer:
    """A later span of the same session, for server-to-server push. Blocks are absolute."""

    peer_id: PeerId
    session_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class SessionOpening:
    """The part of the first inference message that opens the session."""

    prefix: str
    span: Span
    max_length: int  # tokens; a ceiling, not a reservation
    session_id: str | None = None
    alloc_timeout_s: float = 0.0
    caller: Caller = field(default_factory=Caller)
    exact: bool = False  # never batched with other sessions: the numbers are those of a session alone
    resume: bool = False  # go on with what this server kept of `session_id`; ROLLBACK if it kept nothing


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step of a session; the first one carries `opening`. No tensors at all means: close.

    Shapes: hidden [batch, tokens, hidden_size] (tokens may be 0); prompts as in ForwardRequest; hypo_ids [batch] int64.
    """

    hidden: Tensor | None
    opening: SessionOpening | None = None
    prompts: Tensor | None = None
    hypo_ids: Tensor | None = None
    step_id: str | None = None
    start_from_position: int | None = None  # roll back to this many tokens before the step
    next_servers: tuple[NextServer, ...] = ()
    session_id: str | None = None  # where a push is addressed to
    pushed: bool = False
    pusher: Caller | None = None  # of a push only: what the pushing server says of itself
    receipt: bytes | None = None  # for the steps before, see protocol.receipts
    is_brief: bool = False  # it came in the brief form, and so may the answer


@dataclass(frozen=True, slots=True)
class StepReply:
    """Shapes: hidden as in the request."""

    hidden: Tensor
    timing: Timing = field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class QuoteRequest:
    """What would a new session of `rows` rows through `span` cost now? Asks to keep memory for it for a moment."""

    prefix: str
    span: Span
    rows: int
    tokens: int  # of each row, that memory should be kept for
    caller: Caller = field(default_factory=Caller)


@dataclass(frozen=True, slots=True)
class Quote:
    """The present load of a server, as in its heartbeat but of this moment."""

    batch: int  # rows in recent steps, and those that were quoted lately
    step_ms: float  # a decode step through the whole span, wait included
    queue_ms: float  # of this, the wait
    free_tokens: int  # through the whole span; the session's own reservation counts as free
    reserved_tokens: int = 0  # kept for the caller, all rows together; a session may open without


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Answer to rpc_info. `extras` holds keys that this version does not know."""

    version: str
    dht_client_mode: bool
    cache_tokens_available: int
    hidden_size: int | None = None
    dtype: str | None = None  # "float32", "bfloat16", ...
    max_batch_tokens: int | None = None
    max_length: int | None = None
    extras: Mapping[str, object] = field(default_factory=dict)
