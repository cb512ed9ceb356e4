"""Quotes, receipts that are sent by themselves, and choices of experts."""

from __future__ import annotations

from torch import Tensor

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import ChoicesRequest, Quote, QuoteRequest, choice_tokens
from potluck.protocol.receipts import RECEIPT_BYTES
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import MAX_ID_CHARS, Field, required, target_fields
from potluck.wire.limits import Limits
from potluck.wire.message import Role, read_message, write_message
from potluck.wire.tensors import read_choices, to_wire

_MAX_ROWS = 1 << 20
_MAX_CACHE_TOKENS = 1 << 50


def encode_quote_request(request: QuoteRequest) -> bytes:
    fields = target_fields(request.prefix, request.span, request.caller)
    return _write(fields | {Field.ROWS: request.rows, Field.TOKENS: request.tokens})


@refusing(Code.BAD_REQUEST)
def decode_quote_request(body: Buffer, *, limits: Limits) -> QuoteRequest:
    """Raises RemoteError BAD_REQUEST."""
    fields = read_message(body).fields
    prefix, span, caller = read.read_target(fields, num_blocks=limits.num_blocks)
    rows = required(fields, Field.ROWS, most=limits.max_batch_tokens)
    if not rows:
        raise WireError("a session has at least one row")
    return QuoteRequest(prefix, span, rows, required(fields, Field.TOKENS, most=limits.max_length), caller)


def encode_quote(quote: Quote) -> bytes:
    fields: dict[int, object] = {
        Field.ROWS: quote.batch,
        Field.STEP_MS: float(quote.step_ms),
        Field.QUEUE_MS: float(quote.queue_ms),
        Field.FREE_TOKENS: quote.free_tokens,
        Field.RESERVED_TOKENS: quote.reserved_tokens,
    }
    return _write(fields)


@refusing(Code.BAD_REPLY)
def decode_quote(body: Buffer) -> Quote:
    """Raises RemoteError BAD_REPLY."""
    fields = read_message(body).fields
    step_ms, queue_ms = read.number(fields, Field.STEP_MS), read.number(fields, Field.QUEUE_MS)
    if step_ms is None or queue_ms is None:
        raise WireError("a quote without its times")
    return Quote(
        batch=required(fields, Field.ROWS, most=_MAX_ROWS),
        step_ms=step_ms,
        queue_ms=queue_ms,
        free_tokens=required(fields, Field.FREE_TOKENS, most=_MAX_CACHE_TOKENS),
        reserved_tokens=required(fields, Field.RESERVED_TOKENS, most=_MAX_CACHE_TOKENS),
    )


def encode_choices_request(request: ChoicesRequest) -> bytes:
    fields: dict[int, object] = {Field.SESSION_ID: request.session_id, Field.TOKENS: request.tokens}
    return _write(fields | {Field.ROWS: request.row})


@refusing(Code.BAD_REQUEST)
def decode_choices_request(body: Buffer) -> ChoicesRequest:
    """Raises RemoteError BAD_REQUEST."""
    fields = read_message(body).fields
    session_id = read.text(fields, Field.SESSION_ID, MAX_ID_CHARS)
    tokens = required(fields, Field.TOKENS, most=choice_tokens(1))
    if session_id is None or not tokens:
        raise WireError("a session's name or its tokens are missing")
    return ChoicesRequest(session_id, required(fields, Field.ROWS, most=_MAX_ROWS), tokens)


def encode_choices(choices: Tensor) -> bytes:
    """Shapes: choices [tokens, layers, choices] int16."""
    return b"".join(write_message([to_wire(Role.CHOICES, choices)]))


@refusing(Code.BAD_REPLY)
def decode_choices(body: Buffer, tokens: int, *, num_layers: int) -> Tensor:
    """Return [tokens, layers, choices] int16. Raises RemoteError BAD_REPLY."""
    choices = read_choices(read_message(body).tensor(Role.CHOICES), tokens, most_layers=num_layers)
    if choices is None or choices.shape[1] != num_layers:
        raise WireError("an answer without choices for each layer")
    return choices


def encode_receipt(receipt: bytes) -> bytes:
    return _write({Field.RECEIPT: receipt})


@refusing(Code.BAD_REQUEST)
def decode_receipt(body: Buffer) -> bytes:
    """Raises RemoteError BAD_REQUEST."""
    receipt = read.blob(read_message(body).fields, Field.RECEIPT, RECEIPT_BYTES)
    if receipt is None:
        raise WireError("RECEIPT is missing")
    return receipt


def _write(fields: dict[int, object]) -> bytes:
    return b"".join(write_message((), fields))
