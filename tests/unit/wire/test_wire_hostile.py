"""What a peer may try: every bad message ends in a RemoteError with the right code, before memory is spent on it."""

from __future__ import annotations

import math
import tracemalloc

import pytest
import torch

from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import BackwardRequest, ForwardRequest, StepReply, StepRequest
from potluck.wire import (
    Limits,
    decode_backward,
    decode_check_reply,
    decode_check_request,
    decode_forward,
    decode_info,
    decode_info_request,
    decode_push,
    decode_step,
    decode_step_reply,
    decode_tensor_reply,
    encode_backward,
    encode_forward,
    encode_step,
    encode_step_reply,
    forward_joiner,
    reply_joiner,
    split_forward,
)
from potluck.wire.envelopes import Envelope, RawTensor, write_bytes_message, write_envelope
from potluck.wire.packing import pack
from potluck.wire.protobuf import MAX_FIELDS, bytes_field
from potluck.wire.tensors import EMPTY_FLOATS, EMPTY_INTS, to_raw

LIMITS = Limits(hidden_size=4, num_blocks=4, max_batch_tokens=16, max_length=32, max_frame_bytes=1 << 16)
HIDDEN = torch.zeros(2, 3, 4)
PREFIXED = "m.0 m.1"


def raw(*size: int, dtype: str = "float32", compression: int = 0, num_bytes: int | None = None) -> RawTensor:
    length = 4 * math.prod(size) if num_bytes is None else num_bytes
    return RawTensor(size, dtype, compression, 0, bytes(length))


def message(tensors: list[RawTensor], metadata: object = None, uid: str = PREFIXED) -> bytes:
    packed = b"" if metadata is None else pack(metadata)
    return b"".join(write_envelope(Envelope(uid, tensors, packed)))


def forward(hidden: RawTensor, prompts: RawTensor = EMPTY_FLOATS) -> bytes:
    return message([hidden, prompts])


def step(metadata: dict[str, object], hypo_ids: RawTensor = EMPTY_INTS, prompts: RawTensor = EMPTY_FLOATS) -> bytes:
    return message([to_raw(HIDDEN), prompts, hypo_ids], {"max_length": 8, **metadata})


def refused_forward(body: bytes, code: Code = Code.BAD_REQUEST) -> str:
    with pytest.raises(RemoteError) as refusal:
        decode_forward(body, limits=LIMITS)
    assert refusal.value.code is code
    return refusal.value.message


@pytest.mark.parametrize(
    "hidden",
    [
        raw(2, 3, 5),
        raw(2, 3),
        raw(2, 3, 4, 1),
        raw(0, 3, 4),
        raw(2, 3, 4, num_bytes=0),
        raw(2, 3, 4, num_bytes=95),
        raw(2, 3, 4, num_bytes=97),
        raw(2, 3, 4, dtype="int64", num_bytes=192),
        raw(2, 3, 4, dtype="bool", num_bytes=24),
        raw(2, 3, 4, dtype="complex64", num_bytes=192),
        raw(2, 3, 4, dtype=""),
        raw(2, 3, 4, dtype="float32\x00"),
        raw(2, 3, 4, compression=1, num_bytes=95),
        raw(2, 3, 4, compression=2),
        raw(2, 3, 4, compression=99),
        raw(2, 3, 4, dtype="bfloat16", compression=2, num_bytes=48),
        raw(2, 3, 4, dtype="bfloat16", num_bytes=24),
    ],
    ids=lambda tensor: f"{tensor.size}-{tensor.dtype!r}-{tensor.compression}-{len(tensor.buffer)}",
)
def test_hidden_states_of_a_wrong_kind_are_refused(hidden: RawTensor) -> None:
    refused_forward(forward(hidden))


@pytest.mark.parametrize("compression", [3, 4, 5])
def test_an_unsupported_compression_is_named(compression: int) -> None:
    hidden = raw(2, 3, 4, compression=compression)
    assert f"compression {compression} is not supported" in refused_forward(forward(hidden))


@pytest.mark.parametrize(
    "size", [(17, 1, 4), (1, 17, 4), (5, 5, 4), (17, 0, 4), (1, 1 << 30, 4), ((1 << 31) - 1, 0, 4)]
)
def test_more_tokens_than_allowed_are_refused_as_too_long(size: tuple[int, ...]) -> None:
    refused_forward(forward(raw(*size, num_bytes=4)), Code.TOO_LONG)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_a_value_that_is_not_finite_is_refused_in_requests_and_replies(value: float, dtype: torch.dtype) -> None:
    hidden = HIDDEN.clone().to(dtype)
    hidden[1, 2, 3] = value
    assert "NaN" in refused_forward(forward(to_raw(hidden)))
    body = b"".join(encode_step_reply(StepReply(hidden)))
    with pytest.raises(RemoteError) as refusal:
        decode_step_reply(body, like=(2, 3, 4))
    assert refusal.value.code is Code.BAD_REPLY


def test_opposite_infinities_do_not_cancel() -> None:
    hidden = HIDDEN.clone()
    hidden[0, 0, 0], hidden[1, 0, 0] = math.inf, -math.inf
    refused_forward(forward(to_raw(hidden)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_finite_values_whose_sum_overflows_are_accepted(dtype: torch.dtype) -> None:
    hidden = torch.full((2, 3, 4), torch.finfo(dtype).max, dtype=dtype)
    assert torch.equal(decode_forward(forward(to_raw(hidden)), limits=LIMITS).hidden, hidden)


def test_a_float64_beyond_float32_is_refused() -> None:
    refused_forward(forward(to_raw(HIDDEN.to(torch.float64) + 1e300)))


@pytest.mark.parametrize(
    "prompts",
    [
        raw(1, 2, 1, 4),  # one block of two
        raw(3, 2, 1, 4),
        raw(2, 3, 1, 4),  # three rows for two
        raw(2, 2, 4, 4),  # more prompt tokens than tokens
        raw(2, 2, 1, 5),
        raw(2, 2, 4),
        raw(2, 2, 1, 4, dtype="int64", num_bytes=128),
        raw(1 << 30, 2, 1, 4, num_bytes=16),
        raw(2, 2, 1, 4, num_bytes=0),
    ],
    ids=lambda tensor: str(tensor.size),
)
def test_prompts_that_do_not_fit_are_refused(prompts: RawTensor) -> None:
    refused_forward(forward(raw(2, 3, 4), prompts))


def test_a_gradient_of_another_shape_is_refused() -> None:
    for grad in (raw(2, 3, 5), raw(2, 2, 4), raw(3, 2, 4), raw(0)):
        with pytest.raises(RemoteError):
            decode_backward(message([raw(2, 3, 4), grad, EMPTY_FLOATS]), limits=LIMITS)


@pytest.mark.parametrize(
    "metadata",
    [
        [],
        "x",
        {"points": "x"},
        {"points": True},
        {"active_adapter": 7},
        {"active_adapter": "x" * 10_000},
        {"args_structure": 1},
        {"args_structure": ((b"__T0",), {})},
        {"args_structure": ((b"__T0", b"__T9"), {})},
        {"args_structure": ((b"__T0", b"__T2"), {})},
        {"args_structure": ((b"__T0", (b"__T1",)), {})},
        {"args_structure": ((b"__T0",) * 1000, {})},
        {"output_compression": 2},
        {"output_compression": ["2"]},
        {"output_compression": [5]},
        {"output_compression": [1]},
        {"output_compression": [0] * 100},
        {"potluck": 1},
        {"potluck": {"membership": "text"}},
        {"potluck": {"membership": b"x" * 5000}},
        {"potluck": {"revision_digest": 5}},
    ],
    ids=lambda metadata: str(metadata)[:60],
)
def test_metadata_of_a_wrong_type_is_refused(metadata: object) -> None:
    refused_forward(message([raw(2, 3, 4), EMPTY_FLOATS], metadata))


@pytest.mark.parametrize("metadata", [None, {}, {"new": {"deep": [1, (2,)]}, "potluck": {"new": 1}}])
def test_missing_and_unknown_metadata_are_fine(metadata: object) -> None:
    request = decode_forward(message([raw(2, 3, 4), EMPTY_FLOATS], metadata), limits=LIMITS)
    assert request.span == Span(0, 2)


def test_arguments_follow_their_structure() -> None:
    tensors = [EMPTY_FLOATS, to_raw(HIDDEN + 1)]
    swapped = decode_forward(message(tensors, {"args_structure": [[b"__T1", b"__T0"], {}]}), limits=LIMITS)
    assert torch.equal(swapped.hidden, HIDDEN + 1)
    shared = message([to_raw(HIDDEN)], {"args_structure": ((b"__T0", b"__T0", b"__T0"), {})})
    with pytest.raises(RemoteError, match="prompts"):
        decode_backward(shared, limits=LIMITS)


@pytest.mark.parametrize(
    "metadata",
    [
        {"max_length": None},
        {"max_length": -1},
        {"max_length": 8.0},
        {"max_length": True},
        {"session_id": 5},
        {"session_id": "x" * 200},
        {"step_id": b"x"},
        {"start_from_position": -1},
        {"start_from_position": 33},
        {"start_from_position": 1.0},
        {"alloc_timeout": -1},
        {"alloc_timeout": math.nan},
        {"alloc_timeout": math.inf},
        {"alloc_timeout": "1"},
        {"pushed": 1},
        {"next_servers": "x"},
        {"next_servers": [1]},
        {"next_servers": [("QmS3YW6xhnxA", "s", 0)]},
        {"next_servers": [("QmS3YW6xhnxA", "s", 2, 2)]},
        {"next_servers": [("QmS3YW6xhnxA", "s", 2, 5)]},
        {"next_servers": [("QmS3YW6xhnxA", "s", False, True)]},
        {"next_servers": [("QmS3YW6xhnxA", "", 2, 3)]},
        {"next_servers": [("not/a/peer", "s", 2, 3)]},
        {"next_servers": [("QmS3YW6xhnxA", "s", 2, 3)] * 65},
    ],
    ids=lambda metadata: str(metadata)[:60],
)
def test_a_step_with_metadata_of_a_wrong_type_or_range_is_refused(metadata: dict[str, object]) -> None:
    with pytest.raises(RemoteError) as refusal:
        decode_step(step(metadata), limits=LIMITS, first=True)
    assert refusal.value.code is Code.BAD_REQUEST


def test_a_session_longer_than_allowed_is_too_long() -> None:
    with pytest.raises(RemoteError) as refusal:
        decode_step(step({"max_length": 33}), limits=LIMITS, first=True)
    assert refusal.value.code is Code.TOO_LONG


@pytest.mark.parametrize(
    "hypo_ids",
    [
        to_raw(torch.tensor([0])),
        to_raw(torch.tensor([0, 1, 0])),
        to_raw(torch.tensor([0, 2])),
        to_raw(torch.tensor([0, -1])),
        to_raw(torch.tensor([0.0, 1.0])),
        to_raw(torch.tensor([[0, 1]])),
        RawTensor((0,), "float32"),
        RawTensor((2,), "int64", 2, 0, bytes(16)),
        RawTensor((2,), "int64", 0, 0, bytes(15)),
        RawTensor((0,), "int64", 0, 0, bytes(8)),
    ],
    ids=lambda tensor: f"{tensor.size}-{tensor.dtype}-{len(tensor.buffer)}",
)
def test_bad_hypo_ids_are_refused(hypo_ids: RawTensor) -> None:
    with pytest.raises(RemoteError):
        decode_step(step({}, hypo_ids), limits=LIMITS, first=True)


def test_an_empty_first_message_opens_nothing() -> None:
    with pytest.raises(RemoteError):
        decode_step(b"", limits=LIMITS, first=True)


def test_a_push_needs_a_session_and_tensors() -> None:
    for body in (b"", step({})):
        with pytest.raises(RemoteError):
            decode_push(body, limits=LIMITS)


def test_a_frame_above_the_limit_is_refused_unread() -> None:
    refused_forward(bytes(LIMITS.max_frame_bytes + 1), Code.TOO_LONG)


@pytest.mark.parametrize(
    "body",
    [
        b"\xff" * 20,
        b"\x0a",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0a\x05m.0",
        b"\x0a\x02\xff\xfe",  # a name that is not UTF-8
        b"\x00\x01",  # field number 0
        b"\x0b\x0c",  # a group
        b"\x08\x80",  # a varint without end
        b"\x12\x02\x12\x7f",  # sizes beyond the tensor
        b"\x12\x04\x12\x02\xff\xff",
        bytes_field(2, bytes_field(2, b"\x01" * 5)),  # five dimensions
        bytes_field(2, bytes_field(2, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
        bytes_field(2, b"\x10\x01" * 5),
        b"\x12\x00" * 9,  # nine tensors
        b"\x28\x01" * (MAX_FIELDS + 1),
        bytes_field(1, b"m.0 " * 10_000),
    ],
    ids=lambda body: body[:8].hex(),
)
def test_malformed_protobuf_is_refused(body: bytes) -> None:
    refused_forward(body)


def test_unknown_fields_are_skipped() -> None:
    unknown = b"\x78\x05" + b"\x7a\x03abc" + b"\x79" + bytes(8) + b"\x7d" + bytes(4)
    tensor = bytes_field(1, bytes(96)) + unknown + bytes_field(2, b"\x02\x03\x04") + bytes_field(4, b"float32")
    unpacked_sizes = bytes_field(1, bytes(96)) + b"\x10\x02\x10\x03\x10\x04" + bytes_field(4, b"float32")
    for encoded in (tensor, unpacked_sizes):
        body = unknown + bytes_field(1, b"m.0") + bytes_field(2, encoded) + message([EMPTY_FLOATS], uid="") + unknown
        assert torch.equal(decode_forward(body, limits=LIMITS).hidden, HIDDEN)


def test_a_known_field_of_another_wire_type_counts_as_unknown() -> None:
    body = b"\x08\x07" + forward(raw(2, 3, 4)) + b"\x18\x01"
    assert decode_forward(body, limits=LIMITS).prefix == "m"


@pytest.mark.parametrize("like", [[(2, 3, 4), (2, 3, 4)], [(2, 3, 5)], [(3, 2, 4)], [(2, 3)]], ids=str)
def test_a_reply_of_other_shapes_than_asked_for_is_bad(like: list[tuple[int, ...]]) -> None:
    body = message([raw(2, 3, 4)], uid="")
    with pytest.raises(RemoteError) as refusal:
        decode_tensor_reply(body, like=like)
    assert refusal.value.code is Code.BAD_REPLY


@pytest.mark.parametrize(
    "timing",
    [{"queue_ms": -1.0}, {"compute_ms": "x"}, {"cache_tokens_left": 1.5}, {"queue_ms": math.nan}],
)
def test_a_reply_with_absurd_timing_is_bad(timing: dict[str, object]) -> None:
    with pytest.raises(RemoteError):
        decode_step_reply(message([raw(2, 3, 4)], {"potluck": timing}, uid=""), like=(2, 3, 4))


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"dht_client_mode": 0, "cache_tokens_available": 1},
        {"dht_client_mode": False, "cache_tokens_available": -1},
        {"dht_client_mode": False, "cache_tokens_available": 1.0},
        {"dht_client_mode": False, "cache_tokens_available": 1, "version": 7},
        {"dht_client_mode": False, "cache_tokens_available": 1, "potluck": {"max_length": "long"}},
        [],
    ],
)
def test_a_bad_info_answer_is_a_bad_reply(answer: object) -> None:
    with pytest.raises(RemoteError) as refusal:
        decode_info(write_bytes_message(pack(answer)))
    assert refusal.value.code is Code.BAD_REPLY


def test_bad_names_and_reachability_requests_are_refused() -> None:
    for decode in (decode_info_request, decode_check_request, decode_check_reply):
        with pytest.raises(RemoteError):
            decode(b"\xff\xff")
    for body in (b"", bytes_field(2, b""), bytes_field(2, bytes_field(1, b"x" * 65))):
        with pytest.raises(RemoteError):
            decode_check_request(body)


def split_hidden(num_parts: int) -> list[bytes]:
    first = RawTensor((2, 3, 4), "float32", 0, num_parts, bytes(96 // num_parts))
    rest = RawTensor(buffer=bytes(96 // num_parts))
    return [message([first]), *[message([rest])] * (num_parts - 1), message([EMPTY_FLOATS])]


def refused_parts(bodies: list[bytes], code: Code = Code.BAD_REQUEST) -> None:
    with pytest.raises(RemoteError) as refusal:
        join(bodies)
    assert refusal.value.code is code


def join(bodies: list[bytes]) -> ForwardRequest:
    joiner = forward_joiner(LIMITS)
    for body in bodies:
        joiner.add(body)
    return joiner.finish()


def test_parts_must_fit_together() -> None:
    parts = split_hidden(4)
    assert torch.equal(join(parts).hidden, HIDDEN)

    refused_parts([])
    refused_parts(parts[1:])
    refused_parts(parts[:2] + parts[3:])
    refused_parts([*parts[:4], parts[1], parts[4]])
    refused_parts([parts[0], message([RawTensor(buffer=bytes(24))], uid="m.1 m.2")])
    refused_parts([parts[0], message([RawTensor()])])
    refused_parts([parts[0], message([])])
    refused_parts([parts[4]] * 9)
    refused_parts([b"\xff"])


def test_parts_above_the_limit_are_refused_before_the_last() -> None:
    big = LIMITS.max_frame_bytes // 2
    parts = [message([RawTensor((2, 3, 4), "float32", 0, 0, bytes(big))])]
    joiner = forward_joiner(LIMITS)
    joiner.add(parts[0])
    joiner.add(message([RawTensor(buffer=bytes(big))]))
    with pytest.raises(RemoteError) as refusal:
        joiner.add(message([RawTensor(buffer=b"\x00")]))
    assert refusal.value.code is Code.TOO_LONG


def test_a_reply_in_parts_holds_no_more_than_its_shapes_can() -> None:
    joiner = reply_joiner([(2, 3, 4)])
    with pytest.raises(RemoteError):
        joiner.add(message([raw(2, 3, 4, num_bytes=8 * 24 + 1)], uid=""))


def test_absurd_claims_cost_no_memory() -> None:
    bodies = [
        forward(raw(1, 16, 1 << 30, num_bytes=64)),
        forward(raw(2, 3, 4), raw(4, 2, 3, (1 << 31) - 1, num_bytes=64)),
        message([raw(2, 3, 4), EMPTY_FLOATS], uid="m.0 m.99999"),
        bytes_field(3, b"\xdd\xff\xff\xff\xff"),
        b"\x12\x00" * 30_000,
    ]
    tracemalloc.start()
    try:
        for body in bodies:
            refused_forward(body)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()


def test_what_is_sent_within_the_limits_is_read_within_them() -> None:
    """The checks above refuse nothing that our own encoders make."""
    request = ForwardRequest("m", Span(0, 4), torch.zeros(4, 4, 4), torch.zeros(4, 4, 4, 4))
    decode_forward(encode_forward(request), limits=LIMITS)
    for pieces in split_forward(request):
        assert b"".join(pieces)
    backward = BackwardRequest("m", Span(0, 4), request.hidden, request.hidden, request.prompts)
    decode_backward(encode_backward(backward), limits=LIMITS)
    decode_step(b"".join(encode_step(StepRequest(request.hidden, session_id="s"))), limits=LIMITS, first=False)
