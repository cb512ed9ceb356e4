"""The calls between a client and an engine, as the structs that travel.

`potluck.wire` turns them into bytes and back. Ranges that hold for every model are declared here; `potluck.wire` checks
those that depend on the model, such as shapes. Tensors are torch tensors on the CPU. Knows nothing of bytes or sockets.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct
from torch import Tensor

from potluck.protocol.adapters import AdapterLayout, PrivateId
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.receipts import RECEIPT_BYTES, TAB_BYTES
from potluck.protocol.records import Amount as Amount
from potluck.protocol.records import Count as Count
from potluck.protocol.values import PRINTABLE, Name, Text

SECRET_BYTES: Final = 16
DIGEST_BYTES: Final = 16
_CHOICE_TOKENS: Final = 8192
_CHOICE_ROWS: Final = 131_072  # tokens x layers: up to 16 choices each fit in one message

Positive = Annotated[int, Meta(gt=0, le=1 << 50)]
Rows = Annotated[int, Meta(ge=0, le=1 << 20)]
Gap = Annotated[float, Meta(ge=0)]  # difference of scores; may be infinite
SignedReceipt = Annotated[bytes, Meta(min_length=RECEIPT_BYTES, max_length=RECEIPT_BYTES)]
TabName = Annotated[bytes, Meta(min_length=TAB_BYTES, max_length=TAB_BYTES)]
Secret = Annotated[bytes, Meta(min_length=SECRET_BYTES, max_length=SECRET_BYTES)]
Digest = Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
Packed = Annotated[tuple[Tensor | None, ...], Meta(max_length=0)]
"""Packed forms of a message's first tensors, sent in their places; see `potluck.wire.packing`. No peer may send any."""


def choice_tokens(num_layers: int) -> int:
    """Return for how many tokens of a row a server remembers which experts it chose."""
    return min(_CHOICE_TOKENS, _CHOICE_ROWS // num_layers)


class Caller(Struct, frozen=True, omit_defaults=True):
    """The optional statements of a caller about itself on each opening message."""

    adapter: Name | None = None  # LoRA name
    revision_digest: Text | None = None  # demanded `span_digest` of the weights; refuse if it differs
    receipt: SignedReceipt | None = None  # receipt for the calls before, in stateless calls
    private: PrivateId | None = None  # an adapter that this person brought to this server


class Target(Struct, frozen=True):
    """The part that the first frame of every request has."""

    prefix: Name
    span: Span
    caller: Caller = Caller()


class AdapterUpload(Struct, frozen=True, omit_defaults=True):
    """A private adapter for the blocks of `span`, brought to a server before the calls that name it.

    Shapes: values [layout.num_values], floats.
    """

    prefix: Name
    span: Span
    layout: AdapterLayout
    values: Tensor
    caller: Caller  # names the adapter, too


class ForwardRequest(Struct, frozen=True, omit_defaults=True):
    """Stateless forward of `span`.

    Shapes: hidden [batch, tokens, hidden_size]; prompts [blocks, batch or 1, prompt_tokens, hidden_size] or None.
    """

    prefix: Name
    span: Span
    hidden: Tensor
    prompts: Tensor | None = None
    caller: Caller = Caller()
    is_trained: bool = False  # a backward with the same inputs follows
    packed: Packed = ()
    packs: bool = False  # round the output, and send it packed
    report: Annotated[bytes, Meta(max_length=512)] = b""  # report to a leader's server whose window has these inputs
    last_tokens: Count | None = None  # how many of the last tokens the answer needs; None: all
    choices: Tensor | None = None  # [tokens, layers, choices] int16: the experts that another server chose
    margin: Gap = 0.0  # how far below their own choices these may score


class BackwardRequest(Struct, frozen=True, omit_defaults=True):
    """Stateless backward of `span`; the server recomputes the forward unless it kept what it needs of it.

    Shapes: hidden and grad [batch, tokens, hidden_size]; prompts as in ForwardRequest.
    """

    prefix: Name
    span: Span
    hidden: Tensor
    grad: Tensor
    prompts: Tensor | None = None
    caller: Caller = Caller()
    packed: Packed = ()
    packs: bool = False  # round the hidden states' gradient as `pack_gradient` does, and send it packed


class Timing(Struct, frozen=True, array_like=True):
    """The statements of a server about a call that it computed; zero where it says nothing."""

    queue_ms: Amount = 0.0
    compute_ms: Amount = 0.0
    cache_tokens_left: Count | None = None
    is_leaving: bool = False  # the server leaves on purpose before long and will end its sessions
    tab: TabName | None = None  # name of the tab to sign receipts for; sent once


class TensorReply(Struct, frozen=True, omit_defaults=True):
    """Answer to forward (one tensor) and backward (grad of hidden, then grad of prompts if prompts were given).

    Shapes: adapter_grad [num_values of the private adapter], in the answer to a backward with one.
    """

    tensors: Annotated[tuple[Tensor, ...], Meta(min_length=1, max_length=2)]
    timing: Timing = Timing()
    adapter_grad: Tensor | None = None
    packed: Packed = ()
    gap: Gap | None = None  # the furthest that a given choice of experts scored below the server's own ones


class ChoicesRequest(Struct, frozen=True, omit_defaults=True):
    """A question which experts a server chose for the first tokens of one row of a session."""

    session_id: Text
    row: Rows
    tokens: Annotated[int, Meta(gt=0, le=_CHOICE_TOKENS)]


class Choices(Struct, frozen=True):
    """The answer. Shapes: experts [tokens, layers, choices] int16; -1 stands for none."""

    experts: Tensor


class SessionOpening(Struct, frozen=True, omit_defaults=True):
    """The part of the first inference message that opens the session."""

    prefix: Name
    span: Span
    max_length: Count  # tokens; a ceiling, not a reservation
    session_id: Text | None = None
    alloc_timeout_s: Amount = 0.0
    caller: Caller = Caller()
    exact: bool = False  # never batched with other sessions: the numbers are those of a session alone
    packs: bool = False  # round outputs as `potluck.wire.packing` does, and send them packed
    sharing: Text = ""  # cached prompts are shared within this name only, one name for each user of a client


class PushLink(Struct, frozen=True, omit_defaults=True):
    """The other server to which a server of a session pushes its outputs, or from which it gets its inputs."""

    peer: Annotated[PeerId, PRINTABLE]  # the other server
    secret: Secret  # known to the client and these two servers


class Awaited(Struct, frozen=True, omit_defaults=True):
    """Hidden states that another server pushes."""

    number: Count  # number under which they come; grows within a session
    rows: Positive
    tokens: Positive  # tokens of each row


class StepRequest(Struct, frozen=True, omit_defaults=True):
    """One step of a session; the first one carries `opening`.

    Without hidden states it announces a step whose hidden states are `awaited`, or takes steps back if it says where to
    start from, or else closes the session. With both, it brings hidden states that were awaited; the server ignores it
    if they have come already.

    A step that goes back takes back, as a message without a step of its own does, all steps before it that start there
    or further on and have not begun, up to one that reorders rows: nobody computes, awaits or pushes them, and each is
    answered in its turn with `StepReply.is_dropped`. A dropped step's receipt and links hold all the same. A message
    that does nothing but take back gets no answer, and the step after it says where it starts; a server whose answers
    say no `takes_ahead` would close the session.

    Shapes: hidden [batch, tokens, hidden_size] (tokens may be 0); prompts as in ForwardRequest; hypo_ids [batch] int64.
    """

    hidden: Tensor | None = None
    opening: SessionOpening | None = None
    prompts: Tensor | None = None
    hypo_ids: Tensor | None = None
    start_from_position: Count | None = None  # roll back to this many tokens before the step, and take back steps
    receipt: SignedReceipt | None = None  # receipt for the steps before, see `protocol.receipts`
    awaited: Awaited | None = None
    push_number: Count | None = None  # also push the output, under this number
    push_to: PushLink | None = None  # where outputs go from now on
    pushed_by: PushLink | None = None  # where awaited hidden states come from, from now on
    answer_tokens: Count | None = None  # the answer needs only so many of the last tokens; None: all
    packed: Packed = ()
    is_spare: bool = False  # the session yields to all others, until a step that is none of a spare one


class StepReply(Struct, frozen=True, omit_defaults=True):
    """The answer to a step.

    Shapes: hidden as in the request, or only as many of its last tokens as were asked for; no tokens if dropped.
    """

    hidden: Tensor
    timing: Timing = Timing()
    can_push: bool = False  # the next server takes what this one pushes
    was_pushed: bool = False  # the output is on its way to the next server
    input_digest: Digest | None = None  # digest of hidden states that were pushed
    packed: Packed = ()
    is_dropped: bool = False  # a later message took the step back before it began
    takes_ahead: Count = 0  # short steps (announced, or in at most 64 KiB) that may wait at once; 0: an older server


class Pushed(Struct, frozen=True, omit_defaults=True):
    """An output on its way to the next server of a session. Shapes: hidden [rows, tokens, hidden_size]."""

    number: Count
    hidden: Tensor
    packed: Packed = ()


class PushOpening(Struct, frozen=True):
    """The opening of a stream of pushes from one server of a session to the next."""

    secret: Secret


class Settlement(Struct, frozen=True):
    """The last receipt of a session or of some calls, which no later message carries."""

    receipt: SignedReceipt


class QuoteRequest(Struct, frozen=True, omit_defaults=True):
    """A question what a new session of `rows` rows through `span` costs now. It asks to keep memory for a moment."""

    prefix: Name
    span: Span
    rows: Positive
    tokens: Count  # tokens of each row that memory should be kept for
    caller: Caller = Caller()


class Quote(Struct, frozen=True, omit_defaults=True):
    """The present load of a server, as in its heartbeat but of this moment."""

    batch: Rows  # rows in recent steps, and rows that were quoted lately
    step_ms: Amount  # a decode step through the whole span, wait included
    queue_ms: Amount  # the wait in `step_ms`
    free_tokens: Count  # tokens through the whole span; the session's own reservation counts as free
    reserved_tokens: Count = 0  # kept for the caller, all rows together; a session may open without


class ServerInfo(Struct, frozen=True, omit_defaults=True):
    """The description of a server by itself."""

    version: str  # version of its software
    free_tokens: int  # tokens through its whole span
    hidden_size: int
    dtype: str  # "float32", "bfloat16", ...
