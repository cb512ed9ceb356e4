"""Every message survives the wire, in the published layout, beside messages of other versions."""

from dataclasses import fields, is_dataclass, replace

import pytest
import torch
from samples import FORWARD, HIDDEN, LIMITS, REFUSAL, SAMPLES

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ForwardRequest, StepReply, StepRequest, Timing
from potluck.wire import message as layout
from potluck.wire.calls import RequestJoiner, encode_call
from potluck.wire.errors import WireError
from potluck.wire.message import Role, WireTensor, read_message, write_message
from potluck.wire.refusals import decode_refusal, encode_refusal
from potluck.wire.sessions import decode_step, encode_step, encode_step_reply


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if is_dataclass(one) and type(one) is type(other):
        return all(same(getattr(one, each.name), getattr(other, each.name)) for each in fields(one))
    return one == other


@pytest.mark.parametrize("name", SAMPLES)
def test_a_message_survives(name: str) -> None:
    sample = SAMPLES[name]
    assert same(sample.read(sample.body), sample.value)


def test_a_step_has_the_published_bytes() -> None:
    head, values = encode_step(StepRequest(torch.ones(1, 2, 4), start_from_position=7))
    assert bytes(head).hex(" ", -4) == (
        "01010000 00000000 07000000 00000000 00000000 00000000"  # version, tensors, flags; no fields; 7; no times
        " 01000003 01000000 02000000 04000000 00000000 20000000"  # hidden states, float32, [1, 2, 4], 32 bytes
    )
    assert bytes(values) == torch.ones(8).numpy().tobytes()


def test_an_answer_has_the_published_bytes() -> None:
    head, _ = encode_step_reply(StepReply(torch.ones(1, 1, 4).bfloat16(), Timing(1.5, 2.5, 100, is_leaving=True)))
    assert bytes(head).hex(" ", -4) == (
        "01010100 00000000 64000000 00000000 0000c03f 00002040"  # leaving; 100 tokens left; 1.5 and 2.5 ms
        " 01010003 01000000 01000000 04000000 00000000 08000000"
    )


def test_fields_have_the_published_bytes() -> None:
    (body,) = write_message((), {1: "m", 8: 16})
    assert (bytes(body[4:8]).hex(), bytes(body[24:]).hex()) == ("06000000", "8201a16d0810")


@pytest.mark.parametrize("name", SAMPLES)
def test_fields_and_tensors_of_a_newer_peer_are_ignored(name: str) -> None:
    sample = SAMPLES[name]
    message = read_message(sample.body)
    newer = (WireTensor(99, 77, (5,), b"12345678", codec=3),) if message.tensors else ()
    body = write_message(
        (*message.tensors, *newer),
        {**message.fields, 1000: {"a": [1]}},  # type: ignore[dict-item]
        number=message.number,
        flags=message.flags,
        queue_ms=message.queue_ms,
        compute_ms=message.compute_ms,
    )
    assert same(sample.read(b"".join(body)), sample.value)


@pytest.mark.parametrize("name", SAMPLES)
def test_another_version_is_refused_in_words(name: str) -> None:
    sample = SAMPLES[name]
    with pytest.raises(RemoteError, match="speaks version 1 of the wire, not 2") as refusal:
        sample.read(b"\x02" + sample.body[1:])
    assert refusal.value.code is Code.WRONG_VERSION


def test_wider_floats_are_sent_as_float32_and_what_has_no_number_is_not_sent() -> None:
    body = b"".join(encode_step(StepRequest(HIDDEN.double())))
    assert same(decode_step(body, limits=LIMITS, first=False).hidden, HIDDEN)
    with pytest.raises(TypeError, match="cannot be sent"):
        encode_step(StepRequest(HIDDEN.to(torch.complex64)))


def test_tensors_that_require_gradients_or_are_not_contiguous_are_sent_as_they_are() -> None:
    hidden = HIDDEN.clone().requires_grad_()[:, ::2]
    body = b"".join(encode_step(StepRequest(hidden)))
    assert same(decode_step(body, limits=LIMITS, first=False).hidden, hidden.detach())


def test_a_refusal_survives_with_its_code_and_time() -> None:
    error = decode_refusal(REFUSAL)
    assert (error.code, error.message, error.retry_after_s) == (Code.BUSY, "full", 1.5)
    assert decode_refusal(encode_refusal(RemoteError(Code.DRAINING, "x" * 1000))).message == "x" * 500


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        (b"RuntimeError('\x1b[31m\x00 CUDA')", Code.REFUSED, "RuntimeError('[31m CUDA')"),
        (b"\x0a\x02no", Code.REFUSED, "no"),
        (b"\x0a\xac\x02" + 300 * b"n", Code.REFUSED, 300 * "n"),
        (b"AllocationFailed('Could not allocate 9 within 2 seconds')", Code.BUSY, "AllocationFailed('Could not"),
        (b"\x0a\x00", Code.BUSY, ""),
        (b"", Code.BUSY, ""),
        (b"\x01", Code.INTERNAL, "an unreadable refusal"),
        (REFUSAL[:-3], Code.INTERNAL, "an unreadable refusal"),
        (REFUSAL.replace(b"busy", b"what"), Code.INTERNAL, "full"),
    ],
    ids=["words", "framed", "long", "no memory", "no words", "nothing", "a version", "cut short", "an unknown code"],
)
def test_any_bytes_read_as_a_refusal(body: bytes, code: Code, text: str) -> None:
    error = decode_refusal(body)
    assert error.code is code
    assert error.message.startswith(text)


def test_a_large_call_goes_in_parts_and_is_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PART_BYTES", 800)
    request = replace(FORWARD, hidden=torch.ones(4, 4, 4).repeat(1, 1, 1), prompts=torch.ones(2, 4, 4, 4))
    frames = [b"".join(pieces) for pieces in encode_call(request)]
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
    head = bytearray(write_message((WireTensor(Role.HIDDEN, 0, (1, 1 << 20, 4), b""),))[0])
    head[44:48] = (1 << 24).to_bytes(4, "little")
    with pytest.raises(RemoteError) as refusal:
        RequestJoiner(ForwardRequest, LIMITS).add(bytes(head))
    assert refusal.value.code is Code.TOO_LONG


def test_fields_beyond_the_limit_are_refused_before_they_are_read() -> None:
    (body,) = write_message((), {1: "x"})
    with pytest.raises(WireError, match="bytes of fields"):
        read_message(bytes(body[:4]) + (1 << 17).to_bytes(4, "little") + bytes(body[8:]) + bytes(1 << 17))


@pytest.mark.parametrize("name", ["opening", "answer", "forward", "quote request", "quote", "receipt"])
def test_a_message_without_its_fields_or_tensors_is_refused(name: str) -> None:
    with pytest.raises(RemoteError) as refusal:
        SAMPLES[name].read(SAMPLES["closing"].body)
    assert refusal.value.code is SAMPLES[name].code
