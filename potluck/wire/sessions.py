"""Messages of an inference session: an opening, steps, their answers, and outputs that its servers push on.

A stream of pushes begins with `PushOpening`, which is accepted, and goes on with `Pushed`, which nobody answers.
"""

from __future__ import annotations

import hashlib
import math
from typing import Protocol

from torch import Tensor

from potluck.protocol.codes import Code
from potluck.protocol.messages import DIGEST_BYTES, Pushed, StepReply, StepRequest
from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError, refusing
from potluck.wire.message import Limits
from potluck.wire.tensors import check_floats, check_inputs, check_order, decode_tensors, encode_tensors, values_of

encode_step = encode_step_reply = encode_tensors


class SessionCoding(Protocol):
    """A writer and reader of the messages of a session; this module is that of Potluck."""

    def encode_step(self, request: StepRequest, /) -> tuple[Buffer, ...]: ...

    def decode_step(self, body: Buffer, *, limits: Limits, first: bool) -> StepRequest: ...

    def encode_step_reply(self, reply: StepReply, /) -> tuple[Buffer, ...]: ...

    def decode_step_reply(
        self, body: Buffer, *, like: tuple[int, ...], answer_tokens: int | None = None
    ) -> StepReply: ...


@refusing(Code.BAD_REQUEST)
def decode_step(body: Buffer, *, limits: Limits, first: bool) -> StepRequest:
    """Read a message of a session's stream.

    A later message does not know its session's span, so the session checks whether prompts and batch fit.

    Args:
        first: whether this is the stream's first message, which must open the session.

    Raises:
        RemoteError: BAD_REQUEST, TOO_LONG or WRONG_VERSION.
    """
    step = decode_tensors(body, StepRequest, most_packed=limits.max_values)
    hidden, opening, awaited = step.hidden, step.opening, step.awaited
    if first != (opening is not None) or (first and hidden is None):
        raise WireError("the first message of a session, and no other, opens it with hidden states")
    if (step.start_from_position or 0) > limits.max_length:
        text = f"a step cannot start at token {step.start_from_position}, at most {limits.max_length} are allowed"
        raise WireError(text)
    if awaited is not None and awaited.rows * awaited.tokens > limits.max_batch_tokens:
        text = f"{awaited.rows} x {awaited.tokens} awaited tokens, at most {limits.max_batch_tokens} allowed"
        raise WireError(text)
    if opening is not None:
        limits.check_span(opening.span)
        if opening.max_length > limits.max_length:
            text = f"a session of {opening.max_length} tokens, at most {limits.max_length} allowed"
            raise WireError(text, Code.TOO_LONG)
    if hidden is not None:
        check_inputs(hidden, step.prompts, None if opening is None else len(opening.span), limits)
        if step.hypo_ids is not None:
            check_order(step.hypo_ids, hidden.shape[0])
    elif step.prompts is not None or step.hypo_ids is not None:
        raise WireError("prompts or an order of rows without hidden states")
    return step


@refusing(Code.BAD_REPLY)
def decode_step_reply(body: Buffer, *, like: tuple[int, ...], answer_tokens: int | None = None) -> StepReply:
    """Read an answer whose hidden states must have the shape `like`, of which only the last `answer_tokens` are sent.

    That of a dropped step has none. Raises RemoteError BAD_REPLY.
    """
    reply = decode_tensors(body, StepReply, most_packed=math.prod(like))
    tokens = 0 if reply.is_dropped else like[1] if answer_tokens is None else answer_tokens
    check_floats(reply.hidden, (like[0], tokens, *like[2:]))
    return reply


def digest_of(hidden: Tensor) -> bytes:
    """Return a digest of the values, decoded if they travel packed."""
    return hashlib.blake2b(values_of(hidden), digest_size=DIGEST_BYTES).digest()


@refusing(Code.BAD_REQUEST)
def decode_push(body: Buffer, *, limits: Limits) -> Pushed:
    """Read an output. Raises RemoteError."""
    pushed = decode_tensors(body, Pushed, most_packed=limits.max_values)
    check_inputs(pushed.hidden, None, None, limits)
    return pushed
