"""Messages of an inference session: an opening, steps, and their answers."""

from __future__ import annotations

from typing import Final

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import SessionOpening, StepReply, StepRequest
from potluck.protocol.receipts import RECEIPT_BYTES
from potluck.wire import fields as read
from potluck.wire.errors import WireError
from potluck.wire.fields import MAX_ID_CHARS, Field, Fields, target_fields
from potluck.wire.limits import Limits
from potluck.wire.message import CAN_PUSH, WAS_PUSHED, Message, Role, read_message, write_answer, write_message
from potluck.wire.packing import CODEC
from potluck.wire.pushes import DIGEST_BYTES, read_push_fields, write_push_fields
from potluck.wire.tensors import read_floats, read_hidden, read_order, read_prompts, to_wire

CLOSING: Final = StepRequest(hidden=None)
_CLOSING_MESSAGE: Final = write_message()


def encode_step(request: StepRequest) -> tuple[Buffer, ...]:
    """Return one step in pieces."""
    if request.hidden is not None:
        tensors = [to_wire(Role.HIDDEN, request.hidden, request.packed)]
    elif request.awaited is None:
        return _CLOSING_MESSAGE
    else:
        tensors = []
    if request.prompts is not None:
        tensors.append(to_wire(Role.PROMPTS, request.prompts))
    if request.hypo_ids is not None:
        tensors.append(to_wire(Role.ORDER, request.hypo_ids))
    fields = None
    if request.opening is not None:
        fields = _opening_fields(request.opening)
    elif request.receipt is not None:
        fields = {int(Field.RECEIPT): request.receipt}
    if request.awaited or request.push_to or request.pushed_by or request.push_number is not None:
        fields = {**(fields or {}), **write_push_fields(request)}
    if request.answer_tokens is not None:
        fields = {**(fields or {}), int(Field.ANSWER_TOKENS): request.answer_tokens}
    if request.is_spare:
        fields = {**(fields or {}), int(Field.SPARE): True}
    start = request.start_from_position
    return write_message(tensors, fields, number=-1 if start is None else start)


def decode_step(body: Buffer, *, limits: Limits, first: bool) -> StepRequest:
    """Read a message of a session's stream.

    A later message does not know its session's span, so the session checks whether prompts and batch fit.

    Args:
        first: whether this is the stream's first message, which must open the session.

    Raises:
        RemoteError: BAD_REQUEST, TOO_LONG or WRONG_VERSION.
    """
    try:
        return _read_step(read_message(body), limits, first)
    except WireError as error:
        raise error.refusal(Code.BAD_REQUEST) from None


def _read_step(message: Message, limits: Limits, first: bool) -> StepRequest:
    if not message.tensors and not first and Field.AWAITED not in message.fields:
        return CLOSING
    if message.number > limits.max_length:
        raise WireError(f"a step cannot start at token {message.number}, at most {limits.max_length} are allowed")
    opening = _read_opening(message.fields, limits) if first else None
    if not message.tensors and not first:
        return _read_announcement(message, limits)
    hidden = read_hidden(message.tensor(Role.HIDDEN), limits)
    request = StepRequest(hidden, opening, start_from_position=None if message.number < 0 else message.number)
    if len(message.tensors) == 1 and not message.fields:
        return request
    num_blocks = len(opening.span) if opening else None
    return StepRequest(
        hidden,
        opening,
        prompts=read_prompts(message.tensor(Role.PROMPTS), hidden, num_blocks=num_blocks, limits=limits),
        hypo_ids=read_order(message.tensor(Role.ORDER), hidden.shape[0]),
        start_from_position=request.start_from_position,
        receipt=None if opening else read.blob(message.fields, Field.RECEIPT, RECEIPT_BYTES),
        answer_tokens=read.integer(message.fields, Field.ANSWER_TOKENS),
        is_spare=read.flag(message.fields, Field.SPARE),
        **read_push_fields(message.fields, limits),
    )


def _read_announcement(message: Message, limits: Limits) -> StepRequest:
    return StepRequest(
        None,
        start_from_position=None if message.number < 0 else message.number,
        receipt=read.blob(message.fields, Field.RECEIPT, RECEIPT_BYTES),
        answer_tokens=read.integer(message.fields, Field.ANSWER_TOKENS),
        **read_push_fields(message.fields, limits),
    )


def encode_step_reply(reply: StepReply) -> tuple[Buffer, ...]:
    """Return the answer to one step in pieces."""
    flags = (CAN_PUSH if reply.can_push else 0) | (WAS_PUSHED if reply.was_pushed else 0)
    extra: dict[int, object] = {}
    if reply.input_digest is not None:
        extra[Field.INPUT_DIGEST] = reply.input_digest
    return write_answer((to_wire(Role.HIDDEN, reply.hidden, reply.packed),), reply.timing, flags=flags, extra=extra)


def decode_step_reply(body: Buffer, *, like: tuple[int, ...], answer_tokens: int | None = None) -> StepReply:
    """Read an answer whose hidden states must have the shape `like`, of which only the last `answer_tokens` are sent.

    Raises RemoteError BAD_REPLY.
    """
    try:
        return _read_reply(read_message(body), like, answer_tokens)
    except WireError as error:
        raise error.refusal(Code.BAD_REPLY) from None


def _read_reply(message: Message, like: tuple[int, ...], answer_tokens: int | None) -> StepReply:
    hidden = message.tensor(Role.HIDDEN)
    if hidden is None:
        raise WireError("an answer without hidden states")
    return StepReply(
        read_floats(hidden, like if answer_tokens is None else (like[0], answer_tokens, *like[2:])),
        message.timing(),
        can_push=message.flags & CAN_PUSH != 0,
        was_pushed=message.flags & WAS_PUSHED != 0,
        input_digest=read.blob(message.fields, Field.INPUT_DIGEST, DIGEST_BYTES) if message.fields else None,
    )


def _opening_fields(opening: SessionOpening) -> dict[int, object]:
    fields = target_fields(opening.prefix, opening.span, opening.caller)
    fields[Field.MAX_LENGTH] = opening.max_length
    optional = {
        Field.SESSION_ID: opening.session_id,
        Field.ALLOC_TIMEOUT_S: float(opening.alloc_timeout_s),
        Field.EXACT: opening.exact,
        Field.CODEC: CODEC if opening.packs else None,
        Field.SHARING: opening.sharing,
    }
    return fields | {key: value for key, value in optional.items() if value}


def _read_opening(fields: Fields, limits: Limits) -> SessionOpening:
    prefix, span, caller = read.read_target(fields, num_blocks=limits.num_blocks)
    max_length = read.required(fields, Field.MAX_LENGTH)
    if max_length > limits.max_length:
        raise WireError(f"MAX_LENGTH {max_length}, at most {limits.max_length} allowed", Code.TOO_LONG)
    return SessionOpening(
        prefix=prefix,
        span=span,
        max_length=max_length,
        session_id=read.text(fields, Field.SESSION_ID, MAX_ID_CHARS),
        alloc_timeout_s=read.number(fields, Field.ALLOC_TIMEOUT_S) or 0.0,
        exact=read.flag(fields, Field.EXACT),
        packs=read.integer(fields, Field.CODEC) == CODEC,
        sharing=read.text(fields, Field.SHARING, MAX_ID_CHARS),
        caller=caller,
    )
