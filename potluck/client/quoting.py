"""Asks several servers at once what a new session would cost there now.

Servers of other implementations are not asked, and taken at their record.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from potluck.p2p.network import Host
from potluck.protocol.blocks import PeerId, Span
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Caller, Quote, QuoteRequest
from potluck.protocol.records import Heartbeat, LiveServer, ServerRecord
from potluck.wire.protocols import QUOTE
from potluck.wire.questions import decode_quote, encode_quote_request

_TIMEOUT_S = 1.0  # a server that takes longer is not a good choice


@dataclass(slots=True)
class Quotes:
    """The answers of several servers.

    Attributes:
        servers: those that may serve, with their present load if they answered.
        rtts_s: response times.
        silent: servers that did not answer.
        refused: servers that refuse such a session, with the reasons.
    """

    servers: list[LiveServer] = field(default_factory=list)
    rtts_s: dict[PeerId, float] = field(default_factory=dict)
    silent: set[PeerId] = field(default_factory=set)
    refused: dict[PeerId, RemoteError] = field(default_factory=dict)


class Quoting:
    """Asks servers for quotes. Lives in the client's event loop."""

    def __init__(self, host: Host, prefix: str, caller_for: Callable[[ServerRecord, Span], Caller]) -> None:
        self._host = host
        self._prefix = prefix
        self._caller_for = caller_for

    async def ask(self, servers: Iterable[LiveServer], wanted: Span, *, rows: int, tokens: int) -> Quotes:
        """Ask all servers about their part of `wanted`. Never raises for what they do.

        Args:
            tokens: per row, for which they should reserve memory during the next seconds.
        """
        quotes = Quotes()
        await asyncio.gather(*(self._ask(server, wanted, rows, tokens, quotes) for server in servers))
        return quotes

    async def _ask(self, server: LiveServer, wanted: Span, rows: int, tokens: int, quotes: Quotes) -> None:
        record, began_s = server.record, time.monotonic()
        if not record.is_ours:
            quotes.servers.append(server)
            return
        span = Span(max(wanted.start, record.span.start), min(wanted.end, record.span.end))
        request = QuoteRequest(self._prefix, span, rows, tokens, self._caller_for(record, span))
        try:
            body = encode_quote_request(request)
            answer = await self._host.call(server.peer_id, QUOTE, body, timeout_s=_TIMEOUT_S)
            quote = decode_quote(answer)
        except RemoteError as error:
            if error.code is Code.UNREACHABLE:
                quotes.silent.add(server.peer_id)
                quotes.servers.append(server)
            else:
                quotes.refused[server.peer_id] = error
            return
        quotes.rtts_s[server.peer_id] = time.monotonic() - began_s
        quotes.servers.append(LiveServer(record, _with_quote(server, quote)))


def _with_quote(server: LiveServer, quote: Quote) -> Heartbeat:
    return replace(
        server.heartbeat,
        batch=quote.batch,
        step_ms=quote.step_ms,
        queue_ms=quote.queue_ms,
        cache_tokens_left=quote.free_tokens,
        queued_tokens=0,
    )
