"""Whatever is encoded comes back equal."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    BackwardRequest,
    Caller,
    ForwardRequest,
    NextServer,
    Quote,
    QuoteRequest,
    ServerInfo,
    SessionOpening,
    StepReply,
    StepRequest,
    TensorReply,
    Timing,
)
from potluck.wire import (
    MAX_UNARY_BYTES,
    Compression,
    Limits,
    backward_joiner,
    block_uids,
    decode_backward,
    decode_forward,
    decode_info,
    decode_push,
    decode_quote,
    decode_quote_request,
    decode_step,
    decode_step_reply,
    decode_tensor_reply,
    encode_backward,
    encode_forward,
    encode_info,
    encode_push,
    encode_quote,
    encode_quote_request,
    encode_step,
    encode_step_reply,
    encode_tensor_reply,
    fits_unary,
    forward_joiner,
    parse_uids,
    reply_joiner,
    reply_shapes,
    split_backward,
    split_forward,
    split_tensor_reply,
)
from potluck.wire.envelopes import INLINE_BYTES
from potluck.wire.packing import pack, unpack_map

LIMITS = Limits(hidden_size=8, num_blocks=6, max_batch_tokens=1 << 20, max_length=4096, max_frame_bytes=64 << 20)
SPAN = Span(2, 4)
CALLER = Caller(membership=b"\x01proof", adapter="someone/lora", revision_digest="0123456789abcdef")
DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def assert_same(actual: object, expected: object) -> None:
    """Equality of messages whose fields may be tensors."""
    assert type(actual) is type(expected)
    for name in actual.__dataclass_fields__:  # type: ignore[attr-defined]
        have, want = getattr(actual, name), getattr(expected, name)
        if isinstance(want, torch.Tensor):
            assert have.dtype == want.dtype, name
            assert torch.equal(have, want), name
        elif isinstance(want, tuple) and want and isinstance(want[0], torch.Tensor):
            assert [t.dtype for t in have] == [t.dtype for t in want]
            assert all(map(torch.equal, have, want))
        else:
            assert have == want, name


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("prompt_rows", [None, 1, 2])
def test_a_forward_request(dtype: torch.dtype, prompt_rows: int | None) -> None:
    prompts = None if prompt_rows is None else floats(2, prompt_rows, 3, 8, dtype=dtype)
    request = ForwardRequest("m", SPAN, floats(2, 5, 8, dtype=dtype), prompts, CALLER, (Compression.FLOAT16,))
    assert_same(decode_forward(encode_forward(request), limits=LIMITS), request)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_backward_request(dtype: torch.dtype) -> None:
    hidden, grad = floats(2, 5, 8, dtype=dtype), floats(2, 5, 8, dtype=dtype)
    for prompts in (None, floats(2, 2, 3, 8, dtype=dtype)):
        request = BackwardRequest("m", SPAN, hidden, grad, prompts, CALLER)
        assert_same(decode_backward(encode_backward(request), limits=LIMITS), request)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_reply_of_tensors(dtype: torch.dtype) -> None:
    reply = TensorReply((floats(2, 5, 8, dtype=dtype), floats(2, 2, 3, 8, dtype=dtype)), Timing(1.5, 2.5, 7))
    assert_same(decode_tensor_reply(encode_tensor_reply(reply), like=[(2, 5, 8), (2, 2, 3, 8)]), reply)


def test_a_reply_is_compressed_as_asked_except_where_it_cannot_be() -> None:
    values = torch.tensor([[[0.1, 1e9]]])
    body = encode_tensor_reply(TensorReply((values,)), compression=(Compression.FLOAT16,))
    (read,) = decode_tensor_reply(body, like=[(1, 1, 2)]).tensors
    assert read.dtype == torch.float32
    assert torch.equal(read, values.clamp(max=65504).to(torch.float16).to(torch.float32))
    plain = TensorReply((values.to(torch.bfloat16),))
    assert_same(decode_tensor_reply(encode_tensor_reply(plain, compression=(2,)), like=[(1, 1, 2)]), plain)


def test_float64_arrives_as_float32() -> None:
    request = ForwardRequest("m", SPAN, floats(1, 2, 8).to(torch.float64))
    read = decode_forward(encode_forward(request), limits=LIMITS)
    assert read.hidden.dtype == torch.float32
    assert torch.equal(read.hidden, floats(1, 2, 8))


def test_a_tensor_that_is_neither_contiguous_nor_a_leaf_is_sent_as_its_values() -> None:
    hidden = floats(2, 8, 5).requires_grad_().transpose(1, 2) * 2
    read = decode_forward(encode_forward(ForwardRequest("m", SPAN, hidden)), limits=LIMITS)
    assert torch.equal(read.hidden, hidden)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_opening_step(dtype: torch.dtype) -> None:
    opening = SessionOpening(
        "m", SPAN, max_length=64, session_id="s", alloc_timeout_s=2.5, exact=True, resume=True, caller=CALLER
    )
    request = StepRequest(
        hidden=floats(3, 4, 8, dtype=dtype),
        opening=opening,
        prompts=floats(2, 1, 2, 8, dtype=dtype),
        hypo_ids=torch.tensor([2, 0, 0]),
        step_id="step",
        start_from_position=0,
    )
    assert_same(decode_step(b"".join(encode_step(request)), limits=LIMITS, first=True), request)


def test_a_later_step_and_its_push() -> None:
    request = StepRequest(
        hidden=floats(1, 1, 8),
        step_id="step",
        start_from_position=7,
        next_servers=(NextServer(PeerId("QmS3YW6xhnxAU2NsF9SF7JqaNzwptmwJ8bgYBM3Ghf3fuS"), "t", Span(4, 6)),),
        session_id="s",
    )
    assert_same(decode_step(b"".join(encode_step(request)), limits=LIMITS, first=False), request)
    push = decode_push(encode_push(request, prefix="m", span=SPAN), limits=LIMITS)
    assert push.pushed
    assert push.session_id == "s"
    assert push.next_servers == request.next_servers
    assert push.pusher is None


def test_a_push_says_who_pushes() -> None:
    request = StepRequest(hidden=floats(1, 1, 8), session_id="s", pushed=True, pusher=Caller(membership=b"proof"))
    assert_same(decode_push(encode_push(request, prefix="m", span=SPAN), limits=LIMITS), request)


def test_the_package_does_not_load_the_network_library() -> None:
    code = "import sys, potluck.wire; sys.exit('hivemind' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=250)


@pytest.mark.parametrize("tokens", [0, 1])
def test_steps_without_tokens_and_the_closing_message(tokens: int) -> None:
    opening = SessionOpening("m", SPAN, max_length=0)
    request = StepRequest(hidden=floats(2, tokens, 8), opening=opening)
    assert_same(decode_step(b"".join(encode_step(request)), limits=LIMITS, first=True), request)
    closing = StepRequest(hidden=None)
    assert b"".join(encode_step(closing)) == b""
    assert_same(decode_step(b"", limits=LIMITS, first=False), closing)


def test_a_step_reply_with_and_without_timing() -> None:
    for timing in (Timing(), Timing(queue_ms=0.25), Timing(1.0, 2.0, 0), Timing(is_leaving=True)):
        reply = StepReply(floats(2, 1, 8), timing)
        assert_same(decode_step_reply(b"".join(encode_step_reply(reply)), like=(2, 1, 8)), reply)


@pytest.mark.parametrize("with_schema", [False, True])
def test_an_info_answer(with_schema: bool) -> None:
    extras = {"revision": "main", "digests": ["00ff"], "future": {"x": [1, None]}}
    info = ServerInfo("9.9", True, 12345, 8, "bfloat16", 2048, 4096, extras)
    assert decode_info(encode_info(info, with_schema=with_schema)) == info


def test_large_requests_go_in_parts_and_come_back() -> None:
    tokens = 300_000  # 9.2 MiB a tensor
    request = ForwardRequest("m", SPAN, floats(1, tokens, 8), floats(2, 1, 3, 8), CALLER)
    assert not fits_unary(request)
    joiner = forward_joiner(LIMITS)
    bodies = [b"".join(pieces) for pieces in split_forward(request)]
    assert len(bodies) == 4
    assert max(map(len, bodies)) < (4 << 20) + 4096
    for body in bodies:
        joiner.add(body)
    assert_same(joiner.finish(), request)


def test_a_backward_and_its_reply_go_in_parts_and_come_back() -> None:
    hidden = floats(1, 150_000, 8)
    request = BackwardRequest("m", SPAN, hidden, hidden + 1, floats(2, 1, 3, 8))
    joiner = backward_joiner(LIMITS)
    for pieces in split_backward(request):
        joiner.add(b"".join(pieces))
    assert_same(joiner.finish(), request)
    reply = TensorReply((hidden, floats(2, 1, 3, 8)), Timing(compute_ms=3.0))
    answers = reply_joiner(reply_shapes(request))
    for pieces in split_tensor_reply(reply):
        answers.add(b"".join(pieces))
    assert_same(answers.finish(), reply)


def test_large_tensors_are_sent_without_a_copy() -> None:
    hidden = floats(1, INLINE_BYTES, 8)
    _, buffer, _ = encode_step(StepRequest(hidden, session_id="s"))
    hidden[0, 0, 0] = 77.0
    assert torch.frombuffer(bytearray(buffer[:4]), dtype=torch.float32).item() == 77.0


def test_decoded_tensors_own_their_memory() -> None:
    body = bytearray(encode_forward(ForwardRequest("m", SPAN, floats(1, 1, 8))))
    read = decode_forward(body, limits=LIMITS)
    body[:] = bytes(len(body))
    read.hidden.add_(0)
    assert torch.equal(read.hidden, floats(1, 1, 8))


def test_gradients_of_broadcast_prompts_given_once_a_row_are_summed() -> None:
    request = BackwardRequest("m", SPAN, floats(3, 5, 8), floats(3, 5, 8), floats(2, 1, 4, 8))
    per_row = floats(2, 3, 4, 8)
    reply = TensorReply((floats(3, 5, 8), per_row))
    for read in (
        decode_tensor_reply(encode_tensor_reply(reply), like=reply_shapes(request)),
        join(reply, reply_shapes(request)),
    ):
        assert torch.equal(read.tensors[1], per_row.sum(1, keepdim=True))


def join(reply: TensorReply, shapes: tuple[tuple[int, ...], ...]) -> TensorReply:
    joiner = reply_joiner(shapes)
    for pieces in split_tensor_reply(reply):
        joiner.add(b"".join(pieces))
    return joiner.finish()


def test_nothing_above_the_unary_limit_is_sent_in_one_message() -> None:
    tokens = MAX_UNARY_BYTES // 32 + 1
    with pytest.raises(RemoteError, match="stream") as refusal:
        encode_tensor_reply(TensorReply((torch.zeros(1, tokens, 8),)))
    assert refusal.value.code is Code.TOO_LONG
    with pytest.raises(RemoteError):
        encode_push(StepRequest(torch.zeros(1, tokens, 8), session_id="s"), prefix="m", span=SPAN)


def test_a_request_of_one_mebibyte_fits_and_one_more_token_does_not() -> None:
    assert fits_unary(ForwardRequest("m", SPAN, torch.zeros(1, 1 << 15, 8)))
    assert not fits_unary(ForwardRequest("m", SPAN, torch.zeros(1, (1 << 15) + 1, 8)))
    half = torch.zeros(1, 1 << 14, 8)
    assert fits_unary(BackwardRequest("m", SPAN, half, half))
    assert not fits_unary(BackwardRequest("m", SPAN, half, half, torch.zeros(2, 1, 1, 8)))


def test_names_of_blocks() -> None:
    assert block_uids("m-hf", SPAN) == "m-hf.2 m-hf.3"
    assert parse_uids("m-hf.2 m-hf.3", num_blocks=4) == ("m-hf", SPAN)


@pytest.mark.parametrize(
    "text",
    [
        *["", " ", "m", "m.", ".1", "m.-1", "m.01", "m.1.2", "m.1 ", "m.1  m.2", "m.2 m.1", "m.1 m.1", "m.1 m.3"],
        *["m.1 n.2", "m.3 m.4", "m.99999999", "m.\u0661", "m.1\n", "m\x00.1", " ".join(["m.0"] * 10_000)],
    ],
)
def test_bad_names_of_blocks_are_refused(text: str) -> None:
    with pytest.raises(RemoteError) as refusal:
        parse_uids(text, num_blocks=4)
    assert refusal.value.code is Code.BAD_REQUEST


def test_a_quote_and_its_request() -> None:
    request = QuoteRequest("test", SPAN, rows=3, tokens=100, caller=CALLER)
    assert decode_quote_request(encode_quote_request(request), limits=LIMITS) == request
    quote = Quote(batch=4, step_ms=12.5, queue_ms=0.5, free_tokens=1000, reserved_tokens=300)
    assert decode_quote(encode_quote(quote)) == quote


@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 4, "end": 4},
        {"end": 7},
        {"rows": 0},
        {"rows": 1 << 40},
        {"tokens": -1},
        {"tokens": 1e9},
        {"prefix": "a b"},
        {"prefix": None},
    ],
)
def test_a_quote_for_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    honest = unpack_map(encode_quote_request(QuoteRequest("test", SPAN, rows=3, tokens=100)))
    with pytest.raises(RemoteError) as caught:
        decode_quote_request(pack({**honest, **wrong}), limits=LIMITS)
    assert caught.value.code is Code.BAD_REQUEST


@pytest.mark.parametrize("wrong", [{"step_ms": float("nan")}, {"queue_ms": None}, {"free_tokens": -5}, {"batch": "1"}])
def test_an_impossible_quote_is_a_bad_reply(wrong: dict[str, object]) -> None:
    honest = unpack_map(encode_quote(Quote(4, 12.5, 0.5, 1000)))
    with pytest.raises(RemoteError) as caught:
        decode_quote(pack({**honest, **wrong}))
    assert caught.value.code is Code.BAD_REPLY
