"""Newer versions: what is offered, asking for it, and changing over to it.

The update is done by a process of its own (`potluck update`), which outlives the daemon that it replaces; whoever asks
finds the daemon away for a moment, and then the new one.
"""

from __future__ import annotations

from dataclasses import dataclass

from potluck_control.method import Empty, Method
from potluck_control.methods.setup import Problem


@dataclass(frozen=True, slots=True)
class Offered:
    """A version that is newer than the one that runs. `issued_at`: when the publisher signed it, Unix seconds."""

    version: str
    changes: tuple[str, ...]
    issued_at: int


@dataclass(frozen=True, slots=True)
class UpdateProgress:
    """What is being done, bytes of it, and bytes in all (0 and 0 where nothing is fetched)."""

    text: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class UpdatesState:
    """`checked_at`: when the publisher last answered, Unix seconds. `error`: how the last try ended."""

    running: str  # version
    is_allowed: bool  # the daemon may ask by itself: the setting updates.check
    is_configured: bool  # updates.url and updates.key are set
    can_install: bool  # False: what installed it (apt, pip, ...) updates it
    offered: Offered | None = None
    checked_at: float | None = None
    progress: UpdateProgress | None = None  # of the check or update that runs now
    error: Problem | None = None


STATE = Method("updates.state", Empty, UpdatesState)
CHECK = Method("updates.check", Empty, UpdatesState)  # asks now, and answers when the publisher did
INSTALL = Method("updates.install", Empty, UpdatesState)  # returns once the update has begun
EVENT = "updates"  # UpdatesState: when it changes
