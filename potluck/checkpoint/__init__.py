"""Hugging Face checkpoints: finds the file of each tensor, downloads files, and builds models from parts of them.

Names are resolved on first use, so that importing this package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from potluck.checkpoint.ends import load_ends
    from potluck.checkpoint.source import Checkpoint, open_checkpoint

_HOMES = {"Checkpoint": "source", "load_ends": "ends", "open_checkpoint": "source"}

__all__ = ["Checkpoint", "load_ends", "open_checkpoint"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
