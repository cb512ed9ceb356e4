"""Asks a server what a new session would cost there now."""

from __future__ import annotations

from msgspec.structs import replace

from potluck.p2p.network import Host
from potluck.protocol.messages import Quote, QuoteRequest
from potluck.protocol.records import LiveServer
from potluck.wire.message import decode_reply, encode
from potluck.wire.protocols import QUOTE

_TIMEOUT_S = 1.0  # a server that takes longer is not a good choice


async def quoted(host: Host, server: LiveServer, request: QuoteRequest) -> LiveServer:
    """Return a server with its present load. Raises RemoteError: UNREACHABLE, or why it refuses such a session."""
    quote = decode_reply(await host.call(server.peer_id, QUOTE, encode(request), timeout_s=_TIMEOUT_S), Quote)
    heartbeat = replace(
        server.heartbeat,
        batch=quote.batch,
        step_ms=quote.step_ms,
        queue_ms=quote.queue_ms,
        cache_tokens_left=quote.free_tokens,
        queued_tokens=0,
    )
    return LiveServer(server.record, heartbeat)
