"""Messages of an inference session: steps, their answers, and pushes from server to server.

The order of keys is that of stock clients, so that recorded messages can be compared byte by byte.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from torch import Tensor

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import Caller, NextServer, SessionOpening, StepReply, StepRequest
from potluck.protocol.receipts import RECEIPT_BYTES
from potluck.wire.brief import is_brief, read_brief_answer, read_brief_step, write_brief_answer, write_brief_step
from potluck.wire.envelopes import Envelope, RawTensor, read_envelope, write_envelope
from potluck.wire.errors import WireError, refusing
from potluck.wire.hidden import read_hidden, read_prompts, read_request
from potluck.wire.limits import Limits
from potluck.wire.metadata import (
    MAX_ID_CHARS,
    OURS,
    THREE_TENSORS,
    Metadata,
    arguments,
    blob,
    caller_fields,
    flag,
    integer,
    number,
    own_map,
    pack_timing,
    read_caller,
    read_metadata,
    read_timing,
    text,
)
from potluck.wire.packing import pack
from potluck.wire.stateless import join_unary
from potluck.wire.tensors import EMPTY_FLOATS, EMPTY_INTS, float_tensor, index_tensor, is_empty, to_raw
from potluck.wire.uids import block_uids, read_uids

MAX_NEXT_SERVERS: Final = 64
EMPTY_REPLY: Final = b""
"""Answer to a push, whatever became of it."""

_NOBODY: Final = Caller()
_PEER_ID: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{8,128}")


def encode_step(request: StepRequest, *, brief: bool = False) -> tuple[Buffer, ...]:
    """Pieces of one step; `hidden` None gives the closing message, which is empty.

    Only the opening message names blocks: servers ignore them afterwards.

    Args:
        brief: use the brief form where that is possible; the server said that it reads it.
    """
    if request.hidden is None:
        return (b"",)
    if brief and (pieces := write_brief_step(request)) is not None:
        return pieces
    opening = request.opening
    uid = block_uids(opening.prefix, opening.span) if opening else ""
    return write_envelope(Envelope(uid, _step_tensors(request), pack(_step_metadata(request))))


def encode_push(request: StepRequest, *, prefix: str, span: Span) -> bytes:
    """A step for the session `request.session_id` of another server, which holds `span`.

    Raises:
        RemoteError: TOO_LONG if it does not fit a unary call; then the client's own copy must do.
    """
    uid = block_uids(prefix, span)
    metadata = _step_metadata(request)
    metadata["pushed"] = True
    if request.pusher and (ours := caller_fields(request.pusher)):
        metadata[OURS] = ours
    return join_unary(write_envelope(Envelope(uid, _step_tensors(request), pack(metadata))))


def encode_step_reply(reply: StepReply, *, brief: bool = False) -> tuple[Buffer, ...]:
    """Pieces of the answer to one step, in the brief form where that is asked for and possible."""
    if brief and (pieces := write_brief_answer(reply)) is not None:
        return pieces
    return write_envelope(Envelope("", [to_raw(reply.hidden)], pack_timing(reply.timing)))


@refusing(Code.BAD_REQUEST)
def decode_step(body: Buffer, *, limits: Limits, first: bool) -> StepRequest:
    """Read a message of a session's stream.

    A later message does not know its session's span: whether prompts and batch fit is then for the session to check.

    Args:
        first: whether this is the stream's first message, which must open the session.

    Raises:
        RemoteError: BAD_REQUEST or TOO_LONG.
    """
    if not first and is_brief(body):
        return read_brief_step(body, limits)
    envelope = read_request(body, limits)
    metadata = read_metadata(envelope)
    if first:
        return _read_step(envelope, metadata, limits, _read_opening(envelope, metadata, limits))
    if not envelope.tensors:
        return StepRequest(hidden=None)
    return _read_step(envelope, metadata, limits, None)


@refusing(Code.BAD_REQUEST)
def decode_push(body: Buffer, *, limits: Limits) -> StepRequest:
    """Read a step that another server sends for our session `session_id`; raises RemoteError as `decode_step`."""
    envelope = read_request(body, limits)
    metadata = read_metadata(envelope)
    request = _read_step(envelope, metadata, limits, None)
    if request.session_id is None:
        raise WireError("a push needs a session_id")
    pusher = read_caller(metadata)
    return request if pusher == _NOBODY else replace(request, pusher=pusher)


@refusing(Code.BAD_REPLY)
def decode_step_reply(body: Buffer, *, like: tuple[int, ...]) -> StepReply:
    """Read an answer whose hidden states must have the shape `like`; raises RemoteError BAD_REPLY."""
    if is_brief(body):
        return read_brief_answer(body, like)
    envelope = read_envelope(body)
    if len(envelope.tensors) != 1:
        raise WireError(f"an answer of {len(envelope.tensors)} tensors, expected one")
    return StepReply(float_tensor(envelope.tensors[0], like), read_timing(envelope))


def _step_tensors(request: StepRequest) -> list[RawTensor]:
    if request.hidden is None:
        raise ValueError("a step needs hidden states")
    return [
        to_raw(request.hidden),
        EMPTY_FLOATS if request.prompts is None else to_raw(request.prompts),
        EMPTY_INTS if request.hypo_ids is None else to_raw(request.hypo_ids),
    ]


def _step_metadata(request: StepRequest) -> dict[str, object]:
    opening = request.opening
    metadata: dict[str, object] = {}
    session_id = opening.session_id if opening else request.session_id
    if session_id is not None:
        metadata["session_id"] = session_id
    if request.step_id is not None:
        metadata["step_id"] = request.step_id
    if opening:
        metadata["max_length"] = opening.max_length
        metadata["points"] = 0.0
        metadata["active_adapter"] = opening.caller.adapter
        metadata["args_structure"] = THREE_TENSORS
    if request.start_from_position is not None:
        metadata["start_from_position"] = request.start_from_position
    if request.next_servers:
        metadata["next_servers"] = [
            (server.peer_id, server.session_id, server.span.start, server.span.end) for server in request.next_servers
        ]
    metadata.setdefault("args_structure", THREE_TENSORS)
    if opening:
        _add_opening_extras(metadata, opening)
    elif request.receipt is not None:
        metadata[OURS] = {"receipt": request.receipt}
    return metadata


def _add_opening_extras(metadata: dict[str, object], opening: SessionOpening) -> None:
    if opening.alloc_timeout_s:
        metadata["alloc_timeout"] = float(opening.alloc_timeout_s)
    ours = caller_fields(opening.caller)
    if opening.exact:
        ours["exact"] = True
    if opening.resume:
        ours["resume"] = True
    if ours:
        metadata[OURS] = ours


def _read_opening(envelope: Envelope, metadata: Metadata, limits: Limits) -> SessionOpening:
    prefix, span = read_uids(envelope.uid, num_blocks=limits.num_blocks)
    max_length = integer(metadata, "max_length")
    if max_length is None:
        raise WireError("the first message needs max_length")
    if max_length > limits.max_length:
        raise WireError(f"max_length {max_length}, at most {limits.max_length} allowed", Code.TOO_LONG)
    return SessionOpening(
        prefix=prefix,
        span=span,
        max_length=max_length,
        session_id=text(metadata, "session_id", MAX_ID_CHARS),
        alloc_timeout_s=number(metadata, "alloc_timeout") or 0.0,
        exact=flag(own_map(metadata), "exact"),
        resume=flag(own_map(metadata), "resume"),
        caller=read_caller(metadata),
    )


def _read_step(envelope: Envelope, metadata: Metadata, limits: Limits, opening: SessionOpening | None) -> StepRequest:
    raw_hidden, raw_prompts, raw_hypo_ids = arguments(envelope, metadata, 3)
    hidden = read_hidden(raw_hidden, limits)
    num_blocks = len(opening.span) if opening else None
    return StepRequest(
        hidden=hidden,
        opening=opening,
        prompts=read_prompts(raw_prompts, hidden, num_blocks=num_blocks, limits=limits),
        hypo_ids=_read_hypo_ids(raw_hypo_ids, hidden),
        step_id=text(metadata, "step_id", MAX_ID_CHARS),
        start_from_position=integer(metadata, "start_from_position", most=limits.max_length),
        next_servers=_read_next_servers(metadata, limits),
        session_id=None if opening else text(metadata, "session_id", MAX_ID_CHARS),
        pushed=flag(metadata, "pushed"),
        receipt=blob(own_map(metadata), "receipt", RECEIPT_BYTES),
    )


def _read_hypo_ids(raw: RawTensor, hidden: Tensor) -> Tensor | None:
    if raw.dtype != "int64":
        raise WireError(f"hypo_ids must be int64, not {raw.dtype!r}")
    batch = hidden.shape[0]
    return None if is_empty(raw) else index_tensor(raw, size=batch, below=batch)


def _read_next_servers(metadata: Metadata, limits: Limits) -> tuple[NextServer, ...]:
    value = metadata.get("next_servers")
    if value is None:
        return ()
    if not isinstance(value, list | tuple) or len(value) > MAX_NEXT_SERVERS:
        raise WireError(f"next_servers must be a list of at most {MAX_NEXT_SERVERS}")
    return tuple(_read_next_server(item, limits) for item in value)


def _read_next_server(value: object, limits: Limits) -> NextServer:
    match value:
        case [str(peer), str(session_id), int(start), int(end)] if (
            _PEER_ID.fullmatch(peer)
            and 0 < len(session_id) <= MAX_ID_CHARS
            and type(start) is type(end) is int
            and 0 <= start < end <= limits.num_blocks
        ):
            return NextServer(PeerId(peer), session_id, Span(start, end))
    raise WireError("an entry of next_servers must be (peer id, session id, start, end)")
