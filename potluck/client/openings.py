"""Opens a session at other servers, too, when a server's first answer is late, and takes whoever answers first.

The others open it with its first token, which they take back afterwards, so a race costs hardly any computing. When
the first answer is late, `opening_silence_s` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, Protocol, TypeVar


class Rival(Protocol):
    """A hop that has opened the session at another server."""

    def abandon(self) -> None:
        """Close the session at that server."""


A = TypeVar("A")
Rivals = TypeVar("Rivals", bound=Iterable[Rival])


async def first_to_answer(
    answering: Coroutine[Any, Any, A], late_s: float, open_rivals: Callable[[], Awaitable[Rivals | None]]
) -> tuple[A | None, Rivals | None]:
    """Return an answer, or rivals if it takes longer than `late_s` and they are faster then.

    Args:
        open_rivals: opens the session at other servers, and returns them when they have answered; None: nobody did.
    Raises: as `answering`.
    """
    answer = asyncio.create_task(answering)
    opening: asyncio.Future[Rivals | None] | None = None
    try:
        await asyncio.wait({answer}, timeout=late_s)
        if not answer.done():
            opening = asyncio.ensure_future(open_rivals())
            await asyncio.wait({answer, opening}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and (rivals := opening.result()) is not None:
                opening = None
                return None, rivals
        return await answer, None
    finally:
        answer.cancel()
        if opening is not None and not opening.cancel() and not opening.cancelled() and opening.exception() is None:
            for rival in opening.result() or ():  # they lost by a moment
                rival.abandon()
