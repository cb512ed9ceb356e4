"""Calls without a session: forward, backward, quotes, choices of experts, and uploads of private adapters.

A server reads the places of an adapter before it takes in any of its values.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Protocol

import msgspec
from torch import Tensor

from potluck.protocol.adapters import AdapterLayout, AdapterPlace, PrefixPlace
from potluck.protocol.blocks import Span
from potluck.protocol.codes import Code
from potluck.protocol.messages import (
    AdapterUpload,
    BackwardRequest,
    Caller,
    Choices,
    ForwardRequest,
    QuoteRequest,
    Target,
    TensorReply,
)
from potluck.protocol.values import Buffer
from potluck.wire.errors import WireError, refusing
from potluck.wire.message import MAX_FIELD_BYTES, Limits, PartJoiner, decode
from potluck.wire.tensors import check_choices, check_floats, check_inputs, decode_tensors, encode_parts, values_of

CallRequest = ForwardRequest | BackwardRequest


class CallCoding(Protocol):
    """A reader of one stateless call and writer of its answer; `RequestJoiner` is that of Potluck."""

    @property
    def num_bytes(self) -> int: ...

    def add(self, frame: Buffer) -> bool: ...

    def target(self) -> tuple[str, Span, Caller]: ...

    def request(self) -> CallRequest: ...

    def encode_reply(self, reply: TensorReply) -> Iterator[tuple[Buffer, ...]]: ...


class RequestJoiner(PartJoiner):
    """The reader of a request of one frame or more, and writer of its answer, at the server."""

    def __init__(self, kind: type[ForwardRequest] | type[BackwardRequest], limits: Limits) -> None:
        self._kind: type[CallRequest] = kind
        self._limits = limits
        super().__init__(Code.BAD_REQUEST, max_bytes=limits.max_frame_bytes)

    @refusing(Code.BAD_REQUEST)
    def target(self) -> tuple[str, Span, Caller]:
        """Return prefix, blocks and caller, which the first frame says. Raises RemoteError."""
        target = self.read_first(Target)
        self._limits.check_span(target.span)
        return target.prefix, target.span, target.caller

    @refusing(Code.BAD_REQUEST)
    def request(self) -> CallRequest:
        """Return the request, once it is whole. Raises RemoteError."""
        limits = self._limits
        request = decode_tensors(self.body, self._kind, most_packed=limits.max_values)
        limits.check_span(request.span)
        check_inputs(request.hidden, request.prompts, len(request.span), limits)
        rows, tokens, _ = shape = tuple(request.hidden.shape)
        if isinstance(request, BackwardRequest):
            check_floats(request.grad, shape)
            return request
        if (request.last_tokens or 0) > tokens:
            raise WireError(f"the last {request.last_tokens} of {tokens} tokens")
        if request.choices is not None:
            check_choices(request.choices, tokens, len(request.span))
            if rows != 1:
                raise WireError("choices of experts are for one row")
        return request

    def encode_reply(self, reply: TensorReply) -> Iterator[tuple[Buffer, ...]]:
        """Yield the answer's frames, each in pieces."""
        return encode_parts(reply)


class ReplyJoiner(PartJoiner):
    """The reader of the answer to `request`, of one frame or more, at the client."""

    def __init__(self, request: CallRequest) -> None:
        self._shapes = reply_shapes(request)
        private = request.caller.private if isinstance(request, BackwardRequest) else None
        self._adapter_values = 0 if private is None else private.num_values
        values = sum(map(math.prod, self._shapes)) + self._adapter_values
        super().__init__(Code.BAD_REPLY, max_bytes=4 * values + 2 * MAX_FIELD_BYTES)

    @refusing(Code.BAD_REPLY)
    def reply(self) -> TensorReply:
        """Return the answer, once it is whole. Raises RemoteError."""
        reply = decode_tensors(self.body, TensorReply, most_packed=math.prod(self._shapes[0]))
        if len(reply.tensors) != len(self._shapes):
            raise WireError(f"an answer of {len(reply.tensors)} tensors, expected {len(self._shapes)}")
        for tensor, shape in zip(reply.tensors, self._shapes, strict=True):
            check_floats(tensor, shape)
        if self._adapter_values:
            if reply.adapter_grad is None:
                raise WireError("an answer without the adapter's gradient")
            check_floats(reply.adapter_grad, (self._adapter_values,))
        return reply


def reply_shapes(request: CallRequest) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the tensors that answer the request."""
    rows, tokens, size = request.hidden.shape
    if isinstance(request, BackwardRequest):
        prompts = () if request.prompts is None else (tuple(request.prompts.shape),)
        return (rows, tokens, size), *prompts
    return ((rows, tokens if request.last_tokens is None else request.last_tokens, size),)


@refusing(Code.BAD_REQUEST)
def decode_quote_request(body: Buffer, *, limits: Limits) -> QuoteRequest:
    """Read the question for a quote. Raises RemoteError BAD_REQUEST."""
    request = decode(body, QuoteRequest)
    limits.check_span(request.span)
    if request.rows > limits.max_batch_tokens or request.tokens > limits.max_length:
        raise WireError(f"a session of {request.rows} rows with {request.tokens} tokens")
    return request


@refusing(Code.BAD_REPLY)
def decode_choices(body: Buffer, tokens: int, *, num_layers: int) -> Tensor:
    """Return [tokens, layers, choices] int16. Raises RemoteError BAD_REPLY."""
    experts = decode_tensors(body, Choices).experts
    check_choices(experts, tokens, num_layers)
    return experts


class _Start(Target, frozen=True, kw_only=True):
    """The first frame of an upload."""

    layout: AdapterLayout


def digest_of(layout: AdapterLayout, values: Buffer) -> bytes:
    """Return what an adapter is called by: 32 bytes that change with its places and values."""
    digest = hashlib.sha256(msgspec.msgpack.encode(layout))
    digest.update(values)
    return digest.digest()


class UploadJoiner(PartJoiner):
    """The reader of an upload of one frame or more, at the server."""

    def __init__(self, limits: Limits, *, max_bytes: int) -> None:
        """Set the limits; `max_bytes` is that of the values."""
        self._limits = limits
        super().__init__(Code.BAD_REQUEST, max_bytes=max_bytes + 2 * MAX_FIELD_BYTES)

    @refusing(Code.BAD_REQUEST)
    def start(self) -> tuple[str, Span, Caller, AdapterLayout]:
        """Return what the first frame says: prefix, blocks, caller and places. Raises RemoteError."""
        start = self.read_first(_Start)
        self._limits.check_span(start.span)
        _check_layout(start.layout, start.span)
        private = start.caller.private
        if private is None or private.num_values != start.layout.num_values:
            raise WireError(f"an adapter of {start.layout.num_values} values that says otherwise of itself")
        return start.prefix, start.span, start.caller, start.layout

    @refusing(Code.BAD_REQUEST)
    def upload(self) -> AdapterUpload:
        """Return the upload, once it is whole. Raises RemoteError."""
        self.start()
        upload = decode_tensors(self.body, AdapterUpload)
        check_floats(upload.values, (upload.layout.num_values,))
        assert upload.caller.private is not None
        if digest_of(upload.layout, values_of(upload.values)) != upload.caller.private.digest:
            raise WireError("an adapter whose values do not belong to its digest")
        return upload


def _check_layout(layout: AdapterLayout, span: Span) -> None:
    keys = [(place.block, place.name if isinstance(place, AdapterPlace) else "") for place in layout.places]
    if any(block not in span for block, _ in keys):
        raise WireError("a place outside of the blocks")
    if any(block > following for (block, _), (following, _) in pairwise(keys)):
        raise WireError("the places are not in the order of their blocks")
    if len(set(keys)) != len(keys):
        raise WireError("a layer is changed twice")
    prefixes = {place.block: place.tokens for place in layout.places if isinstance(place, PrefixPlace)}
    if prefixes and (prefixes.keys() != set(span) or len(set(prefixes.values())) != 1):
        raise WireError("a prefix has as many tokens in each block")
