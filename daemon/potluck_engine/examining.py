"""Hears reports that this computer returns wrong results, and has its weights looked at.

    a new report -> a random delay, so that computers that are reported together take turns -> `examine`

A report that cannot be examined now counts as new when it is told again.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable

from potluck.tasks import start_task
from potluck_engine.wrong_results import reports_in

_DELAY_S = 20.0  # at most
_AGAIN_S = 86_400.0  # so that nobody can keep a server from its work by reports


class Examiner:
    """The reports about one computer.

    Args:
        known: signed records that say nothing new.
        examine: looks at the weights; False: not now.

    Attributes:
        examination: the last one, which may still run; None: there was none.
    """

    def __init__(self, known: Iterable[bytes], examine: Callable[[], Awaitable[bool]]) -> None:
        self.examination: asyncio.Task[None] | None = None
        self._known = reports_in(known)
        self._examine = examine
        self._examined_s = -math.inf

    def hear(self, news: Iterable[bytes], own_key: bytes) -> None:
        """Look at the weights soon if a record among `news` is a new report about this computer."""
        found = reports_in(news, own_key)  # all are told again now and then
        new = {place: each for place, each in found.items() if self._known.get(place) != each}
        self._known |= new
        if new and time.monotonic() - self._examined_s >= _AGAIN_S:
            self._examined_s = time.monotonic()
            self.examination = start_task(self._examine_soon(new))

    async def _examine_soon(self, reports: Iterable[tuple[bytes, bytes]]) -> None:
        is_examined = False
        try:
            await asyncio.sleep(random.uniform(0.0, _DELAY_S))
            is_examined = await self._examine()
        finally:
            if not is_examined:
                self._examined_s = -math.inf
                for place in reports:
                    self._known.pop(place, None)
