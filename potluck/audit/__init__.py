"""Compares what two servers computed from the same inputs. Pure: no clock, no network, no model."""

from potluck.audit.choices import CLEAN_AUDITS, audit_chance, choose_auditor, choose_window
from potluck.audit.fingerprint import SEED_BYTES, WINDOW_TOKENS, Fingerprint, difference, fingerprint
from potluck.audit.limits import HonestDifferences, widest_limit
from potluck.audit.verdicts import Differences, Opinion, Outsider, compare, settle

__all__ = [
    "CLEAN_AUDITS",
    "SEED_BYTES",
    "WINDOW_TOKENS",
    "Differences",
    "Fingerprint",
    "HonestDifferences",
    "Opinion",
    "Outsider",
    "audit_chance",
    "choose_auditor",
    "choose_window",
    "compare",
    "difference",
    "fingerprint",
    "settle",
    "widest_limit",
]
