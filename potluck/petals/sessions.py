"""Messages of a Petals inference session, whose pushes between servers are left out.

The answer to a server that pushes its output to the next one says that it arrived; the client's copy is computed. The
order of keys is that of Petals' clients, so that recorded messages can be compared byte by byte. A session has no id:
only pushes need one, and a server refuses an id that it still knows from a stream that broke.
"""

from __future__ import annotations

from potluck.petals.calls import read_hidden, read_prompts, read_request
from potluck.petals.envelopes import Envelope, read_envelope, write_envelope
from potluck.petals.metadata import THREE_TENSORS, Metadata, arguments, pack, read_metadata
from potluck.petals.names import block_uids, read_uids
from potluck.petals.tensors import EMPTY_FLOATS, EMPTY_INTS, float_tensor, order_of_rows, to_raw
from potluck.protocol.codes import Code
from potluck.protocol.messages import SessionOpening, StepReply, StepRequest
from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError, refusing
from potluck.wire.message import Limits


def encode_step(request: StepRequest) -> tuple[Buffer, ...]:
    """Return one step in pieces; a request without hidden states closes the session.

    Only the opening message names blocks: servers ignore them afterwards.
    """
    if request.hidden is None:
        return (b"",)
    tensors = [
        to_raw(request.hidden),
        EMPTY_FLOATS if request.prompts is None else to_raw(request.prompts),
        EMPTY_INTS if request.hypo_ids is None else to_raw(request.hypo_ids),
    ]
    opening = request.opening
    uid = block_uids(opening.prefix, opening.span) if opening else ""
    return write_envelope(Envelope(uid, tensors, pack(_step_metadata(request))))


@refusing(Code.BAD_REQUEST)
def decode_step(body: Buffer, *, limits: Limits, first: bool) -> StepRequest:
    """Read a message of a session's stream; see `potluck.wire.sessions.decode_step`."""
    envelope = read_request(body, limits)
    if not envelope.tensors and not first:
        return StepRequest(hidden=None)
    metadata = read_metadata(envelope)
    opening = _read_opening(envelope, metadata, limits) if first else None
    raw_hidden, raw_prompts, raw_order = arguments(envelope, metadata, 3)
    hidden = read_hidden(raw_hidden, limits)
    if (metadata.start_from_position or 0) > limits.max_length:
        raise WireError(f"a step cannot start at token {metadata.start_from_position}")
    return StepRequest(
        hidden=hidden,
        opening=opening,
        prompts=read_prompts(raw_prompts, hidden, num_blocks=len(opening.span) if opening else None, limits=limits),
        hypo_ids=order_of_rows(raw_order, hidden.shape[0]),
        start_from_position=metadata.start_from_position,
    )


def encode_step_reply(reply: StepReply) -> tuple[Buffer, ...]:
    """Return the answer to one step in pieces."""
    return write_envelope(Envelope("", [to_raw(reply.hidden)]))


@refusing(Code.BAD_REPLY)
def decode_step_reply(body: Buffer, *, like: tuple[int, ...], answer_tokens: int | None = None) -> StepReply:
    """Read an answer whose hidden states must have the shape `like`; raises RemoteError BAD_REPLY."""
    envelope = read_envelope(body)
    if len(envelope.tensors) != 1:
        raise WireError(f"an answer of {len(envelope.tensors)} tensors, expected one")
    return StepReply(float_tensor(envelope.tensors[0], like))


def _step_metadata(request: StepRequest) -> dict[str, object]:
    opening = request.opening
    metadata: dict[str, object] = {}
    if opening:
        metadata["max_length"] = opening.max_length
        metadata["points"] = 0.0
        metadata["active_adapter"] = opening.caller.adapter
        metadata["args_structure"] = THREE_TENSORS
    if request.start_from_position is not None:
        metadata["start_from_position"] = request.start_from_position
    metadata.setdefault("args_structure", THREE_TENSORS)
    if opening and opening.alloc_timeout_s:
        metadata["alloc_timeout"] = float(opening.alloc_timeout_s)
    return metadata


def _read_opening(envelope: Envelope, metadata: Metadata, limits: Limits) -> SessionOpening:
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    if metadata.max_length is None:
        raise WireError("the first message needs max_length")
    if metadata.max_length > limits.max_length:
        raise WireError(f"max_length {metadata.max_length}, at most {limits.max_length} allowed", Code.TOO_LONG)
    return SessionOpening(
        prefix=prefix,
        span=span,
        max_length=metadata.max_length,
        alloc_timeout_s=metadata.alloc_timeout or 0.0,
        caller=metadata.caller,
    )
