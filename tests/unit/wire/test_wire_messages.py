"""Every message survives the wire, in the published layout, beside messages of other versions."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from msgspec.structs import replace
from samples import FORWARD, HIDDEN, LIMITS, REFUSAL, SAMPLES, body_of, raw

from potluck.protocol.codes import Code, Denial, RemoteError
from potluck.protocol.messages import ForwardRequest, StepRequest
from potluck.sentences import verbatim
from potluck.wire import message as layout
from potluck.wire.calls import RequestJoiner
from potluck.wire.errors import WireError, decode_refusal, encode_refusal
from potluck.wire.message import MAX_FIELD_BYTES, read_message
from potluck.wire.sessions import decode_step
from potluck.wire.tensors import WireTensor, encode_parts, encode_tensors

GOLDEN = dict(line.split("\t") for line in (Path(__file__).parent / "golden_messages.txt").read_text().splitlines())


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return one == other


@pytest.mark.parametrize("name", SAMPLES)
def test_a_message_survives(name: str) -> None:
    sample = SAMPLES[name]
    assert same(sample.read(sample.body), sample.value)


def test_a_step_has_the_published_layout() -> None:
    head, values = encode_tensors(StepRequest(torch.ones(1, 2, 4), start_from_position=7))
    assert bytes(head[:8]).hex(" ", -4) == "02260000 20000000"  # version, 38 bytes of fields, 32 of values
    fields = {"hidden": [0, 0, [1, 2, 4], 0, 32], "start_from_position": 7}  # float32, plain, its shape and place
    assert bytes(head[8:]) == msgspec.msgpack.encode(fields)
    assert bytes(values) == torch.ones(8).numpy().tobytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_message_has_the_bytes_of_its_version(name: str) -> None:
    """Whoever changes these bytes raises the wire's version."""
    assert SAMPLES[name].body.hex() == GOLDEN[name]


@pytest.mark.parametrize("name", SAMPLES)
def test_fields_and_tensors_of_a_newer_peer_are_ignored(name: str) -> None:
    sample = SAMPLES[name]
    message = read_message(sample.body)
    fields: dict[str, Any] = msgspec.msgpack.decode(message.fields)
    newer = {"newer": {"a": [1]}, "tensor": WireTensor(77, 3, (5,), len(message.values), 8)}
    assert same(sample.read(raw(newer | fields, bytes(message.values) + b"12345678")), sample.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_another_version_is_refused_in_words(name: str) -> None:
    sample = SAMPLES[name]
    with pytest.raises(RemoteError, match="speaks version 2 of the wire, not 3") as refusal:
        sample.read(b"\x03" + sample.body[1:])
    assert refusal.value.code is Code.WRONG_VERSION


def test_wider_floats_are_sent_as_float32_and_what_has_no_number_is_not_sent() -> None:
    body = body_of(StepRequest(HIDDEN.double()))
    assert same(decode_step(body, limits=LIMITS, first=False).hidden, HIDDEN)
    with pytest.raises(TypeError, match="cannot be sent"):
        body_of(StepRequest(HIDDEN.to(torch.complex64)))


def test_tensors_that_require_gradients_or_are_not_contiguous_are_sent_as_they_are() -> None:
    hidden = HIDDEN.clone().requires_grad_()[:, ::2]
    body = body_of(StepRequest(hidden))
    assert same(decode_step(body, limits=LIMITS, first=False).hidden, hidden.detach())


VERSION_1_REFUSAL = bytes.fromhex(
    "01000000 17000000 ffffffff ffffffff 00000000 00000000 8330a462 75737931 a466756c 6c32cb3f f8000000 000000"
)
VERSION_1_OPENING = bytes.fromhex(
    "01010000 0a000000 ffffffff ffffffff 00000000 00000000 01000003 01000000 01000000 04000000 00000000 10000000"
    " 8401a16d 02020304 08100000 803f0000 803f0000 803f0000 803f"
)


def test_a_refusal_survives_with_its_code_and_time() -> None:
    error = decode_refusal(REFUSAL, may_be_plain_text=False)
    assert (error.code, error.message, error.retry_after_s) == (Code.BUSY, "full", 1.5)
    long = encode_refusal(RemoteError(Code.DRAINING, "x" * 1000))
    assert decode_refusal(long, may_be_plain_text=True).message == "x" * 500


def test_peers_of_two_versions_tell_each_other_so() -> None:
    """A refusal has the bytes of version 1 for ever, and so are messages of another version refused."""
    assert REFUSAL == VERSION_1_REFUSAL
    with pytest.raises(RemoteError) as refusal:
        decode_step(VERSION_1_OPENING, limits=LIMITS, first=True)
    told = decode_refusal(encode_refusal(refusal.value), may_be_plain_text=False)
    assert (told.code, told.message) == (Code.WRONG_VERSION, refusal.value.message)


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"RuntimeError('\x1b[31m\x00 CUDA')", Code.REFUSED, "RuntimeError('[31m CUDA')"),
        (b"\x0a\x02no", Code.REFUSED, "no"),
        (b"\x0a\xac\x02" + 300 * b"n", Code.REFUSED, 300 * "n"),
        (b"AllocationFailed('Could not allocate 9 within 2 seconds')", Code.BUSY, "AllocationFailed('Could not"),
        (b"\x0a\x00", Code.BUSY, ""),
        (b"", Code.BUSY, ""),
    ],
    ids=["words", "framed", "long", "no memory", "no words", "nothing"],
)
def test_words_are_a_refusal_of_a_stock_peer_and_break_our_own_protocol(body: bytes, code: Code, text: str) -> None:
    error = decode_refusal(body, may_be_plain_text=True)
    assert error.code is code
    assert error.message.startswith(text)
    assert decode_refusal(body, may_be_plain_text=False).code is Code.BAD_REPLY


@pytest.mark.parametrize("may_be_plain_text", [True, False])
@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"\x01", Code.BAD_REPLY, "an unreadable refusal"),
        (REFUSAL[:-3], Code.BAD_REPLY, "an unreadable refusal"),
        (REFUSAL.replace(b"full", b"\xff\xff\xff\xff"), Code.BAD_REPLY, "an unreadable refusal"),
        (REFUSAL.replace(b"\x31\xa4full", b"\x31\xc4\x03full"[:6]), Code.BAD_REPLY, "an unreadable refusal"),
        (REFUSAL.replace(b"busy", b"what"), Code.INTERNAL, "full"),
    ],
    ids=["a version", "cut short", "no UTF-8", "no text", "an unknown code"],
)
def test_any_bytes_read_as_a_refusal(body: bytes, code: Code, text: str, may_be_plain_text: bool) -> None:
    error = decode_refusal(body, may_be_plain_text=may_be_plain_text)
    assert error.code is code
    assert error.message.startswith(text)


def test_a_denial_is_read_as_our_own_sentence_and_one_that_is_not_known_as_the_peers_words() -> None:
    sent = encode_refusal(RemoteError(Code.BUSY, Denial.UNCONFIRMED))
    told = decode_refusal(sent, may_be_plain_text=False)
    assert (told.code, told.denial) == (Code.BUSY, Denial.UNCONFIRMED)
    assert told.sentence == RemoteError(Code.BUSY, Denial.UNCONFIRMED).sentence
    newer = decode_refusal(sent.replace(b"unconfirmed", b"another_one"), may_be_plain_text=False)
    assert (newer.denial, newer.sentence) == (None, verbatim(told.message))


def test_a_large_call_goes_in_parts_and_is_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PART_BYTES", 800)
    request = replace(FORWARD, hidden=torch.ones(4, 4, 4).repeat(1, 1, 1), prompts=torch.ones(2, 4, 4, 4))
    frames = [b"".join(pieces) for pieces in encode_parts(request)]
    assert [len(frame) for frame in frames[:-1]] == [800] * (len(frames) - 1)
    joiner = RequestJoiner(ForwardRequest, LIMITS)
    assert not joiner.add(frames[0])
    assert joiner.target() == ("m", request.span, request.caller)
    assert [joiner.add(frame) for frame in frames[1:]] == [False] * (len(frames) - 2) + [True]
    assert same(joiner.request(), request)


@pytest.mark.parametrize("last", [b"", b"xy"], ids=["nothing", "too much"])
def test_parts_that_do_not_fit_are_refused(last: bytes) -> None:
    joiner = RequestJoiner(ForwardRequest, LIMITS)
    assert not joiner.add(SAMPLES["forward"].body[:-1])
    with pytest.raises(RemoteError, match="do not fit"):
        joiner.add(last)


def test_a_message_that_claims_too_much_is_refused_at_its_first_frame() -> None:
    head = bytearray(SAMPLES["forward"].body)
    head[4:8] = (1 << 24).to_bytes(4, "little")
    with pytest.raises(RemoteError) as refusal:
        RequestJoiner(ForwardRequest, LIMITS).add(bytes(head))
    assert refusal.value.code is Code.TOO_LONG


def test_fields_beyond_the_limit_are_refused_before_they_are_read() -> None:
    with pytest.raises(WireError, match="bytes of fields"):
        read_message(raw({"x": bytes(MAX_FIELD_BYTES)}))


@pytest.mark.parametrize("name", ["opening", "answer", "forward", "quote request", "quote", "receipt"])
def test_a_message_without_its_fields_or_tensors_is_refused(name: str) -> None:
    with pytest.raises(RemoteError) as refusal:
        SAMPLES[name].read(SAMPLES["closing"].body)
    assert refusal.value.code is SAMPLES[name].code
