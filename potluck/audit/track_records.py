"""Says what clean audits are worth: when probation ends, and which work may be paid. Pure."""

from __future__ import annotations

from potluck.audit.choices import CLEAN_AUDITS, WINDOW_TOKENS


def has_record(clean: int) -> bool:
    """Return whether so many clean audits, as auditor or audited, end somebody's probation for whoever made them.

    A client believes only its own audits: what others attest, a ring could make up.
    """
    return clean >= CLEAN_AUDITS


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
