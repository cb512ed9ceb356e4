"""A transport without a network, and an event loop that does not wait: its time jumps to the next timer."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class Pipe(asyncio.Transport):
    """A transport that remembers what was written and done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[Any] = []
        self.is_reading = True
        self.is_closed = False
        self.unsent_bytes = 0

    def write(self, data: Any) -> None:
        self.writes.append(data)

    def writelines(self, list_of_data: Any) -> None:
        self.writes += list_of_data

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        self.is_reading = False

    def resume_reading(self) -> None:
        self.is_reading = True


class _JumpingLoop(asyncio.SelectorEventLoop):
    now = 100.0

    def time(self) -> float:
        return self.now

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now = max(self.now, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop whose timers are due at once, in their order."""
    with asyncio.Runner(loop_factory=_JumpingLoop) as runner:
        runner.run(main)
