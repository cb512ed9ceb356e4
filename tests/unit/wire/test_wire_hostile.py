"""What a peer may try: every bad message ends in a RemoteError with the right code, before memory is spent on it."""

import math
import random
from typing import Any

import pytest
import torch
from samples import HIDDEN, LIMITS, OPENING, SAMPLES

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, StepReply, StepRequest
from potluck.wire.fields import Field
from potluck.wire.message import Role, WireTensor, read_message, write_message
from potluck.wire.sessions import decode_step, decode_step_reply, encode_step, encode_step_reply
from potluck.wire.tensors import to_wire

GOOD = to_wire(Role.HIDDEN, HIDDEN)
OPENING_FIELDS = dict(read_message(b"".join(encode_step(StepRequest(HIDDEN, OPENING)))).fields)


def raw(*shape: int, dtype: int = 0, codec: int = 0, num_bytes: int | None = None, role: int = 1) -> WireTensor:
    return WireTensor(role, dtype, shape, bytes(4 * math.prod(shape) if num_bytes is None else num_bytes), codec)


def refused(*tensors: WireTensor, number: int = -1, first: bool = True, **changed: Any) -> Code:
    """`changed`: fields by their names."""
    fields = OPENING_FIELDS | {Field[name]: value for name, value in changed.items()}
    with pytest.raises(RemoteError) as refusal:
        decode_step(b"".join(write_message(tensors, fields, number=number)), limits=LIMITS, first=first)
    return refusal.value.code


@pytest.mark.parametrize(
    ("hidden", "code"),
    [
        (raw(2, 3, 5), Code.BAD_REQUEST),
        (raw(2, 3), Code.BAD_REQUEST),
        (raw(0, 3, 4), Code.BAD_REQUEST),
        (raw(2, 3, 4, num_bytes=95), Code.BAD_REQUEST),
        (raw(2, 3, 4, num_bytes=97), Code.BAD_REQUEST),
        (raw(2, 3, 4, dtype=3), Code.BAD_REQUEST),
        (raw(2, 3, 4, codec=1), Code.BAD_REQUEST),
        (raw(2, 3, 4, role=9), Code.BAD_REQUEST),
        (raw(17, 1, 4), Code.TOO_LONG),
        (raw(17, 0, 4), Code.TOO_LONG),
        (raw(1, 1 << 30, 4, num_bytes=4), Code.TOO_LONG),
    ],
    ids=lambda value: str(value)[:60],
)
def test_hidden_states_of_a_wrong_kind_are_refused(hidden: WireTensor, code: Code) -> None:
    assert refused(hidden) is code


@pytest.mark.parametrize(
    ("value", "dtype"), [(math.nan, torch.float32), (math.inf, torch.float16), (-math.inf, torch.bfloat16)], ids=str
)
def test_a_value_that_is_not_finite_is_refused_in_requests_and_replies(value: float, dtype: torch.dtype) -> None:
    hidden = HIDDEN.clone().to(dtype)
    hidden[1, 2, 3] = value
    assert refused(to_wire(Role.HIDDEN, hidden)) is Code.BAD_REQUEST
    with pytest.raises(RemoteError) as refusal:
        decode_step_reply(b"".join(encode_step_reply(StepReply(hidden))), like=(2, 3, 4))
    assert refusal.value.code is Code.BAD_REPLY


def test_finite_values_whose_sum_overflows_and_positions_at_the_limit_are_taken() -> None:
    body = b"".join(encode_step(StepRequest(torch.full((4, 4, 4), 3e38), start_from_position=32)))
    assert decode_step(body, limits=LIMITS, first=False).start_from_position == 32
    assert refused(GOOD, number=33) is Code.BAD_REQUEST


@pytest.mark.parametrize(
    "extra",
    [
        raw(3, 1, 2, 4, role=2),
        raw(2, 3, 2, 4, role=2),
        raw(2, 1, 4, 4, role=2),
        raw(2, 1, 2, role=2),
        to_wire(Role.ORDER, torch.tensor([0, 2])),
        to_wire(Role.ORDER, torch.tensor([-1, 0])),
        to_wire(Role.ORDER, torch.tensor([0])),
        raw(2, role=3),
    ],
    ids=lambda tensor: f"{tensor.role}-{tensor.shape}-{bytes(tensor.values[:9]).hex()}",
)
def test_prompts_and_orders_that_do_not_fit_are_refused(extra: WireTensor) -> None:
    assert refused(GOOD, extra) is Code.BAD_REQUEST


BAD_OPENING: dict[str, list[object]] = {
    "PREFIX": [""],
    "START": [4, True],
    "END": [9],
    "ADAPTER": [["a"]],
    "RECEIPT": ["text"],
    "MAX_LENGTH": [1.5],
    "SESSION_ID": ["x" * 129],
    "ALLOC_TIMEOUT_S": [math.nan],
    "EXACT": [1],
    "CODEC": ["1"],
}
BAD_PUSHES: dict[str, list[object]] = {
    "PUSH_TO": ["peer", ["peer"], ["", bytes(16)], ["p" * 129, bytes(16)]],
    "PUSHED_BY": [["peer", bytes(15)], ["peer", "s" * 16]],
    "PUSH_NUMBER": [-1, True],
    "AWAITED": [3, [1, 2], [1, 2, -1], [1, 1, True], [1, 0, 4], [1, 17, 1], [1 << 62, 1, 1]],
}


@pytest.mark.parametrize(
    ("field", "value", "first"),
    [
        *((field, value, True) for field, values in (BAD_OPENING | BAD_PUSHES).items() for value in values),
        *((field, value, False) for field, values in BAD_PUSHES.items() for value in values),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_field_of_a_wrong_type_or_range_is_refused(field: str, value: object, first: bool) -> None:
    assert refused(GOOD, first=first, **{field: value}) is Code.BAD_REQUEST


def test_a_session_longer_than_allowed_is_refused_as_too_long() -> None:
    assert refused(GOOD, MAX_LENGTH=33) is Code.TOO_LONG


def test_damaged_messages_raise_nothing_but_remote_errors() -> None:
    rng, samples, num_refused = random.Random(20240825), list(SAMPLES.values()), 0
    for _ in range(4000):
        sample = rng.choice(samples)
        data = bytearray(sample.body)
        for _ in range(rng.randint(1, 4)):
            at = rng.randint(0, min(len(data), rng.choice((60, 10_000))))
            data[at : at + rng.randint(0, 8)] = rng.randbytes(rng.randint(0, 8))
        try:
            sample.read(bytes(data))
        except RemoteError:
            num_refused += 1
    assert 1200 < num_refused < 4000


def test_an_announcement_cannot_open_a_session() -> None:
    body = b"".join(encode_step(StepRequest(None, awaited=Awaited(1, 2, 3))))
    with pytest.raises(RemoteError, match="missing"):
        decode_step(body, limits=LIMITS, first=True)
