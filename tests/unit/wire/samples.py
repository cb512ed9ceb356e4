"""One message of each kind, with the reader that its receiver uses."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from msgspec import Struct

from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace, PrivateId
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    DIGEST_BYTES,
    SECRET_BYTES,
    AdapterUpload,
    Awaited,
    BackwardRequest,
    Caller,
    Choices,
    ChoicesRequest,
    ForwardRequest,
    Pushed,
    PushLink,
    PushOpening,
    Quote,
    QuoteRequest,
    SessionOpening,
    Settlement,
    StepReply,
    StepRequest,
    TensorReply,
    Timing,
)
from potluck.protocol.receipts import RECEIPT_BYTES, TAB_BYTES
from potluck.wire.calls import (
    CallRequest,
    ReplyJoiner,
    RequestJoiner,
    UploadJoiner,
    decode_choices,
    decode_quote_request,
)
from potluck.wire.calls import digest_of as adapter_digest
from potluck.wire.errors import encode_refusal
from potluck.wire.message import Limits, decode_reply, decode_request, encode, write_message
from potluck.wire.protocols import DialBack, PieceRequest, Reachable
from potluck.wire.sessions import decode_push, decode_step, decode_step_reply
from potluck.wire.tensors import encode_tensors, values_of

LIMITS = Limits(hidden_size=4, num_blocks=8, max_batch_tokens=16, max_length=32, max_frame_bytes=1 << 16)
HIDDEN = torch.arange(24.0).view(2, 3, 4)
PROMPTS = torch.ones(2, 1, 2, 4)
CALLER = Caller("lora@1", "d" * 16)
RECEIPT = b"r" * RECEIPT_BYTES
OPENING = SessionOpening("m", Span(2, 4), 16, "id", 1.5, CALLER, exact=True, packs=True)
TIMING = Timing(1.5, 2.5, 100, True, b"t" * TAB_BYTES)
FORWARD = ForwardRequest("m", Span(2, 4), HIDDEN, PROMPTS, CALLER, packs=True)
EXPERTS = torch.tensor([[[1, 2]], [[-1, 3]]], dtype=torch.int16)
REPEATED = ForwardRequest(
    *("m", Span(2, 3), HIDDEN[:1, :2]), is_trained=True, last_tokens=1, choices=EXPERTS, margin=math.inf, report=b"r"
)
BACKWARD = BackwardRequest("m", Span(2, 4), HIDDEN, HIDDEN + 1, PROMPTS, CALLER, packs=True)
LAYOUT = AdapterLayout((AdapterPlace(2, "mlp.up", 1, 4, 3, 0.5), AdapterPlace(3, "mlp.up", 2, 4, 3, 2.0)))
PREFIX = AdapterLayout((PrefixPlace(2, 2, 1, 4, 3), *LAYOUT.places[:1], PrefixPlace(3, 2, 1, 4, 3)))


def upload_of(layout: AdapterLayout) -> AdapterUpload:
    values = torch.arange(float(layout.num_values))
    name = PrivateId(adapter_digest(layout, values_of(values)), layout.num_values)
    return AdapterUpload("m", Span(2, 4), layout, values, Caller(private=name))


UPLOAD = upload_of(LAYOUT)
PRIVATE_BACKWARD = BackwardRequest("m", Span(2, 4), HIDDEN, HIDDEN + 1, None, UPLOAD.caller)
ANSWER = StepReply(HIDDEN, TIMING)
SECRET = b"s" * SECRET_BYTES
LINK = PushLink(PeerId("12D3KooWB"), SECRET)

PUSHED_ANSWER = StepReply(HIDDEN, Timing(), can_push=True, was_pushed=True, input_digest=b"h" * DIGEST_BYTES)
QUOTE_REQUEST = QuoteRequest("m", Span(2, 4), 2, 16, CALLER)
PUSHED = Pushed(4, HIDDEN)
REFUSAL = encode_refusal(RemoteError(Code.BUSY, "full", retry_after_s=1.5))


@dataclass(frozen=True)
class Sample:
    value: Any
    body: bytes
    read: Callable[[bytes], Any]
    code: Code = Code.BAD_REQUEST  # of a refusal


def read_request(kind: type, body: bytes) -> CallRequest:
    joiner = RequestJoiner(kind, LIMITS)
    if not joiner.add(body):
        raise RemoteError(Code.BAD_REQUEST, "more parts are to come")
    return joiner.request()


def read_upload(body: bytes) -> AdapterUpload:
    joiner = UploadJoiner(LIMITS, max_bytes=1 << 10)
    if not joiner.add(body):
        raise RemoteError(Code.BAD_REQUEST, "more parts are to come")
    return joiner.upload()


def read_reply(request: CallRequest, body: bytes) -> TensorReply:
    joiner = ReplyJoiner(request)
    if not joiner.add(body):
        raise RemoteError(Code.BAD_REPLY, "more parts are to come")
    return joiner.reply()


def body_of(message: Struct) -> bytes:
    return b"".join(encode_tensors(message))


def raw(fields: object, values: bytes = b"") -> bytes:
    """A message that no peer of this version writes."""
    return write_message(msgspec.msgpack.encode(fields), len(values)) + values


def asked(value: Struct) -> Sample:
    """A request without tensors that depends on no model."""
    return Sample(value, encode(value), lambda body: decode_request(body, type(value)))


def answered(value: Struct) -> Sample:
    return Sample(value, encode(value), lambda body: decode_reply(body, type(value)), Code.BAD_REPLY)


def step(request: StepRequest, *, first: bool = False) -> Sample:
    return Sample(request, body_of(request), lambda data: decode_step(data, limits=LIMITS, first=first))


def step_reply(value: StepReply) -> Sample:
    return Sample(value, body_of(value), lambda body: decode_step_reply(body, like=(2, 3, 4)), Code.BAD_REPLY)


def call(value: CallRequest) -> Sample:
    return Sample(value, body_of(value), lambda body: read_request(type(value), body))


def upload(layout: AdapterLayout) -> Sample:
    value = upload_of(layout)
    return Sample(value, body_of(value), read_upload)


def reply(value: TensorReply, request: CallRequest) -> Sample:
    return Sample(value, body_of(value), lambda body: read_reply(request, body), Code.BAD_REPLY)


SAMPLES = {
    "opening": step(
        StepRequest(HIDDEN, OPENING, PROMPTS, torch.tensor([1, 0]), 0, is_spare=True, pushed_by=LINK), first=True
    ),
    "step": step(StepRequest(HIDDEN, start_from_position=7)),
    "step without a position": step(StepRequest(HIDDEN.bfloat16())),
    "step with all": step(StepRequest(HIDDEN.half(), None, PROMPTS, torch.tensor([1, 1]), 3, RECEIPT)),
    "step of a replay": step(StepRequest(HIDDEN, start_from_position=5, answer_tokens=0)),
    "step with links": step(StepRequest(HIDDEN, push_number=3, push_to=LINK, pushed_by=LINK)),
    "empty step": step(StepRequest(HIDDEN[:, :0])),
    "closing": step(StepRequest(None)),
    "taking back": step(StepRequest(None, start_from_position=7, receipt=RECEIPT)),
    "announced step": step(
        StepRequest(None, start_from_position=7, receipt=RECEIPT, awaited=Awaited(4, 2, 3), push_number=4)
    ),
    "step instead of a push": step(StepRequest(HIDDEN, awaited=Awaited(4, 2, 3))),
    "answer": step_reply(ANSWER),
    "answer to a pushed step": step_reply(PUSHED_ANSWER),
    "answer to a dropped step": step_reply(StepReply(HIDDEN[:, :0], is_dropped=True, takes_ahead=32)),
    "push opening": asked(PushOpening(SECRET)),
    "push": Sample(PUSHED, body_of(PUSHED), lambda body: decode_push(body, limits=LIMITS)),
    "forward": call(FORWARD),
    "forward that repeats choices": call(REPEATED),
    "backward": call(BACKWARD),
    "backward with a private adapter": call(PRIVATE_BACKWARD),
    "reply to a forward": reply(TensorReply((HIDDEN,), TIMING), FORWARD),
    "reply to a backward": reply(TensorReply((HIDDEN, PROMPTS), Timing()), BACKWARD),
    "private adapter": upload(LAYOUT),
    "trained keys and values": upload(PREFIX),
    "reply with an adapter's gradient": reply(TensorReply((HIDDEN,), Timing(), UPLOAD.values), PRIVATE_BACKWARD),
    "quote request": Sample(
        QUOTE_REQUEST, encode(QUOTE_REQUEST), lambda body: decode_quote_request(body, limits=LIMITS)
    ),
    "quote": answered(Quote(3, 10.0, 1.0, 1000, 100)),
    "question for choices": asked(ChoicesRequest("id", 1, 5)),
    "choices": Sample(
        EXPERTS, body_of(Choices(EXPERTS)), lambda body: decode_choices(body, 2, num_layers=1), Code.BAD_REPLY
    ),
    "receipt": asked(Settlement(RECEIPT)),
    "dial back": asked(DialBack(("/ip4/1.2.3.4/tcp/1", ""), "/ip4/5.6.7.8/tcp/2")),
    "reachable": answered(Reachable(True)),
    "question for a piece": asked(PieceRequest(bytes(32), "model.safetensors", 3)),
}
