"""Structured refusals: a stable code, a text for people, and when to come back.

On the wire a refusal is one line of text, `[potluck:CODE retry_after=1.5] text`, because stock peers carry errors as
text only (reference: Petals protocol, "no error codes"). Errors of stock peers have no prefix and read as `INTERNAL`.
"""

from __future__ import annotations

import re
from enum import StrEnum

from potluck.errors import PotluckError


class Code(StrEnum):
    BAD_REQUEST = "bad_request"  # malformed or out of range; repeating it elsewhere will not help
    NOT_SERVED = "not_served"  # these blocks are not (any more) here
    NOT_A_MEMBER = "not_a_member"  # the swarm is private and the membership proof is missing or wrong
    BUSY = "busy"  # come back after `retry_after_s`
    NO_MEMORY = "no_memory"  # the KV cache cannot hold this session now
    TOO_LONG = "too_long"  # beyond max_length or max_batch_tokens
    ROLLBACK = "rollback_unavailable"  # this cache cannot go back that far; replay into a new session
    DRAINING = "draining"  # leaving on purpose; go elsewhere
    UNREACHABLE = "unreachable"  # local verdict: no answer, connection lost, stream closed
    BAD_REPLY = "bad_reply"  # local verdict: the peer's answer breaks the protocol
    INTERNAL = "internal"  # the peer failed


class RemoteError(PotluckError):
    """What a peer said, or failed to say, in answer to a call."""

    def __init__(self, code: Code, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_s = retry_after_s

    def __repr__(self) -> str:  # stock unary errors travel as repr(exception); keep our prefix readable there
        return self.to_text()

    def __str__(self) -> str:
        return self.message

    def to_text(self) -> str:
        after = f" retry_after={self.retry_after_s:g}" if self.retry_after_s is not None else ""
        return f"[potluck:{self.code}{after}] {self.message}"

    @classmethod
    def from_text(cls, text: str) -> RemoteError:
        """Read an error text of any peer; never raises. Text is cut to 500 characters."""
        match = _PREFIX.search(text)
        if match is None:
            return cls(Code.INTERNAL, text[:500])
        code = Code(match["code"]) if match["code"] in set(Code) else Code.INTERNAL
        after = float(match["after"]) if match["after"] else None
        return cls(code, match["text"][:500], retry_after_s=after)


_PREFIX = re.compile(
    r"\[potluck:(?P<code>[a-z_]{1,32})(?: retry_after=(?P<after>\d{1,6}(?:\.\d{1,6})?))?\] (?P<text>.*)", re.S
)
