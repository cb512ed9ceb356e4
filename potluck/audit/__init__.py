"""Compares what two servers computed from the same inputs. Pure: no clock, no network, no model.

The names below are loaded on first use, so that light programs can import the modules that need no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from potluck.audit.choices import CLEAN_AUDITS, WINDOW_TOKENS, audit_chance, choose_auditor, choose_window
    from potluck.audit.differences import difference
    from potluck.audit.limits import Honest, HonestDifferences, Limit
    from potluck.audit.verdicts import Differences, Opinion, Outsider, compare, settle

_HOMES = {
    "CLEAN_AUDITS": "choices",
    "WINDOW_TOKENS": "choices",
    "Differences": "verdicts",
    "Honest": "limits",
    "HonestDifferences": "limits",
    "Limit": "limits",
    "Opinion": "verdicts",
    "Outsider": "verdicts",
    "audit_chance": "choices",
    "choose_auditor": "choices",
    "choose_window": "choices",
    "compare": "verdicts",
    "difference": "differences",
    "settle": "verdicts",
}

__all__ = [
    "CLEAN_AUDITS",
    "WINDOW_TOKENS",
    "Differences",
    "Honest",
    "HonestDifferences",
    "Limit",
    "Opinion",
    "Outsider",
    "audit_chance",
    "choose_auditor",
    "choose_window",
    "compare",
    "difference",
    "settle",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
