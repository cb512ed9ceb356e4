"""Forward and backward without a session, and their answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from torch import Tensor

from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import BackwardRequest, Caller, ForwardRequest, TensorReply
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import target_fields
from potluck.wire.limits import Limits
from potluck.wire.message import (
    MAX_FIELD_BYTES,
    Message,
    PartJoiner,
    RequestParts,
    Role,
    split,
    write_answer,
    write_message,
)
from potluck.wire.packing import CODEC
from potluck.wire.tensors import read_choices, read_floats, read_hidden, read_prompts, to_wire

_LARGEST: Final = 1e30  # of margins and gaps, which may be infinite elsewhere

CallRequest = ForwardRequest | BackwardRequest


def encode_call(request: CallRequest) -> Iterator[tuple[Buffer, ...]]:
    """Yield the request's frames, each in pieces."""
    tensors = [to_wire(Role.HIDDEN, request.hidden, request.packed)]
    if isinstance(request, BackwardRequest):
        tensors.append(to_wire(Role.GRAD, request.grad, request.packed_grad))
    if request.prompts is not None:
        tensors.append(to_wire(Role.PROMPTS, request.prompts))
    fields = target_fields(request.prefix, request.span, request.caller)
    if isinstance(request, ForwardRequest) and request.is_trained:
        fields[read.Field.IS_TRAINED] = True
    if isinstance(request, ForwardRequest):
        if request.report:
            fields[read.Field.REPORT] = request.report
        if request.last_tokens is not None:
            fields[read.Field.ANSWER_TOKENS] = request.last_tokens
        if request.choices is not None:
            tensors.append(to_wire(Role.CHOICES, request.choices))
            fields[read.Field.MARGIN] = min(request.margin, _LARGEST)
    if request.packs:
        fields[read.Field.CODEC] = CODEC
    return split(write_message(tensors, fields))


class RequestJoiner(RequestParts):
    """Reads a request of one frame or more, and writes its answer, at the server."""

    def __init__(self, kind: type[ForwardRequest] | type[BackwardRequest], limits: Limits) -> None:
        self._kind = kind
        self._limits = limits
        super().__init__(max_bytes=limits.max_frame_bytes)

    @refusing(Code.BAD_REQUEST)
    def target(self) -> tuple[str, Span, Caller]:
        """Return prefix, blocks and caller, which the first frame says. Raises RemoteError."""
        return read.read_target(self.first().fields, num_blocks=self._limits.num_blocks)

    @refusing(Code.BAD_REQUEST)
    def request(self) -> CallRequest:
        """Return the request, once it is whole. Raises RemoteError."""
        message, limits = self.whole(), self._limits
        prefix, span, caller = self.target()
        hidden = read_hidden(message.tensor(Role.HIDDEN), limits)
        prompts = read_prompts(message.tensor(Role.PROMPTS), hidden, num_blocks=len(span), limits=limits)
        packs = read.integer(message.fields, read.Field.CODEC) == CODEC
        if self._kind is ForwardRequest:
            is_trained = read.flag(message.fields, read.Field.IS_TRAINED)
            tokens = hidden.shape[1]
            choices = read_choices(message.tensor(Role.CHOICES), tokens, most_layers=len(span))
            if choices is not None and hidden.shape[0] != 1:
                raise WireError("choices of experts are for one row")
            return ForwardRequest(
                *(prefix, span, hidden, prompts, caller, is_trained),
                packs=packs,
                report=read.short_blob(message.fields, read.Field.REPORT, read.MAX_REPORT_BYTES),
                last_tokens=read.integer(message.fields, read.Field.ANSWER_TOKENS, most=tokens),
                choices=choices,
                margin=read.number(message.fields, read.Field.MARGIN) or 0.0,
            )
        grad = message.tensor(Role.GRAD)
        if grad is None:
            raise WireError("a backward without a gradient")
        return BackwardRequest(
            prefix, span, hidden, read_floats(grad, tuple(hidden.shape)), prompts, caller, packs=packs
        )

    def encode_reply(self, reply: TensorReply) -> Iterator[tuple[Buffer, ...]]:
        """Yield the answer's frames, each in pieces."""
        packed = (reply.packed, None)
        tensors = [to_wire(*each) for each in zip(_REPLY_ROLES, reply.tensors, packed, strict=False)]
        if reply.adapter_grad is not None:
            tensors.append(to_wire(Role.ADAPTER, reply.adapter_grad))
        extra: dict[int, object] = {} if reply.gap is None else {read.Field.GAP: min(reply.gap, _LARGEST)}
        return split(write_answer(tensors, reply.timing, extra=extra))


class ReplyJoiner:
    """Reads the answer to `request`, of one frame or more, at the client."""

    def __init__(self, request: CallRequest) -> None:
        self._shapes = reply_shapes(request)
        private = request.caller.private if isinstance(request, BackwardRequest) else None
        self._adapter_values = 0 if private is None else private.num_values
        values = sum(map(math.prod, self._shapes)) + self._adapter_values
        self._parts = PartJoiner(max_bytes=4 * values + 2 * MAX_FIELD_BYTES)

    @refusing(Code.BAD_REPLY)
    def add(self, frame: Buffer) -> bool:
        """Take the next frame and return whether the answer is whole. Raises RemoteError."""
        return self._parts.add(frame)

    @refusing(Code.BAD_REPLY)
    def reply(self) -> TensorReply:
        """Return the answer, once it is whole. Raises RemoteError."""
        message = self._parts.whole()
        tensors = [message.tensor(role) for role, _ in zip(_REPLY_ROLES, self._shapes, strict=False)]
        read_tensors = tuple(
            read_floats(tensor, shape)
            for tensor, shape in zip(tensors, self._shapes, strict=True)
            if tensor is not None
        )
        if len(read_tensors) != len(self._shapes):
            raise WireError(f"an answer of {len(read_tensors)} tensors, expected {len(self._shapes)}")
        gap = read.number(message.fields, read.Field.GAP)
        return TensorReply(read_tensors, message.timing(), self._adapter_grad(message), gap=gap)

    def _adapter_grad(self, message: Message) -> Tensor | None:
        if not self._adapter_values:
            return None
        tensor = message.tensor(Role.ADAPTER)
        if tensor is None:
            raise WireError("an answer without the adapter's gradient")
        return read_floats(tensor, (self._adapter_values,))


_REPLY_ROLES: Sequence[Role] = (Role.HIDDEN, Role.PROMPTS)


def reply_shapes(request: CallRequest) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of the tensors that answer the request."""
    rows, tokens, size = request.hidden.shape
    if isinstance(request, BackwardRequest):
        prompts = () if request.prompts is None else (tuple(request.prompts.shape),)
        return (rows, tokens, size), *prompts
    return ((rows, tokens if request.last_tokens is None else request.last_tokens, size),)
