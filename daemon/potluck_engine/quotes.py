"""Answers quotes: clients that compare routes ask what a session would cost here now.

A quote passes the same checks as the opening of a session, computes nothing, and reserves memory for two seconds, so
that the promise still holds when the client comes. Quoted rows count as load for the next client that asks, so that
clients that ask at the same time do not all choose the same server.
"""

from __future__ import annotations

import math
import time

from potluck.blocks.pages import PAGE_TOKENS, pages_of
from potluck.protocol.blocks import PeerId
from potluck.protocol.messages import Quote, QuoteRequest
from potluck_engine.service import Service

_COMING = 0.25  # of quoted rows: clients ask along several routes and take one


def quote(state: Service, request: QuoteRequest, peer: PeerId) -> Quote:
    """Return what such a session would get, and reserve its memory. Raises RemoteError, as its opening would."""
    state.admission.check(request.prefix, request.span, request.caller)
    now = time.monotonic()
    paging, load = state.stage.paging, state.load(now)
    reservations, per_page = paging.admission.reservations, paging.pages_per_token_page
    expected_rows, others = reservations.rows(now), reservations.pages(now)
    free = state.compute.page_counts.free
    pages = reservations.hold(
        state.admission.person_of(peer),
        pages=request.rows * pages_of(request.tokens) * per_page,
        rows=request.rows,
        free=free,
        now=now,
    )
    return Quote(
        batch=load.batch + math.ceil(_COMING * expected_rows),
        step_ms=load.step_ms,
        queue_ms=load.queue_ms,
        free_tokens=max(free - others, 0) * PAGE_TOKENS // per_page,
        reserved_tokens=pages * PAGE_TOKENS // per_page,
    )
