"""Opens a session at other servers, too, when a server's first answer is late, and takes whoever answers first.

The others open it with its first token, which they take back afterwards, so a race costs hardly any computing. When
the first answer is late, `opening_silence_s` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import StepReply

if TYPE_CHECKING:
    from potluck.client.hop import Hop

OpenRivals = Callable[["Hop"], Awaitable["list[Hop] | None"]]
"""Opens the session of a late hop at other servers, and returns them when they have answered; None: nobody did."""


class Overtaken(RemoteError):  # noqa: N818 (it is the success of others)
    """Other servers answered the opening of the session first; `rivals` have it open."""

    def __init__(self, rivals: list[Hop]) -> None:
        super().__init__(Code.BUSY, "another server answered the opening of the session first")
        self.rivals = rivals


async def unless_overtaken(
    answering: Coroutine[Any, Any, StepReply | None], late_s: float, late: Hop, open_rivals: OpenRivals
) -> StepReply | None:
    """Return the first answer of `late`, unless it takes longer than `late_s` and others are faster then.

    Raises:
        Overtaken: they are.
        RemoteError: as `answering`.
    """
    answer = asyncio.create_task(answering)
    opening: asyncio.Future[list[Hop] | None] | None = None
    try:
        await asyncio.wait({answer}, timeout=late_s)
        if not answer.done():
            opening = asyncio.ensure_future(open_rivals(late))
            await asyncio.wait({answer, opening}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and (rivals := opening.result()) is not None:
                opening = None
                raise Overtaken(rivals)
        return await answer
    finally:
        answer.cancel()
        if opening is not None and not opening.cancel() and not opening.cancelled() and opening.exception() is None:
            for rival in opening.result() or ():  # they lost by a moment
                rival.abandon()
