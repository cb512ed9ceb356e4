"""The quote call, ours alone: one msgpack map each way. Peers that do not know it fail the call, and nothing else."""

from __future__ import annotations

from typing import Final

from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import Quote, QuoteRequest
from potluck.wire.errors import WireError, refusing
from potluck.wire.limits import Limits
from potluck.wire.metadata import MAX_NAME_CHARS, OURS, Metadata, caller_fields, integer, number, read_caller, text
from potluck.wire.packing import pack, unpack_map
from potluck.wire.uids import is_prefix

_MOST_ROWS: Final = 1 << 20


def encode_quote_request(request: QuoteRequest) -> bytes:
    return pack(
        {
            "prefix": request.prefix,
            "start": request.span.start,
            "end": request.span.end,
            "rows": request.rows,
            "tokens": request.tokens,
            "active_adapter": request.caller.adapter,
            OURS: caller_fields(request.caller),
        }
    )


@refusing(Code.BAD_REQUEST)
def decode_quote_request(body: Buffer, *, limits: Limits) -> QuoteRequest:
    """Raises RemoteError BAD_REQUEST."""
    fields = unpack_map(body)
    prefix = text(fields, "prefix", MAX_NAME_CHARS)
    if prefix is None or not is_prefix(prefix):
        raise WireError("a quote needs the prefix of a model")
    start, end = _whole(fields, "start", limits.num_blocks), _whole(fields, "end", limits.num_blocks)
    if not start < end:
        raise WireError(f"blocks {start}:{end}")
    rows, tokens = _whole(fields, "rows", limits.max_batch_tokens), _whole(fields, "tokens", limits.max_length)
    if not rows:
        raise WireError("a session has at least one row")
    return QuoteRequest(prefix, Span(start, end), rows, tokens, read_caller(fields))


def encode_quote(quote: Quote) -> bytes:
    return pack(
        {
            "batch": quote.batch,
            "step_ms": float(quote.step_ms),
            "queue_ms": float(quote.queue_ms),
            "free_tokens": quote.free_tokens,
            "reserved_tokens": quote.reserved_tokens,
        }
    )


@refusing(Code.BAD_REPLY)
def decode_quote(body: Buffer) -> Quote:
    """Raises RemoteError BAD_REPLY."""
    fields = unpack_map(body)
    step_ms, queue_ms = number(fields, "step_ms"), number(fields, "queue_ms")
    if step_ms is None or queue_ms is None:
        raise WireError("a quote without its times")
    return Quote(
        batch=_whole(fields, "batch", _MOST_ROWS),
        step_ms=step_ms,
        queue_ms=queue_ms,
        free_tokens=_whole(fields, "free_tokens", 1 << 50),
        reserved_tokens=_whole(fields, "reserved_tokens", 1 << 50),
    )


def _whole(fields: Metadata, name: str, most: int) -> int:
    value = integer(fields, name, most=most)
    if value is None:
        raise WireError(f"a quote needs {name}")
    return value
