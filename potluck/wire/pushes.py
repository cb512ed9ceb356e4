"""Pushes of outputs from one server of a session to the next: their messages, and the fields of steps about them.

a secret             -> accepted, or an error frame
number and output    as often as there is one; no answer
"""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple, TypedDict

from torch import Tensor

from potluck.protocol.blocks import PeerId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code
from potluck.protocol.messages import Awaited, PushLink, StepRequest
from potluck.protocol.texts import is_printable
from potluck.wire import fields as read
from potluck.wire.errors import WireError, refusing
from potluck.wire.fields import MAX_ID_CHARS, Field, Fields
from potluck.wire.limits import Limits
from potluck.wire.message import Role, read_message, write_message
from potluck.wire.tensors import read_hidden, to_wire, values_of

SECRET_BYTES: Final = 16
DIGEST_BYTES: Final = 16
ACCEPTED: Final = b"".join(write_message())


class Pushed(NamedTuple):
    """An output on its way. Shapes: hidden [rows, tokens, hidden_size]."""

    number: int
    hidden: Tensor


class PushFields(TypedDict):
    """The arguments of a `StepRequest` that are about pushes."""

    awaited: Awaited | None
    push_number: int | None
    push_to: PushLink | None
    pushed_by: PushLink | None


def digest_of(hidden: Tensor) -> bytes:
    """Return a digest of the values, decoded if they travel packed."""
    return hashlib.blake2b(values_of(hidden), digest_size=DIGEST_BYTES).digest()


def encode_push_opening(secret: bytes) -> bytes:
    return b"".join(write_message(fields={Field.SECRET: secret}))


@refusing(Code.BAD_REQUEST)
def decode_push_opening(body: Buffer) -> bytes:
    """Return the secret. Raises RemoteError."""
    secret = read.blob(read_message(body).fields, Field.SECRET, SECRET_BYTES)
    if secret is None:
        raise WireError("a push without a secret")
    return secret


def encode_push(number: int, hidden: Tensor, packed: Tensor | None = None) -> tuple[Buffer, ...]:
    """Return an output in pieces; `packed` as in `to_wire`."""
    return write_message((to_wire(Role.HIDDEN, hidden, packed),), number=number)


def decode_push(body: Buffer, *, limits: Limits) -> Pushed:
    """Read an output. Raises RemoteError."""
    try:
        message = read_message(body)
        if message.number < 0:
            raise WireError("a push without a number")
        return Pushed(message.number, read_hidden(message.tensor(Role.HIDDEN), limits))
    except WireError as error:
        raise error.refusal(Code.BAD_REQUEST) from None


def write_push_fields(request: StepRequest) -> dict[int, object]:
    fields: dict[int, object] = {}
    if request.awaited is not None:
        fields[Field.AWAITED] = [request.awaited.number, request.awaited.rows, request.awaited.tokens]
    if request.push_number is not None:
        fields[Field.PUSH_NUMBER] = request.push_number
    for key, link in ((Field.PUSH_TO, request.push_to), (Field.PUSHED_BY, request.pushed_by)):
        if link is not None:
            fields[key] = [link.peer, link.secret]
    return fields


def read_push_fields(fields: Fields, limits: Limits) -> PushFields:
    """Raises WireError."""
    return PushFields(
        awaited=_read_awaited(fields, limits),
        push_number=read.integer(fields, Field.PUSH_NUMBER),
        push_to=_read_link(fields, Field.PUSH_TO),
        pushed_by=_read_link(fields, Field.PUSHED_BY),
    )


def _read_awaited(fields: Fields, limits: Limits) -> Awaited | None:
    value = fields.get(Field.AWAITED)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 3 or any(type(each) is not int or each < 0 for each in value):
        raise WireError("AWAITED must be three numbers")
    awaited = Awaited(*value)
    if not (0 < awaited.rows * awaited.tokens <= limits.max_batch_tokens and awaited.number < 1 << 62):
        raise WireError(f"{awaited.rows} x {awaited.tokens} awaited tokens, 1 to {limits.max_batch_tokens} allowed")
    return awaited


def _read_link(fields: Fields, key: Field) -> PushLink | None:
    value = fields.get(key)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise WireError(f"{key.name} must be a peer and a secret")
    peer, secret = value
    if not is_printable(peer, MAX_ID_CHARS) or not peer:
        raise WireError(f"{key.name} must name a peer")
    if not isinstance(secret, bytes) or len(secret) != SECRET_BYTES:
        raise WireError(f"a secret has {SECRET_BYTES} bytes")
    return PushLink(PeerId(peer), secret)
