"""Structured refusals: a stable code, a text for people, and when to come back."""

from __future__ import annotations

from enum import StrEnum

from potluck.errors import PotluckError
from potluck.protocol.values import printable
from potluck.sentences import sentence

_MAX_TEXT_CHARS = 500


class Code(StrEnum):
    """The stable code of a refusal."""

    BAD_REQUEST = "bad_request"  # malformed or out of range; repeating it elsewhere will not help
    NOT_SERVED = "not_served"  # these blocks are not (any more) here
    NOT_A_MEMBER = "not_a_member"  # the peer has not presented itself as a member, or was removed
    BUSY = "busy"  # come back after `retry_after_s`
    NO_MEMORY = "no_memory"  # the KV cache cannot hold this session now, or nothing the private adapter
    NO_ADAPTER = "no_adapter"  # the private adapter is not here (any more); bring it again
    TOO_LONG = "too_long"  # more than max_length or max_batch_tokens
    ROLLBACK = "rollback_unavailable"  # this cache cannot go back that far; replay into a new session
    WRONG_VERSION = "wrong_version"  # the two peers speak versions of the wire that do not go together
    DRAINING = "draining"  # leaving on purpose; go elsewhere
    REFUSED = "refused"  # local verdict: a peer of another implementation said no in words
    UNREACHABLE = "unreachable"  # local verdict: no answer, connection lost, stream closed
    BAD_REPLY = "bad_reply"  # local verdict: the peer's answer breaks the protocol
    INTERNAL = "internal"  # the peer failed


class Denial(StrEnum):
    """A reason not to let a node into the swarm, or not yet. Peers send it, and the reader writes the sentence."""

    REMOVED = "removed"
    NOBODY_ONLINE = "nobody_online"  # nobody who may let it in is online
    UNCONFIRMED = "unconfirmed"  # the person's other computer has not confirmed it
    JUST_STARTED = "just_started"  # the node that was asked
    CROWDED = "crowded"
    INVITE_EXPIRED = "invite_expired"
    INVITE_USED_UP = "invite_used_up"
    INVITE_ENDED = "invite_ended"
    NOT_HERE = "not_here"
    NOT_SHOWN = "not_shown"
    NOT_KNOWN = "not_known"


INVITE_OVER = (Denial.INVITE_EXPIRED, Denial.INVITE_USED_UP, Denial.INVITE_ENDED)
DENIALS = {
    Denial.REMOVED: sentence("removed from the swarm"),
    Denial.NOBODY_ONLINE: sentence("no member is online who could let you in"),
    Denial.UNCONFIRMED: sentence("waiting for your other computer to let this one in"),
    Denial.JUST_STARTED: sentence("this node has just started"),
    Denial.CROWDED: sentence("too many people joined from your part of the network today; try again tomorrow"),
    Denial.INVITE_EXPIRED: sentence("the invite has expired"),
    Denial.INVITE_USED_UP: sentence("the invite has been used up"),
    Denial.INVITE_ENDED: sentence("the invite was ended, or it was not made by somebody who may invite"),
    Denial.NOT_HERE: sentence("this node lets nobody in"),
    Denial.NOT_SHOWN: sentence("the peer does not show that it belongs to the swarm"),
    Denial.NOT_KNOWN: sentence("the peer knows too little of the swarm; try again when it has met others"),
}


class RemoteError(PotluckError):
    """A peer's refusal or silence in answer to a call; always one printable line.

    Attributes:
        denial: why it does not let this node in, if it said so by a code that this version knows.
    """

    def __init__(self, code: Code, message: str | Denial, *, retry_after_s: float | None = None) -> None:
        self.denial = message if isinstance(message, Denial) else None
        super().__init__(DENIALS[self.denial] if self.denial else printable(message, _MAX_TEXT_CHARS))
        self.code = code
        self.retry_after_s = retry_after_s
