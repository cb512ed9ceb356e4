"""The brief form of steps and answers: the same messages come back, what does not fit goes in the stock form."""

from __future__ import annotations

import contextlib
import random
import struct
from dataclasses import replace

import pytest
import torch

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import NextServer, SessionOpening, StepReply, StepRequest, Timing
from potluck.protocol.receipts import RECEIPT_BYTES
from potluck.wire import Limits, decode_step, decode_step_reply, encode_step, encode_step_reply

LIMITS = Limits(hidden_size=4, num_blocks=4, max_batch_tokens=16, max_length=32, max_frame_bytes=1 << 16)
HIDDEN = torch.arange(24.0).view(2, 3, 4)
STEP = StepRequest(HIDDEN, start_from_position=7)
ANSWER = StepReply(HIDDEN, Timing(0.25, 1.5, 400, is_leaving=True))


def sent(request: StepRequest) -> bytes:
    return b"".join(encode_step(request, brief=True))


def answered(reply: StepReply) -> bytes:
    return b"".join(encode_step_reply(reply, brief=True))


def step_bytes(*, dtype: int = 0, batch: int = 2, tokens: int = 3, start: int = 7, values: bytes = bytes(96)) -> bytes:
    return struct.pack("<BBHIII", 0, dtype, 0, batch, tokens, start) + values


def answer_bytes(queue_ms: float = 0.0, *, dtype: int = 0, tokens: int = 3, values: bytes = bytes(96)) -> bytes:
    return struct.pack("<BBBBIIff4xq", 0, dtype, 0, 0, 2, tokens, queue_ms, 0.0, -1) + values


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_step_and_its_answer_come_back_as_they_were(dtype: torch.dtype) -> None:
    request = replace(STEP, hidden=HIDDEN.to(dtype))
    read = decode_step(sent(request), limits=LIMITS, first=False)
    assert replace(read, hidden=None) == StepRequest(None, start_from_position=7, is_brief=True)
    assert read.hidden is not None
    assert read.hidden.dtype == dtype
    assert torch.equal(read.hidden, request.hidden)
    for timing in (ANSWER.timing, Timing()):
        answer = decode_step_reply(answered(StepReply(HIDDEN.to(dtype), timing)), like=(2, 3, 4))
        assert answer.timing == timing
        assert torch.equal(answer.hidden, HIDDEN.to(dtype))


def test_a_brief_message_is_its_values_and_a_few_bytes() -> None:
    assert len(sent(STEP)) == HIDDEN.nbytes + 16
    assert len(answered(ANSWER)) == HIDDEN.nbytes + 32
    assert len(encode_step(STEP)[0]) > HIDDEN.nbytes + 32


@pytest.mark.parametrize(
    "more",
    [
        {"opening": SessionOpening("m", Span(0, 2), max_length=8)},
        {"prompts": torch.zeros(2, 1, 1, 4)},
        {"hypo_ids": torch.tensor([1, 0])},
        {"step_id": "a"},
        {"start_from_position": None},
        {"next_servers": (NextServer(PeerId("1" * 20), "s", Span(0, 1)),)},
        {"receipt": bytes(RECEIPT_BYTES)},
    ],
)
def test_a_step_with_more_to_say_goes_in_the_stock_form(more: dict[str, object]) -> None:
    request = replace(STEP, **more)  # type: ignore[arg-type]
    assert sent(request) == b"".join(encode_step(request))


@pytest.mark.parametrize("more", [{"tab": bytes(16)}, {"countersigned": bytes(8)}])
def test_an_answer_with_more_to_say_goes_in_the_stock_form(more: dict[str, bytes]) -> None:
    reply = StepReply(HIDDEN, replace(ANSWER.timing, **more))  # type: ignore[arg-type]
    assert answered(reply) == b"".join(encode_step_reply(reply))


def test_a_server_tells_in_the_stock_form_that_it_reads_the_brief_one() -> None:
    body = b"".join(encode_step_reply(StepReply(HIDDEN, Timing(takes_brief=True))))
    assert decode_step_reply(body, like=(2, 3, 4)).timing.takes_brief


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (step_bytes(dtype=3), Code.BAD_REQUEST),
        (step_bytes(batch=0), Code.BAD_REQUEST),
        (step_bytes(tokens=2), Code.BAD_REQUEST),
        (step_bytes(start=33), Code.BAD_REQUEST),
        (step_bytes(values=bytes(95)), Code.BAD_REQUEST),
        (step_bytes(values=b"\xff" * 96), Code.BAD_REQUEST),  # NaN
        (step_bytes(batch=2**32 - 1, tokens=2**32 - 1), Code.TOO_LONG),
        (step_bytes()[:15], Code.BAD_REQUEST),
        (b"\0", Code.BAD_REQUEST),
    ],
)
def test_a_bad_brief_step_is_refused(body: bytes, code: Code) -> None:
    with pytest.raises(RemoteError) as refusal:
        decode_step(body, limits=LIMITS, first=False)
    assert refusal.value.code is code


def test_a_session_cannot_be_opened_briefly() -> None:
    with pytest.raises(RemoteError) as refusal:
        decode_step(sent(STEP), limits=LIMITS, first=True)
    assert refusal.value.code is Code.BAD_REQUEST


@pytest.mark.parametrize(
    "body",
    [
        answer_bytes(float("nan")),
        answer_bytes(float("inf")),
        answer_bytes(-1.0),
        answer_bytes(dtype=9),
        answer_bytes(tokens=2),
        answer_bytes(values=bytes(92)),
        answer_bytes(values=b"\xff" * 96),
        answer_bytes()[:31],
    ],
)
def test_a_bad_brief_answer_is_a_bad_reply(body: bytes) -> None:
    assert decode_step_reply(answer_bytes(), like=(2, 3, 4)).timing == Timing()
    with pytest.raises(RemoteError) as refusal:
        decode_step_reply(body, like=(2, 3, 4))
    assert refusal.value.code is Code.BAD_REPLY


def test_damaged_brief_messages_raise_nothing_but_remote_errors() -> None:
    rng = random.Random(30)
    num_refused = 0
    for _ in range(2000):
        step, answer = bytearray(sent(STEP)), bytearray(answered(ANSWER))
        for body in (step, answer):
            for _ in range(rng.randint(1, 4)):
                body[rng.randrange(1, 40)] = rng.randrange(256)
            del body[rng.choice((len(body), rng.randrange(len(body)))) :]
        for read in (
            lambda body=step: decode_step(bytes(body), limits=LIMITS, first=False),
            lambda body=answer: decode_step_reply(bytes(body), like=(2, 3, 4)),
        ):
            with contextlib.suppress(RemoteError):
                read()
                num_refused -= 1
            num_refused += 1
    assert 1000 < num_refused < 4000
