"""The recorded exchanges with stock peers, message by message.

That our client sends what a stock client sent is tested in tests/unit/client/test_client_golden.py, and that stock
clients get the answers of stock servers in tests/unit/engine/serving/test_engine_golden.py.
"""

from functools import partial

import petals_recordings as recordings
import pytest
from petals_recordings import LIMITS, Message, plain

from potluck.petals import calls
from potluck.petals.calls import (
    PartsOfCall,
    decode_request,
    most_reply_bytes,
    read_call,
    read_reply,
    reply_envelope,
    request_envelope,
    split,
)
from potluck.petals.envelopes import Envelope, read_envelope, write_envelope
from potluck.petals.metadata import unpack
from potluck.petals.names import block_uids
from potluck.petals.server import decode_info_request, encode_check_reply, encode_info
from potluck.petals.sessions import decode_step, decode_step_reply
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import ServerInfo

ENVELOPES = ("ExpertRequest", "ExpertResponse")

REFUSED = {
    # Stock refuses these too.
    "fp32/errors_inference/0.1": Code.BAD_REQUEST,  # a block that the model does not have
    "fp32/errors_inference/1.1": Code.TOO_LONG,  # max_length 100000
    "fp32/errors_inference/2.1": Code.BAD_REQUEST,  # max_length -1
    "fp32/errors_inference/3.1": Code.BAD_REQUEST,  # no max_length
    "fp32/errors_inference/5.1": Code.BAD_REQUEST,  # points is a string
    "fp32/errors_inference/6.1": Code.BAD_REQUEST,  # one tensor only
    "fp32/errors_inference/7.1": Code.BAD_REQUEST,  # hypo_ids of a float dtype
    "fp32/errors_inference/10.1": Code.BAD_REQUEST,  # prompts for 3 blocks, 2 asked
    "fp32/errors_inference/12.1": Code.BAD_REQUEST,  # empty first message
    "fp32/errors_unary/1.0": Code.BAD_REQUEST,  # a block that the model does not have
    "fp32/errors_unary/3.0": Code.BAD_REQUEST,  # empty uid
    "fp32/errors_unary/4.0": Code.BAD_REQUEST,  # one tensor only
    "fp32/errors_unary/5.0": Code.BAD_REQUEST,  # one tensor only, args_structure names two
    "fp32/errors_unary/6.0": Code.BAD_REQUEST,  # 2-D hidden states
    "fp32/errors_unary/8.0": Code.BAD_REQUEST,  # points is a string
    "fp32/errors_unary/9.0": Code.BAD_REQUEST,  # wrong hidden size
    "fp32/errors_unary/10.0": Code.BAD_REQUEST,  # backward of two tensors
    # Stock executes blocks in any order; we do not.
    "fp32/forward_tolerant_requests/6.0": Code.BAD_REQUEST,
    "fp32/session_single_block_reversed_chain/1.1": Code.BAD_REQUEST,
}


def select(*rpcs: str, from_client: bool, kind: str = "message") -> list[Message]:
    return [m for m in recordings.messages() if m.rpc in rpcs and m.from_client is from_client and m.kind == kind]


def requests() -> list[Message]:
    return select("rpc_forward", "rpc_backward", "rpc_inference", from_client=True)


@pytest.mark.parametrize("message", [m for m in recordings.messages() if m.decoded.get("type") in ENVELOPES], ids=str)
def test_every_recorded_envelope_reads_as_its_decoded_form(message: Message) -> None:
    envelope = read_envelope(message.body)
    decoded = message.decoded
    assert envelope.uid == decoded.get("uid", "")
    assert plain(unpack(envelope.metadata or b"\x80", object)) == (decoded["metadata"] or {})
    seen = [
        {
            "shape": list(raw.size),
            "dtype": raw.dtype,
            "compression": raw.compression,
            "requires_grad": False,
            "chunks": raw.chunks,
            "buffer_bytes": len(raw.buffer),
        }
        for raw in envelope.tensors
    ]
    assert seen == decoded["tensors"]
    assert b"".join(write_envelope(envelope)) == message.body


def test_recordings_are_read_at_all() -> None:
    assert len(requests()) > 150
    assert {str(m) for m in requests()} >= REFUSED.keys()


@pytest.mark.parametrize("message", [m for m in requests() if str(m) in REFUSED], ids=str)
def test_a_bad_request_is_refused_with_its_code(message: Message) -> None:
    decode = partial(decode_request, is_backward=message.rpc == "rpc_backward")
    if message.rpc == "rpc_inference":
        decode = partial(decode_step, first=message.is_first)
    with pytest.raises(RemoteError) as refusal:
        decode(message.body, limits=LIMITS)
    assert refusal.value.code is REFUSED[str(message)]


def test_a_step_reply_of_another_shape_is_refused() -> None:
    message = select("rpc_inference", from_client=False)[0]
    with pytest.raises(RemoteError, match="expected") as refusal:
        decode_step_reply(message.body, like=(*message.decoded["tensors"][0]["shape"][:2], 65))
    assert refusal.value.code is Code.BAD_REPLY


@pytest.mark.parametrize(
    "case", ["forward_stream_forced", "forward_stream_split", "forward_stream_large", "backward_stream_split"]
)
def test_parts_of_a_call_are_joined_and_cut_again(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    part_bytes = 1024 if case.endswith("_split") else calls.PART_BYTES
    monkeypatch.setattr(calls, "PART_BYTES", part_bytes)
    recorded = recordings.of_case("fp32", case)
    for stream in {message.stream for message in recorded}:
        sent = [m.body for m in recorded if m.stream == stream and m.from_client and m.kind == "message"]
        request = read_call(
            joined(sent, LIMITS.max_frame_bytes), is_backward=case.startswith("backward"), limits=LIMITS
        )
        assert [b"".join(pieces) for pieces in split(request_envelope(request))] == sent
        received = [m.body for m in recorded if m.stream == stream and not m.from_client]
        reply = read_reply(joined(received, most_reply_bytes(request)), request)
        if part_bytes >= max(map(len, received)):
            assert [b"".join(pieces) for pieces in split(reply_envelope(reply))] == received


def joined(bodies: list[bytes], max_bytes: int) -> Envelope:
    parts = PartsOfCall(max_bytes, Code.BAD_REQUEST)
    for body in bodies:
        parts.add(body)
    return parts.joined


@pytest.mark.parametrize("message", select("rpc_info", from_client=True), ids=str)
def test_an_info_request_names_its_blocks(message: Message) -> None:
    named = decode_info_request(message.body, num_blocks=100)
    assert (block_uids(*named) if named else "") == message.decoded["uid"]


@pytest.mark.parametrize("message", select("rpc_info", from_client=False), ids=str)
def test_an_info_answer_is_written_byte_for_byte(message: Message) -> None:
    recorded = message.decoded["info"]
    dtype = "bfloat16" if message.group == "bf16" else "float32"
    info = ServerInfo(recorded["version"], recorded["cache_tokens_available"], 64, dtype)
    assert encode_info(info, num_blocks=1, with_schema="outputs_schema" in recorded) == message.body


@pytest.mark.parametrize("message", select("rpc_check", from_client=False), ids=str)
def test_a_reachability_answer_is_written_byte_for_byte(message: Message) -> None:
    assert encode_check_reply(message.decoded["available"]) == message.body
