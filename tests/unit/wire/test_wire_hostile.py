"""What a peer may try: every bad message ends in a RemoteError with the right code, before memory is spent on it."""

import math
import random
from typing import Any

import msgspec
import pytest
import torch
from samples import HIDDEN, LIMITS, OPENING, SAMPLES, body_of, raw

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, StepReply, StepRequest
from potluck.wire.message import read_message
from potluck.wire.sessions import decode_step, decode_step_reply
from potluck.wire.tensors import WireTensor

FIRST: dict[str, Any] = msgspec.msgpack.decode(read_message(body_of(StepRequest(HIDDEN, OPENING))).fields)
VALUES = bytes(read_message(body_of(StepRequest(HIDDEN))).values)


def placed(*shape: int, dtype: int = 0, codec: int = 0, start: int = 0, num_bytes: int | None = None) -> WireTensor:
    return WireTensor(dtype, codec, shape, start, 4 * math.prod(shape) if num_bytes is None else num_bytes)


def refused(body: bytes, *, first: bool = True) -> Code:
    with pytest.raises(RemoteError) as refusal:
        decode_step(body, limits=LIMITS, first=first)
    return refusal.value.code


@pytest.mark.parametrize(
    ("hidden", "code"),
    [
        (placed(2, 3, 5), Code.BAD_REQUEST),
        (placed(2, 3), Code.BAD_REQUEST),
        (placed(), Code.BAD_REQUEST),
        (placed(0, 3, 4), Code.BAD_REQUEST),
        (placed(2, 3, 4, num_bytes=95), Code.BAD_REQUEST),
        (placed(2, 3, 4, num_bytes=97), Code.BAD_REQUEST),
        (placed(2, 3, 4, start=9), Code.BAD_REQUEST),
        (placed(2, 3, 4, dtype=3), Code.BAD_REQUEST),
        (placed(1, 3, 4, dtype=16, num_bytes=96), Code.BAD_REQUEST),
        (placed(2, 3, 4, codec=1), Code.BAD_REQUEST),
        (placed(codec=1), Code.BAD_REQUEST),
        (placed(2, 3, 4, codec=2), Code.BAD_REQUEST),
        (placed(1 << 31, 1 << 31, 1 << 31, 0), Code.BAD_REQUEST),
        (placed(1, 1, 1, 1, 1), Code.BAD_REQUEST),
        (placed(17, 1, 1), Code.TOO_LONG),
        (placed(17, 0, 4), Code.TOO_LONG),
        (placed(1, 1 << 30, 64, codec=1, num_bytes=4), Code.TOO_LONG),
        ([0, 0, [2, 3, 4], 0], Code.BAD_REQUEST),
        ("text", Code.BAD_REQUEST),
    ],
    ids=str,
)
def test_hidden_states_of_a_wrong_kind_are_refused(hidden: object, code: Code) -> None:
    assert refused(raw(FIRST | {"hidden": hidden}, VALUES + bytes(8))) is code


@pytest.mark.parametrize(
    ("value", "dtype"), [(math.nan, torch.float32), (math.inf, torch.float16), (-math.inf, torch.bfloat16)], ids=str
)
def test_a_value_that_is_not_finite_is_refused_in_requests_and_replies(value: float, dtype: torch.dtype) -> None:
    hidden = HIDDEN.clone().to(dtype)
    hidden[1, 2, 3] = value
    assert refused(body_of(StepRequest(hidden, OPENING))) is Code.BAD_REQUEST
    with pytest.raises(RemoteError) as refusal:
        decode_step_reply(body_of(StepReply(hidden)), like=(2, 3, 4))
    assert refusal.value.code is Code.BAD_REPLY


def test_an_answer_is_short_if_and_only_if_the_step_was_dropped() -> None:
    for reply in (StepReply(HIDDEN, is_dropped=True), StepReply(HIDDEN[:, :0])):
        with pytest.raises(RemoteError) as refusal:
            decode_step_reply(body_of(reply), like=(2, 3, 4))
        assert refusal.value.code is Code.BAD_REPLY


def test_finite_values_whose_sum_overflows_and_positions_at_the_limit_are_taken() -> None:
    body = body_of(StepRequest(torch.full((4, 4, 4), 3e38), start_from_position=32))
    assert decode_step(body, limits=LIMITS, first=False).start_from_position == 32
    assert refused(body_of(StepRequest(HIDDEN, start_from_position=33)), first=False) is Code.BAD_REQUEST


@pytest.mark.parametrize(
    "extra",
    [
        {"prompts": torch.zeros(3, 1, 2, 4)},
        {"prompts": torch.zeros(2, 3, 2, 4)},
        {"prompts": torch.zeros(2, 1, 4, 4)},
        {"prompts": torch.zeros(2, 1, 2)},
        {"hypo_ids": torch.tensor([0, 2])},
        {"hypo_ids": torch.tensor([-1, 0])},
        {"hypo_ids": torch.tensor([0])},
        {"hypo_ids": torch.zeros(2)},
    ],
    ids=str,
)
def test_prompts_and_orders_that_do_not_fit_are_refused(extra: dict[str, torch.Tensor]) -> None:
    assert refused(body_of(StepRequest(HIDDEN, OPENING, **extra))) is Code.BAD_REQUEST
    assert refused(body_of(StepRequest(None, awaited=Awaited(1, 2, 3), **extra)), first=False) is Code.BAD_REQUEST


def test_two_tensors_cannot_have_the_same_values() -> None:
    """Else a small message takes much memory."""
    fields = {"hidden": placed(2, 3, 4), "prompts": placed(2, 1, 2, 4)}
    assert refused(raw(FIRST | fields, VALUES)) is Code.BAD_REQUEST


BAD_OPENING: dict[str, list[object]] = {
    "prefix": ["", "two words", "x" * 257, "\x1b[2J", None],
    "span": [
        [4, 4],
        {"start": 4, "end": 4},
        {"start": True, "end": 4},
        {"start": -1, "end": 4},
        {"start": 2, "end": 9},
    ],
    "caller": [[], {"adapter": ["a"]}, {"adapter": "\u202ea"}, {"receipt": "text"}, {"private": {"digest": bytes(32)}}],
    "max_length": [1.5, None],
    "session_id": ["x" * 257],
    "alloc_timeout_s": [math.nan, math.inf, -1.0],
    "exact": [1],
    "packs": ["1"],
}
BAD_STEPS: dict[str, list[object]] = {
    "push_to": ["peer", {"peer": "p"}, {"peer": "", "secret": bytes(16)}, {"peer": "p" * 257, "secret": bytes(16)}],
    "pushed_by": [{"peer": "p", "secret": bytes(15)}, {"peer": "p", "secret": "s" * 16}],
    "push_number": [-1, True],
    "awaited": [3, *({"number": a, "rows": b, "tokens": c} for a, b, c in ((1, 2, -1), (1, 0, 4), (1, 17, 1)))],
    "answer_tokens": [1 << 51],
    "newer": [msgspec.Raw(b"\x91" * 5000 + b"\xc0")],  # lists in lists
    "packed": [[None], [placed(2, 3, 4)]],
}


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in BAD_OPENING.items() for value in values],
    ids=lambda value: ascii(value)[:30],
)
def test_an_opening_of_a_wrong_type_or_range_is_refused(field: str, value: object) -> None:
    opening = FIRST["opening"] | {field: value}
    assert refused(raw(FIRST | {"opening": opening}, VALUES)) is Code.BAD_REQUEST


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in BAD_STEPS.items() for value in values],
    ids=lambda value: type(value).__name__ if isinstance(value, msgspec.Raw) else str(value)[:30],
)
def test_a_field_of_a_step_of_a_wrong_type_or_range_is_refused(field: str, value: object) -> None:
    assert refused(raw(FIRST | {field: value}, VALUES)) is Code.BAD_REQUEST
    assert refused(raw({"hidden": FIRST["hidden"], field: value}, VALUES), first=False) is Code.BAD_REQUEST


def test_a_session_longer_than_allowed_is_refused_as_too_long() -> None:
    opening = msgspec.structs.replace(OPENING, max_length=33)
    assert refused(body_of(StepRequest(HIDDEN, opening))) is Code.TOO_LONG


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


def test_a_session_is_opened_once_and_with_hidden_states() -> None:
    for opening in (None, OPENING):
        assert refused(body_of(StepRequest(None, opening, awaited=Awaited(1, 2, 3)))) is Code.BAD_REQUEST
    assert refused(body_of(StepRequest(HIDDEN, OPENING)), first=False) is Code.BAD_REQUEST
