"""`updates.*`: the version that is offered, looking for one, and installing it.

A client finds the daemon away for a moment while it becomes the new version.
"""

from __future__ import annotations

from msgspec import Struct

from potluck_control.method import Empty, Method
from potluck_control.methods.work import Problem, WorkProgress


class Offered(Struct, frozen=True):
    """A newer version. `issued_at`: when the publisher signed it, in Unix seconds."""

    version: str
    changes: tuple[str, ...]
    issued_at: int


class UpdatesState(Struct, frozen=True):
    """`checked_at`: when the publisher last answered, in Unix seconds. `error`: of the daemon's last try."""

    running: str  # version
    is_allowed: bool  # the daemon may ask by itself: the setting updates.check
    is_configured: bool  # updates.url and updates.key are set
    can_install: bool  # False: apt, pip or whatever installed it updates it
    offered: Offered | None = None
    checked_at: float | None = None
    progress: WorkProgress | None = None  # of the check or update that runs now
    error: Problem | None = None


STATE = Method("updates.state", Empty, UpdatesState)
CHECK = Method("updates.check", Empty, UpdatesState)  # answers when the publisher has answered
INSTALL = Method("updates.install", Empty, UpdatesState)  # answers when the update has begun
EVENT = "updates"  # UpdatesState: when it changes
