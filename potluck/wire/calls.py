"""Calls without a session: forward, backward, quotes and choices of experts."""

from __future__ import annotations

import math
from collections.abc import Iterator

from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import (
    BackwardRequest,
    Caller,
    Choices,
    ForwardRequest,
    QuoteRequest,
    Target,
    TensorReply,
)
from potluck.wire.errors import WireError, refusing
from potluck.wire.limits import Limits
from potluck.wire.message import MAX_FIELD_BYTES, PartJoiner, decode
from potluck.wire.tensors import check_choices, check_floats, check_inputs, decode_tensors, encode_parts

CallRequest = ForwardRequest | BackwardRequest


class RequestJoiner(PartJoiner):
    """Reads a request of one frame or more, and writes its answer, at the server."""

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
    """Reads the answer to `request`, of one frame or more, at the client."""

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
    """Raises RemoteError BAD_REQUEST."""
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
