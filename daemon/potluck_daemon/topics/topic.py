"""What the topics have in common: handlers of methods, a tick, a notice and an end."""

from __future__ import annotations

from potluck_daemon.control.server import Handler


class Topic:
    """One group of methods. It is made once, before the daemon runs."""

    def handlers(self) -> dict[str, Handler]:
        """Return the handler of each method by the method's name."""
        raise NotImplementedError

    def tick(self, now: float) -> None:
        """Do what is due. The daemon calls this every few seconds. `now`: Unix seconds."""

    @property
    def notice(self) -> str | None:
        """The sentence that a status page should show about this topic, if there is one."""
        return None

    async def close(self) -> None:
        """End what was begun and is not over."""
