"""The control API on the wire: one JSON object a line, in both directions.

    {"id":1,"method":"pause","params":{"seconds":60}}
    {"id":1,"result":{...}}                    or {"id":1,"error":{"code":"refused","message":{...},"hint":{...}}}
    {"id":2,"method":"subscribe","params":{"topics":["status"]}}
    {"id":2,"result":{}}                       and from then on {"topic":"status","data":{...}}

The daemon answers the requests of one connection in their order. A line of another form gets an error without an id,
and the connection ends. Methods and topics are in `schema`.
"""

from __future__ import annotations

from msgspec import Raw, Struct

from potluck.errors import PotluckError
from potluck.protocol.codec import encode
from potluck.sentences import NOTHING, Sentence

MAX_REQUEST_BYTES = 1 << 19  # a backup to restore has 352 KiB
MAX_ANSWER_BYTES = 1 << 26
SUBSCRIBE = "subscribe"

# error codes
BAD_REQUEST = "bad_request"  # no request: not JSON, or without a method; too long, or too slow to arrive
UNKNOWN_METHOD = "unknown_method"
BAD_PARAMS = "bad_params"
REFUSED = "refused"  # the daemon can't do it now; message and hint are for people
AMBIGUOUS = "ambiguous"  # a name stands for several things, whose ids the hint lists
INTERNAL = "internal"  # a fault of the daemon
BUSY = "busy"  # too many connections or subscribers
NOT_YOURS = "not_yours"  # the daemon belongs to another user

_EMPTY = Raw(b"{}")
_ABSENT = Raw()


class ControlRequest(Struct, frozen=True):
    """A call of a method.

    The answer repeats `id`. `params` are decoded once the method, and so their class, is known.
    """

    method: str
    id: int | str = 0
    params: Raw = _EMPTY


class Topics(Struct, frozen=True):
    """The parameters of `subscribe`. Empty: every topic. Those that the daemon doesn't have are ignored."""

    topics: tuple[str, ...] = ()


class Failure(Struct, frozen=True):
    """The error in a reply. `code`: one of those above, for programs; a newer daemon may have more of them."""

    code: str
    message: Sentence
    hint: Sentence = NOTHING


class ControlReply(Struct, frozen=True, omit_defaults=True):
    """A message of the daemon: the answer to a request, which has a result or an error, or the news of a topic."""

    id: int | str | None = None  # None: news, or the error of a line that is no request
    result: Raw = _ABSENT
    error: Failure | None = None
    topic: str = ""
    data: Raw = _ABSENT


def line(value: Struct) -> bytes:
    """Return a message as one line."""
    return encode(value) + b"\n"


def failure(code: str, error: PotluckError, request_id: int | str | None = None) -> bytes:
    """Return the line that answers with an error."""
    return line(ControlReply(request_id, error=Failure(code, error.sentence, error.advice)))
