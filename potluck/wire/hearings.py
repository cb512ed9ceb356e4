"""What an accuser sends to a juror, and the juror's answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from torch import Tensor

from potluck.audit.choices import WINDOW_TOKENS
from potluck.audit.commitments import COMMITMENT_BYTES, HASH_BYTES, MAX_LEAVES, Commitment, Terms
from potluck.audit.evidence import Evidence
from potluck.membership.statements import MAX_STATEMENT_BYTES
from potluck.protocol.blocks import Span
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import Caller
from potluck.protocol.receipts import SWARM_BYTES
from potluck.protocol.records import NumberFormat
from potluck.protocol.texts import is_printable
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import MAX_ID_CHARS, MAX_NAME_CHARS, Field, Fields, target_fields
from potluck.wire.limits import Limits
from potluck.wire.message import RequestParts, Role, read_message, split, write_message
from potluck.wire.packing import CODEC
from potluck.wire.tensors import read_floats, read_hidden, to_wire, travelling

_MAX_WINDOWS: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class HearingRequest:
    """A charge with its evidence.

    Shapes: inputs [1, tokens, hidden_size]; outputs [1, WINDOW_TOKENS, hidden_size], both as in `evidence`.
    """

    prefix: str
    charge: bytes  # a signed statement
    evidence: Evidence
    inputs: Tensor
    outputs: Tensor


def encode_hearing(request: HearingRequest) -> Iterator[tuple[Buffer, ...]]:
    """Yield the request's frames, each in pieces."""
    evidence, terms = request.evidence, request.evidence.terms
    form = terms.format
    caller = Caller(adapter=terms.adapter or None, revision_digest=terms.weights)
    fields = target_fields(request.prefix, terms.span, caller) | {
        Field.CHARGE: request.charge,
        Field.COMMITMENT: evidence.commitment.encode(),
        Field.LEAVES: b"".join(evidence.leaves),
        Field.WINDOW: [evidence.rows, evidence.row, evidence.window],
        Field.PIECES: list(evidence.pieces),
        Field.SWARM: terms.swarm,
        Field.FORMAT: [form.dtype, form.quantization, form.cache],
        Field.EXACT: terms.is_exact,
        Field.CODEC: CODEC if terms.packs else 0,
    }
    tensors = [to_wire(Role.HIDDEN, request.inputs), to_wire(Role.OUTPUTS, request.outputs)]
    return split(write_message(tensors, fields))


class HearingJoiner(RequestParts):
    """Reads a hearing of one frame or more at the juror."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        super().__init__(max_bytes=limits.max_frame_bytes)

    @refusing(Code.BAD_REQUEST)
    def request(self) -> HearingRequest:
        """Return the request, once it is whole. Raises RemoteError."""
        message, limits = self.whole(), self._limits
        fields = message.fields
        prefix, span, caller = read.read_target(fields, num_blocks=limits.num_blocks)
        inputs = read_hidden(message.tensor(Role.HIDDEN), limits)
        outputs = message.tensor(Role.OUTPUTS)
        if outputs is None or inputs.shape[0] != 1:
            raise WireError("a hearing is about one row of inputs and its outputs")
        claimed = read_floats(outputs, (1, WINDOW_TOKENS, limits.hidden_size))
        rows, row, window = _numbers(fields, Field.WINDOW, 3)
        if inputs.shape[1] != (window + 1) * WINDOW_TOKENS or row >= rows:
            raise WireError("the inputs of a hearing end with its window")
        evidence = Evidence(
            terms=_read_terms(fields, span, caller),
            commitment=Commitment.decode(_blob(fields, Field.COMMITMENT, COMMITMENT_BYTES)),
            leaves=_read_leaves(fields),
            rows=rows,
            row=row,
            window=window,
            pieces=_numbers(fields, Field.PIECES, None),
            inputs=travelling(inputs),
            outputs=travelling(claimed),
        )
        charge = fields.get(Field.CHARGE)
        if not isinstance(charge, bytes) or len(charge) > MAX_STATEMENT_BYTES:
            raise WireError("CHARGE must be a statement")
        return HearingRequest(prefix, charge, evidence, inputs, claimed)


def encode_attestation(statement: bytes) -> bytes:
    """Return a juror's answer; empty if the juror cannot tell."""
    return b"".join(write_message(fields={Field.ATTESTATION: statement}))


@refusing(Code.BAD_REPLY)
def decode_attestation(body: Buffer) -> bytes:
    """Return the statement that a juror signed; empty if the juror cannot tell. Raises RemoteError."""
    statement = read_message(body).fields.get(Field.ATTESTATION)
    if not isinstance(statement, bytes) or len(statement) > MAX_STATEMENT_BYTES:
        raise WireError("ATTESTATION must be a statement")
    return statement


def _read_terms(fields: Fields, span: Span, caller: Caller) -> Terms:
    form = fields.get(Field.FORMAT)
    if not isinstance(form, list) or len(form) != 3 or not all(is_printable(each, MAX_ID_CHARS) for each in form):
        raise WireError("FORMAT must be three texts")
    return Terms(
        swarm=_blob(fields, Field.SWARM, SWARM_BYTES),
        span=span,
        weights=caller.revision_digest or "",
        format=NumberFormat(*form),
        adapter=(caller.adapter or "")[:MAX_NAME_CHARS],
        is_exact=read.flag(fields, Field.EXACT),
        packs=read.integer(fields, Field.CODEC) == CODEC,
    )


def _read_leaves(fields: Fields) -> tuple[bytes, ...]:
    data = fields.get(Field.LEAVES)
    if not isinstance(data, bytes) or len(data) % HASH_BYTES or len(data) > MAX_LEAVES * HASH_BYTES:
        raise WireError("LEAVES must be hashes")
    return tuple(data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES))


def _numbers(fields: Fields, key: Field, count: int | None) -> tuple[int, ...]:
    value = fields.get(key)
    if not isinstance(value, list) or len(value) > WINDOW_TOKENS or (count is not None and len(value) != count):
        raise WireError(f"{key.name} must be a list of numbers")
    if any(type(each) is not int or not 0 <= each <= _MAX_WINDOWS for each in value):
        raise WireError(f"{key.name} must be numbers from 0 to {_MAX_WINDOWS}")
    return tuple(value)


def _blob(fields: Fields, key: Field, num_bytes: int) -> bytes:
    value = read.blob(fields, key, num_bytes)
    if value is None:
        raise WireError(f"{key.name} is missing")
    return value
