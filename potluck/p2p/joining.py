"""Decides how a node joins its network: through any peer that answers, with retries, and what to report meanwhile.

Knows nothing of p2pd.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

from potluck.errors import NetworkError
from potluck.protocol.codes import INVITE_OVER, Code, Denial, RemoteError
from potluck.sentences import Sentence, sentence
from potluck.tasks import cancel_and_wait

T = TypeVar("T")

FIRST_DELAY_S, MAX_DELAY_S = 1.0, 30.0
NOBODY_ANSWERS_HINT = "check that one of them runs, and that its address is still the one in the invite"
_REFUSED_HINT = sentence("ask the person who invited you for a new invite")


class TryAgainError(NetworkError):
    """An error that may be gone when the same is tried later.

    Attributes:
        denial: why the swarm does not let this node in; None: another reason.
    """

    def __init__(
        self, message: str | Sentence, *, hint: str | Sentence | None = None, denial: Denial | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.denial = denial


OnWaiting = Callable[[TryAgainError | None], None]
"""Called with the reason each time that a node has to try again, and with None when it no longer waits."""


def delays_s() -> Iterator[float]:
    """Return the pauses between attempts: doubling up to `MAX_DELAY_S`, without end."""
    delay_s = FIRST_DELAY_S
    while True:
        yield delay_s
        delay_s = min(2 * delay_s, MAX_DELAY_S)


async def with_retries(
    attempt: Callable[[], Awaitable[T]],
    *,
    patience_s: float,
    on_waiting: OnWaiting,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> T:
    """Return what `attempt` returns, trying again after each `TryAgainError`.

    Raises:
        TryAgainError: the last one, if no further attempt fits into `patience_s`, or if only another invite helps, for
            which somebody with endless patience waits. Other errors end it at once.
    """
    deadline_s = clock() + patience_s
    has_waited = False
    for delay_s in delays_s():
        try:
            result = await attempt()
        except TryAgainError as error:
            is_over = error.denial in INVITE_OVER and deadline_s < math.inf
            if is_over or clock() + delay_s > deadline_s:
                raise
            has_waited = True
            on_waiting(error)
            await sleep(delay_s)
        else:
            break
    if has_waited:
        on_waiting(None)
    return result


async def until_one_succeeds(attempts: Iterable[Coroutine[Any, Any, object]], *, grace_s: float) -> list[Exception]:
    """Run attempts side by side until one succeeds and the others had `grace_s` more; return why others failed.

    Raises:
        NetworkError: see `joining_error`. None succeeded.
    """
    tasks = [asyncio.create_task(attempt) for attempt in attempts]
    running = set(tasks)
    try:
        while running and not any(map(_is_successful, tasks)):
            _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if running:
            await asyncio.wait(running, timeout=grace_s)
    finally:
        await cancel_and_wait(*(task for task in tasks if not task.done()))
    failures = [error for task in tasks if not task.cancelled() and isinstance(error := task.exception(), Exception)]
    if tasks and not any(map(_is_successful, tasks)):
        raise joining_error(failures) from (ExceptionGroup("what they said", failures) if failures else None)
    return failures


def joining_error(failures: Iterable[Exception]) -> NetworkError:
    """Return what to say if every bootstrap peer failed: a reason from a peer that answered counts before silence."""
    failures = list(failures)
    for failure in failures:
        if isinstance(failure, RemoteError) and failure.code is Code.NOT_A_MEMBER:
            what = sentence("the swarm does not admit this computer: {why}", why=failure.sentence)
            if failure.denial in INVITE_OVER:
                return TryAgainError(what, hint=_REFUSED_HINT, denial=failure.denial)
            return NetworkError(what, hint=_REFUSED_HINT)
    for failure in failures:
        if isinstance(failure, RemoteError) and failure.code is Code.BUSY:
            hint = sentence("try again when another member is online")
            return TryAgainError(failure.sentence, hint=hint, denial=failure.denial)
    for failure in failures:
        if isinstance(failure, TryAgainError):
            # A new one: its cause will be all of these.
            return TryAgainError(failure.sentence, hint=failure.advice, denial=failure.denial)
    what = sentence("no bootstrap peer answers ({number} tried)", number=len(failures))
    return TryAgainError(what, hint=NOBODY_ANSWERS_HINT)


def _is_successful(task: asyncio.Task[object]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None
