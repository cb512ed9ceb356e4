"""The brief form of a step and of its answer: a fixed header and the values, nothing to parse.

Between our own peers only, for what nearly all steps are: more tokens of a session that is open. A server says with
its answer to the opening that it reads the form; whatever does not fit it goes in the stock form on the same stream.
The two cannot be confused, as no message of protobuf begins with a zero.

    step:   0, dtype, 2 bytes of zeros, batch, tokens, start (4 bytes each); values
    answer: 0, dtype, is leaving, zero, batch, tokens, queue_ms, compute_ms (float32), 4 zeros, cache_tokens_left (8
            bytes, -1: unknown); values

All little-endian, headers padded to 8 bytes, values contiguous.
"""

from __future__ import annotations

import math
from struct import Struct
from typing import Final

from potluck.protocol.buffers import Buffer
from potluck.protocol.messages import StepReply, StepRequest, Timing
from potluck.wire.envelopes import RawTensor
from potluck.wire.errors import WireError
from potluck.wire.hidden import read_hidden
from potluck.wire.limits import Limits
from potluck.wire.tensors import float_tensor, to_raw

_DTYPES: Final = ("float32", "bfloat16", "float16")  # by their numbers on the wire
_NUMBERS: Final = {name: number for number, name in enumerate(_DTYPES)}
_STEP: Final = Struct("<BBHIII")
_ANSWER: Final = Struct("<BBBBIIff4xq")


def is_brief(body: Buffer) -> bool:
    return len(body) > 0 and body[0] == 0


def write_brief_step(request: StepRequest) -> tuple[Buffer, ...] | None:
    """Pieces of a step; None if it has more to say than the form can."""
    start, hidden = request.start_from_position, request.hidden
    if start is None or hidden is None or request.opening is not None or request.receipt is not None:
        return None
    if request.prompts is not None or request.hypo_ids is not None or request.step_id or request.next_servers:
        return None
    raw = to_raw(hidden)
    if raw.dtype not in _NUMBERS:
        return None
    batch, tokens, _ = raw.size
    return _STEP.pack(0, _NUMBERS[raw.dtype], 0, batch, tokens, start), raw.buffer


def read_brief_step(body: Buffer, limits: Limits) -> StepRequest:
    """Raises WireError."""
    if len(body) < _STEP.size:
        raise WireError(f"a brief step of {len(body)} bytes")
    _, dtype, _, batch, tokens, start = _STEP.unpack_from(body)
    if start > limits.max_length:
        raise WireError(f"start_from_position must be a whole number from 0 to {limits.max_length}")
    raw = RawTensor((batch, tokens, limits.hidden_size), _dtype(dtype), buffer=memoryview(body)[_STEP.size :])
    return StepRequest(read_hidden(raw, limits), start_from_position=start, is_brief=True)


def write_brief_answer(reply: StepReply) -> tuple[Buffer, ...] | None:
    """Pieces of an answer; None if it has more to say than the form can."""
    timing, raw = reply.timing, to_raw(reply.hidden)
    if timing.tab is not None or timing.countersigned is not None or raw.dtype not in _NUMBERS:
        return None
    batch, tokens, _ = raw.size
    left = -1 if timing.cache_tokens_left is None else timing.cache_tokens_left
    numbers = _NUMBERS[raw.dtype], timing.is_leaving, 0, batch, tokens, timing.queue_ms, timing.compute_ms, left
    return _ANSWER.pack(0, *numbers), raw.buffer


def read_brief_answer(body: Buffer, like: tuple[int, ...]) -> StepReply:
    """Hidden states must have the shape `like`. Raises WireError."""
    if len(body) < _ANSWER.size:
        raise WireError(f"a brief answer of {len(body)} bytes")
    _, dtype, is_leaving, _, batch, tokens, queue_ms, compute_ms, left = _ANSWER.unpack_from(body)
    if not (0 <= queue_ms < math.inf and 0 <= compute_ms < math.inf):
        raise WireError("times must be finite and not negative")
    raw = RawTensor((batch, tokens, like[-1]), _dtype(dtype), buffer=memoryview(body)[_ANSWER.size :])
    timing = Timing(queue_ms, compute_ms, None if left < 0 else left, bool(is_leaving))
    return StepReply(float_tensor(raw, like), timing)


def _dtype(number: int) -> str:
    if number >= len(_DTYPES):
        raise WireError(f"an unknown dtype {number}")
    return _DTYPES[number]
