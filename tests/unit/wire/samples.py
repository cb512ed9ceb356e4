"""One message of each kind, with the reader that its receiver uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace, PrivateId
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import (
    AdapterUpload,
    Awaited,
    BackwardRequest,
    Caller,
    ForwardRequest,
    PushLink,
    Quote,
    QuoteRequest,
    ServerInfo,
    SessionOpening,
    StepReply,
    StepRequest,
    TensorReply,
    Timing,
)
from potluck.protocol.receipts import COUNTERSIGNED_BYTES, DELEGATION_BYTES, RECEIPT_BYTES, TAB_BYTES, VOUCHER_BYTES
from potluck.wire import questions
from potluck.wire.adapters import UploadJoiner, encode_upload
from potluck.wire.adapters import digest_of as adapter_digest
from potluck.wire.calls import CallRequest, ReplyJoiner, RequestJoiner, encode_call
from potluck.wire.dial_back import DialBack, decode_dial_back, decode_reachable, encode_dial_back, encode_reachable
from potluck.wire.limits import Limits
from potluck.wire.pushes import (
    DIGEST_BYTES,
    SECRET_BYTES,
    Pushed,
    decode_push,
    decode_push_opening,
    digest_of,
    encode_push,
    encode_push_opening,
)
from potluck.wire.refusals import encode_refusal
from potluck.wire.sessions import decode_step, decode_step_reply, encode_step, encode_step_reply
from potluck.wire.tensors import values_of

LIMITS = Limits(hidden_size=4, num_blocks=8, max_batch_tokens=16, max_length=32, max_frame_bytes=1 << 16)
HIDDEN = torch.arange(24.0).view(2, 3, 4)
PROMPTS = torch.ones(2, 1, 2, 4)
CALLER = Caller("lora@1", "d" * 16, b"d" * DELEGATION_BYTES, (b"v" * VOUCHER_BYTES,))
RECEIPT, COUNTERSIGNED = b"r" * RECEIPT_BYTES, b"c" * COUNTERSIGNED_BYTES
OPENING = SessionOpening("m", Span(2, 4), 16, "id", 1.5, CALLER, exact=True, packs=True, resume=True)
TIMING = Timing(1.5, 2.5, 100, True, b"t" * TAB_BYTES, COUNTERSIGNED)
FORWARD = ForwardRequest("m", Span(2, 4), HIDDEN, PROMPTS, CALLER)
TRAINED = ForwardRequest("m", Span(2, 4), HIDDEN, is_trained=True)
BACKWARD = BackwardRequest("m", Span(2, 4), HIDDEN, HIDDEN + 1, PROMPTS, CALLER)
LAYOUT = AdapterLayout((AdapterPlace(2, "mlp.up", 1, 4, 3, 0.5), AdapterPlace(3, "mlp.up", 2, 4, 3, 2.0)))
VALUES = torch.arange(21.0)
PRIVATE = Caller(private=PrivateId(adapter_digest(LAYOUT, values_of(VALUES)), 21))
UPLOAD = AdapterUpload("m", Span(2, 4), LAYOUT, VALUES, PRIVATE)
PREFIX = AdapterLayout((PrefixPlace(2, 2, 1, 4, 3), *LAYOUT.places[:1], PrefixPlace(3, 2, 1, 4, 3)))
PREFIX_VALUES = torch.arange(35.0)
PREFIX_UPLOAD = AdapterUpload(
    "m",
    Span(2, 4),
    PREFIX,
    PREFIX_VALUES,
    Caller(private=PrivateId(adapter_digest(PREFIX, values_of(PREFIX_VALUES)), 35)),
)
PRIVATE_BACKWARD = BackwardRequest("m", Span(2, 4), HIDDEN, HIDDEN + 1, None, PRIVATE)
ANSWER = StepReply(HIDDEN, TIMING)
SECRET = b"s" * SECRET_BYTES
LINK = PushLink(PeerId("12D3KooWB"), SECRET)
SPARE_ANSWER = StepReply(HIDDEN, Timing(), yields=True)
PUSHED_ANSWER = StepReply(HIDDEN, Timing(), can_push=True, was_pushed=True, input_digest=b"h" * DIGEST_BYTES)
QUOTE_REQUEST = QuoteRequest("m", Span(2, 4), 2, 16, CALLER)
QUOTE = Quote(3, 10.0, 1.0, 1000, 100)
INFO = ServerInfo("1.2", 100, 64, "float32", 2048, 4096)
DIAL = DialBack(("/ip4/1.2.3.4/tcp/1", ""), "/ip4/5.6.7.8/tcp/2")
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
    joiner = UploadJoiner(num_blocks=LIMITS.num_blocks, max_bytes=1 << 10)
    if not joiner.add(body):
        raise RemoteError(Code.BAD_REQUEST, "more parts are to come")
    return joiner.upload()


def read_reply(request: CallRequest, body: bytes) -> TensorReply:
    joiner = ReplyJoiner(request)
    if not joiner.add(body):
        raise RemoteError(Code.BAD_REPLY, "more parts are to come")
    return joiner.reply()


def step(request: StepRequest, *, first: bool = False) -> Sample:
    body = b"".join(encode_step(request))
    return Sample(request, body, lambda data: decode_step(data, limits=LIMITS, first=first))


def reply(value: TensorReply, request: CallRequest) -> Sample:
    (frame,) = RequestJoiner(type(request), LIMITS).encode_reply(value)
    return Sample(value, b"".join(frame), lambda body: read_reply(request, body), Code.BAD_REPLY)


def answer(value: Any, body: bytes, read: Callable[[bytes], Any]) -> Sample:
    return Sample(value, body, read, Code.BAD_REPLY)


SAMPLES = {
    "opening": step(StepRequest(HIDDEN, OPENING, PROMPTS, torch.tensor([1, 0]), 0), first=True),
    "step": step(StepRequest(HIDDEN, start_from_position=7)),
    "step without a position": step(StepRequest(HIDDEN.bfloat16())),
    "step with all": step(StepRequest(HIDDEN.half(), None, PROMPTS, torch.tensor([1, 1]), 3, RECEIPT)),
    "empty step": step(StepRequest(HIDDEN[:, :0])),
    "closing": step(StepRequest(None)),
    "opening for pushes": step(StepRequest(HIDDEN, OPENING, pushed_by=LINK), first=True),
    "step of a replay": step(StepRequest(HIDDEN, start_from_position=5, answer_tokens=0)),
    "step of a spare session": step(StepRequest(HIDDEN, OPENING, None, None, 0, is_spare=True), first=True),
    "step with links": step(StepRequest(HIDDEN, push_number=3, push_to=LINK, pushed_by=LINK)),
    "announced step": step(
        StepRequest(None, start_from_position=7, receipt=RECEIPT, awaited=Awaited(4, 2, 3), push_number=4)
    ),
    "step instead of a push": step(StepRequest(HIDDEN, awaited=Awaited(4, 2, 3))),
    "answer to a pushed step": answer(
        PUSHED_ANSWER,
        b"".join(encode_step_reply(PUSHED_ANSWER)),
        lambda body: decode_step_reply(body, like=(2, 3, 4)),
    ),
    "answer of a spare session": answer(
        SPARE_ANSWER,
        b"".join(encode_step_reply(SPARE_ANSWER)),
        lambda body: decode_step_reply(body, like=(2, 3, 4)),
    ),
    "push opening": Sample(SECRET, encode_push_opening(SECRET), decode_push_opening),
    "push": Sample(
        Pushed(4, HIDDEN, digest_of(HIDDEN)),
        b"".join(encode_push(4, HIDDEN)),
        lambda body: decode_push(body, limits=LIMITS),
    ),
    "answer": answer(ANSWER, b"".join(encode_step_reply(ANSWER)), lambda body: decode_step_reply(body, like=(2, 3, 4))),
    "forward": Sample(FORWARD, b"".join(*encode_call(FORWARD)), lambda body: read_request(ForwardRequest, body)),
    "backward with a packed answer": Sample(
        replace(BACKWARD, packs=True),
        b"".join(*encode_call(replace(BACKWARD, packs=True))),
        lambda body: read_request(BackwardRequest, body),
    ),
    "forward with a packed answer": Sample(
        replace(FORWARD, packs=True),
        b"".join(*encode_call(replace(FORWARD, packs=True))),
        lambda body: read_request(ForwardRequest, body),
    ),
    "backward": Sample(BACKWARD, b"".join(*encode_call(BACKWARD)), lambda body: read_request(BackwardRequest, body)),
    "forward that is trained": Sample(
        TRAINED, b"".join(*encode_call(TRAINED)), lambda body: read_request(ForwardRequest, body)
    ),
    "reply to a forward": reply(TensorReply((HIDDEN,), TIMING), FORWARD),
    "reply to a backward": reply(TensorReply((HIDDEN, PROMPTS), Timing()), BACKWARD),
    "private adapter": Sample(UPLOAD, b"".join(*encode_upload(UPLOAD)), read_upload),
    "trained keys and values": Sample(PREFIX_UPLOAD, b"".join(*encode_upload(PREFIX_UPLOAD)), read_upload),
    "backward with a private adapter": Sample(
        PRIVATE_BACKWARD, b"".join(*encode_call(PRIVATE_BACKWARD)), lambda body: read_request(BackwardRequest, body)
    ),
    "reply with an adapter's gradient": reply(TensorReply((HIDDEN,), Timing(), VALUES), PRIVATE_BACKWARD),
    "quote request": Sample(
        QUOTE_REQUEST,
        questions.encode_quote_request(QUOTE_REQUEST),
        lambda body: questions.decode_quote_request(body, limits=LIMITS),
    ),
    "quote": answer(QUOTE, questions.encode_quote(QUOTE), questions.decode_quote),
    "info": answer(INFO, questions.encode_info(INFO), questions.decode_info),
    "receipt": Sample(RECEIPT, questions.encode_receipt(RECEIPT), questions.decode_receipt),
    "countersigned": answer(
        COUNTERSIGNED, questions.encode_countersigned(COUNTERSIGNED), questions.decode_countersigned
    ),
    "dial back": Sample(DIAL, encode_dial_back(DIAL), decode_dial_back),
    "reachable": answer(True, encode_reachable(True), decode_reachable),
}
