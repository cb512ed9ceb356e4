"""Quotes: what a session would cost here now, asked by clients that compare a few routes before they open one.

A quote passes the same checks as the opening it is about, computes nothing and keeps memory for two seconds, so that
what was promised is still there when the client comes. Rows that were quoted count as load for those who ask next; so
clients that ask at the same time do not all come to the same server.
"""

from __future__ import annotations

import math
import time

from potluck.blocks.pages import PAGE_TOKENS, pages_of
from potluck.protocol.blocks import PeerId
from potluck.protocol.messages import Quote, QuoteRequest
from potluck_engine.span_state import SpanState

_COMING = 0.25  # of the rows that are quoted: clients ask for several routes and take one


def quote(state: SpanState, request: QuoteRequest, peer: PeerId) -> Quote:
    """Raises RemoteError, as the opening of such a session would."""
    state.admission.check(request.prefix, request.span, request.caller, peer)
    now = time.monotonic()
    paging, load = state.stage.paging, state.load(now)
    reservations, per_page = paging.admission.reservations, paging.pages_per_token_page
    expected_rows, others = reservations.rows(now), reservations.pages(now)
    free = state.compute.page_counts.free
    pages = reservations.hold(
        peer, pages=request.rows * pages_of(request.tokens) * per_page, rows=request.rows, free=free, now=now
    )
    return Quote(
        batch=load.batch + math.ceil(_COMING * expected_rows),
        step_ms=load.step_ms,
        queue_ms=load.queue_ms,
        free_tokens=max(free - others, 0) * PAGE_TOKENS // per_page,
        reserved_tokens=pages * PAGE_TOKENS // per_page,
    )
