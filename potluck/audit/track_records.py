"""Says what clean audits are worth: when probation ends for a client. Pure."""

from __future__ import annotations

from potluck.audit.choices import CLEAN_AUDITS


def has_record(clean: int) -> bool:
    """Return whether so many clean audits, as auditor or audited, end somebody's probation for whoever made them.

    A client believes only its own audits: what others say, a ring could make up.
    """
    return clean >= CLEAN_AUDITS
