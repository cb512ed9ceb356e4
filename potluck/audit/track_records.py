"""Says what clean audits are worth: when probation ends, and which work may be paid. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from potluck.audit.choices import CLEAN_AUDITS, WINDOW_TOKENS
from potluck.protocol.blocks import PersonId

_MOST_OF_ONE = 4  # clean audits that count from one other person, so that at least three have to agree


def clean_audits(by: Mapping[PersonId, int]) -> int:
    """Return how many clean audits count of a person's, by who made them. Audits of one's own servers are not in it."""
    return sum(min(max(count, 0), _MOST_OF_ONE) for count in by.values())


def is_on_probation(probation_until_s: float, clean: int, now_s: float) -> bool:
    """Return whether somebody who joined a public swarm is still on probation.

    It lasts a week at least, and until ten audits were clean. Somebody with an invite never was on probation.

    Args:
        probation_until_s: Unix seconds; 0 for somebody with an invite.
        clean: audits, see `clean_audits`.
    """
    return probation_until_s > 0 and (now_s < probation_until_s or clean < CLEAN_AUDITS)


def payable_tokens(received: int, committed: int, *, is_over: bool) -> int:
    """Return for how many tokens of one row a client signs.

    Work gains value once its window could have been audited: once the server committed itself to it. What remains at
    the end of a session, less than a window, is paid without.

    Args:
        received: answered by the server so far.
        committed: of these, in windows with a good commitment.
        is_over: whether the session has ended.
    """
    rest = received - committed
    return received if is_over and 0 <= rest < WINDOW_TOKENS else min(received, committed)
