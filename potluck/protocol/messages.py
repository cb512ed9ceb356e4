"""The calls between a client and an engine, as types.

Knows nothing of bytes, sockets or models; `potluck.wire` turns these into bytes and back. Tensors are torch tensors on
the CPU, but torch is not imported here, so light processes can use this module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from potluck.protocol.adapters import AdapterLayout, PrivateId
from potluck.protocol.blocks import PeerId, Span

if TYPE_CHECKING:
    from torch import Tensor


_CHOICE_TOKENS: Final = 8192
_CHOICE_ROWS: Final = 131_072  # tokens x layers: up to 16 choices each fit in one message


def choice_tokens(num_layers: int) -> int:
    """Return for how many tokens of a row a server remembers which experts it chose."""
    return min(_CHOICE_TOKENS, _CHOICE_ROWS // num_layers)


@dataclass(frozen=True, slots=True)
class Caller:
    """What a caller says of itself on each opening message; all of it optional."""

    adapter: str | None = None  # LoRA name
    revision_digest: str | None = None  # demanded `span_digest` of the weights; refuse if it differs
    receipt: bytes | None = None  # with stateless calls: for those before
    private: PrivateId | None = None  # an adapter that this person brought to this server


@dataclass(frozen=True, slots=True)
class AdapterUpload:
    """A private adapter for the blocks of `span`, brought to a server before the calls that name it.

    Shapes: values [layout.num_values], floats.
    """

    prefix: str
    span: Span
    layout: AdapterLayout
    values: Tensor
    caller: Caller  # names the adapter, too


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
    is_trained: bool = False  # a backward with the same inputs follows
    packed: Tensor | None = None  # the same hidden states, to be sent instead, see `potluck.wire.packing`
    packs: bool = False  # round the output, and send it packed
    report: bytes = b""  # to a leader's server: a report whose window these inputs repeat
    last_tokens: int | None = None  # how many of the last tokens the answer needs; None: all
    choices: Tensor | None = None  # [tokens, layers, choices] int16: the experts that another server chose
    margin: float = 0.0  # how far below their own choices these may score


@dataclass(frozen=True, slots=True)
class BackwardRequest:
    """Stateless backward of `span`; the server recomputes the forward unless it kept what it needs of it.

    Shapes: hidden and grad [batch, tokens, hidden_size]; prompts as in ForwardRequest.
    """

    prefix: str
    span: Span
    hidden: Tensor
    grad: Tensor
    prompts: Tensor | None = None
    caller: Caller = field(default_factory=Caller)
    packed: Tensor | None = None  # the same hidden states, to be sent instead, see `potluck.wire.packing`
    packed_grad: Tensor | None = None  # the same gradient, likewise
    packs: bool = False  # round the hidden states' gradient as `pack_gradient` does, and send it packed


@dataclass(frozen=True, slots=True)
class Timing:
    """What a server says about a call it computed; zero where it says nothing."""

    queue_ms: float = 0.0
    compute_ms: float = 0.0
    cache_tokens_left: int | None = None
    is_leaving: bool = False  # the server leaves on purpose before long and will end its sessions
    tab: bytes | None = None  # name of the tab to sign receipts for; told once


@dataclass(frozen=True, slots=True)
class TensorReply:
    """Answer to forward (one tensor) and backward (grad of hidden, then grad of prompts if prompts were given).

    Shapes: adapter_grad [num_values of the private adapter], in the answer to a backward with one.
    """

    tensors: tuple[Tensor, ...]
    timing: Timing = field(default_factory=Timing)
    adapter_grad: Tensor | None = None
    packed: Tensor | None = None  # the same as the first tensor, to be sent instead
    gap: float | None = None  # the furthest that a given choice of experts scored below the server's own ones


@dataclass(frozen=True, slots=True)
class ChoicesRequest:
    """Asks which experts a server chose for the first tokens of one row of a session."""

    session_id: str
    row: int
    tokens: int


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
    packs: bool = False  # round outputs as `potluck.wire.packing` does, and send them packed
    sharing: str | None = None  # for whom; what one of a client's users asked makes no other's answer quicker


@dataclass(frozen=True, slots=True)
class PushLink:
    """Tells a server of a session which other server it pushes its outputs to, or gets its inputs from."""

    peer: PeerId  # the other server
    secret: bytes  # known to the client and these two servers


@dataclass(frozen=True, slots=True)
class Awaited:
    """Hidden states that another server pushes."""

    number: int  # under which they come; grows within a session
    rows: int
    tokens: int  # of each row


@dataclass(frozen=True, slots=True)
class StepRequest:
    """One step of a session; the first one carries `opening`.

    Without hidden states it closes the session, or announces a step whose hidden states are `awaited`. With both, it
    brings hidden states that were awaited; the server ignores it if they have come already.

    Shapes: hidden [batch, tokens, hidden_size] (tokens may be 0); prompts as in ForwardRequest; hypo_ids [batch] int64.
    """

    hidden: Tensor | None
    opening: SessionOpening | None = None
    prompts: Tensor | None = None
    hypo_ids: Tensor | None = None
    start_from_position: int | None = None  # roll back to this many tokens before the step
    receipt: bytes | None = None  # for the steps before, see protocol.receipts
    awaited: Awaited | None = None
    push_number: int | None = None  # also push the output, under this number
    push_to: PushLink | None = None  # where outputs go from now on
    pushed_by: PushLink | None = None  # where awaited hidden states come from, from now on
    answer_tokens: int | None = None  # the answer needs only so many of the last tokens; None: all
    packed: Tensor | None = None  # the same hidden states, to be sent instead, see `potluck.wire.packing`
    is_spare: bool = False  # the session yields to all others, until a step that is none of a spare one


@dataclass(frozen=True, slots=True)
class StepReply:
    """Shapes: hidden as in the request, or only as many of its last tokens as were asked for."""

    hidden: Tensor
    timing: Timing = field(default_factory=Timing)
    can_push: bool = False  # the next server takes what this one pushes
    was_pushed: bool = False  # the output is on its way to the next server
    input_digest: bytes | None = None  # of hidden states that were pushed
    packed: Tensor | None = None  # the same hidden states, to be sent instead, see `potluck.wire.packing`


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
    """What a server says of itself."""

    version: str  # of its software
    free_tokens: int  # through its whole span
    hidden_size: int
    dtype: str  # "float32", "bfloat16", ...
    max_batch_tokens: int
    max_length: int
