"""What the methods of one topic have in common: the daemon they act on, and an end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from potluck_daemon.control.server import Handler

if TYPE_CHECKING:
    from potluck_daemon.daemon import Daemon


class Topic:
    """Made once, before the daemon runs."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon

    def handlers(self) -> dict[str, Handler]:
        """By the method's name."""
        raise NotImplementedError

    def tick(self, now: float) -> None:
        """Called every few seconds while the daemon runs. `now`: Unix seconds."""

    @property
    def notice(self) -> str | None:
        """What a status page should say of it."""
        return None

    async def close(self) -> None:
        """End what was begun and is not over."""
