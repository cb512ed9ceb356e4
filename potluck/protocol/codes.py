"""Structured refusals: a stable code, a text for people, and when to come back."""

from __future__ import annotations

from enum import StrEnum

from potluck.errors import PotluckError
from potluck.protocol.texts import printable

_MAX_TEXT_CHARS = 500


class Code(StrEnum):
    BAD_REQUEST = "bad_request"  # malformed or out of range; repeating it elsewhere will not help
    NOT_SERVED = "not_served"  # these blocks are not (any more) here
    NOT_A_MEMBER = "not_a_member"  # the peer has not presented itself as a member, or was removed
    BUSY = "busy"  # come back after `retry_after_s`
    NO_MEMORY = "no_memory"  # the KV cache cannot hold this session now, or nothing the private adapter
    NO_ADAPTER = "no_adapter"  # the private adapter is not here (any more); bring it again
    TOO_LONG = "too_long"  # beyond max_length or max_batch_tokens
    ROLLBACK = "rollback_unavailable"  # this cache cannot go back that far; replay into a new session
    WRONG_VERSION = "wrong_version"  # the two peers speak versions of the wire that do not go together
    DRAINING = "draining"  # leaving on purpose; go elsewhere
    REFUSED = "refused"  # local verdict: a peer of another implementation said no in words
    UNREACHABLE = "unreachable"  # local verdict: no answer, connection lost, stream closed
    BAD_REPLY = "bad_reply"  # local verdict: the peer's answer breaks the protocol
    INTERNAL = "internal"  # the peer failed


class RemoteError(PotluckError):
    """What a peer said, or failed to say, in answer to a call; one printable line, whoever wrote it."""

    def __init__(self, code: Code, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(printable(message, _MAX_TEXT_CHARS))
        self.code = code
        self.retry_after_s = retry_after_s
