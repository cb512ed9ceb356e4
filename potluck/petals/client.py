"""Forward and backward at servers that run Petals."""

from __future__ import annotations

from potluck.p2p.network import Host
from potluck.petals import protocols
from potluck.petals.stateless import (
    PartsOfCall,
    decode_reply,
    fits_unary,
    most_reply_bytes,
    read_reply,
    request_envelope,
    split,
    whole,
)
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code
from potluck.protocol.messages import BackwardRequest, TensorReply
from potluck.wire.calls import CallRequest
from potluck.wire.message import MAX_FIELD_BYTES


async def call(host: Host, peer: PeerId, request: CallRequest, *, timeout_s: float) -> TensorReply:
    """Raises RemoteError."""
    is_backward, envelope = isinstance(request, BackwardRequest), request_envelope(request)
    if fits_unary(request):
        protocol = protocols.BACKWARD if is_backward else protocols.FORWARD
        return decode_reply(await host.call(peer, protocol, whole(envelope), timeout_s=timeout_s), request)
    protocol = protocols.BACKWARD_STREAM if is_backward else protocols.FORWARD_STREAM
    most = most_reply_bytes(request)
    parts = PartsOfCall(most, Code.BAD_REPLY)
    stream = await host.open_stream(peer, protocol, timeout_s=timeout_s, max_frame_bytes=most + MAX_FIELD_BYTES)
    try:
        for part in split(envelope):
            await stream.send(*part)
        await stream.end()
        while (body := await stream.receive()) is not None:
            parts.add(body)
    finally:
        await stream.close()
    return read_reply(parts.joined, request)
