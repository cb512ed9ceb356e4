"""Refusals as bytes: a message with a code, a text for people, and when to come back.

Their layout stays as it is in every version, so that peers of two versions can tell each other so. A peer of another
implementation sends words: bare in the answer to a call, and in field 1 of a protobuf message on a stream.
"""

from __future__ import annotations

import re
from typing import Final

from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code, RemoteError
from potluck.wire import fields as read
from potluck.wire.errors import WireError
from potluck.wire.fields import Field
from potluck.wire.message import VERSION, read_message, write_message

_FIELD_1: Final = re.compile(rb"\A\n[\x80-\xff]*[\x00-\x7f]")  # its tag and length
_FOR_NOW: Final = re.compile(r"out of memory|could not allocate|timeout|cancelled|\A\Z", re.IGNORECASE)


def encode_refusal(error: RemoteError) -> bytes:
    fields: dict[int, object] = {Field.CODE: str(error.code), Field.TEXT: error.message}
    if error.retry_after_s is not None:
        fields[Field.RETRY_AFTER_S] = float(error.retry_after_s)
    return b"".join(write_message((), fields))


def decode_refusal(body: Buffer) -> RemoteError:
    """Read what any peer sent as a refusal; never raises. An unknown code reads as INTERNAL."""
    if body[:1] != bytes((VERSION,)):
        words = _FIELD_1.sub(b"", bytes(body)).decode(errors="replace")
        return RemoteError(Code.BUSY if _FOR_NOW.search(words) else Code.REFUSED, words)
    try:
        fields = read_message(body).fields
        code, text = fields.get(Field.CODE), fields.get(Field.TEXT, "")
        if not isinstance(text, str):
            raise WireError("TEXT must be a text")
        after = read.number(fields, Field.RETRY_AFTER_S)
    except WireError as error:
        return RemoteError(Code.INTERNAL, f"an unreadable refusal: {error}")
    known = next((each for each in Code if each == code), Code.INTERNAL)
    return RemoteError(known, text, retry_after_s=after)
