"""Runs blocks of a model: spans, KV memory, steps of many sessions, and weights on the device, in RAM or on disk.

This package knows nothing of networks, sessions or scheduling. Names are resolved on first use, because `torch` and
`transformers` take seconds to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from potluck.blocks.cache import KvCache
    from potluck.blocks.span import BlockSpan, load_span

_HOMES = {"BlockSpan": "span", "KvCache": "cache", "load_span": "span"}

__all__ = ["BlockSpan", "KvCache", "load_span"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
