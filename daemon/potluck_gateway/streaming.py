"""Streams an answer to the calling program, is never silent for long, and gives up when that program has gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from potluck.errors import PotluckError, UsageError
from potluck.sentences import NOTHING, Sentence
from potluck_gateway.exchange import AnswerBegun, AnswerEvent, AnswerPart, Answers, BadRequestError, ContextLengthError
from potluck_gateway.formats.writing import AnswerFormat

_log = logging.getLogger(__name__)

HEAD_S = 0.75  # delay before a stream begins; a failure before that gets its own status
SILENCE_S = 5.0  # silence before a stream shows a sign of life; programs give up after a minute or more
_RETRY_AFTER_S = 15  # the interval at which the client reads the directory


async def stream(
    answer: Callable[[Callable[[AnswerEvent], None]], Coroutine[Any, Any, Answers]],
    form: AnswerFormat,
    headers: Mapping[str, str],
    _scope: Scope,
    _receive: Receive,
    send: Send,
) -> None:
    """Send the events of `answer` and its result. Raises what `answer` raises if nothing has been sent yet."""
    loop = asyncio.get_running_loop()
    items: asyncio.Queue[AnswerEvent | asyncio.Task[Answers]] = asyncio.Queue()
    task = asyncio.create_task(answer(items.put_nowait))
    task.add_done_callback(items.put_nowait)
    item: AnswerEvent | asyncio.Task[Answers] | None = None
    start, has_begun, silent_until = form.begin(), False, loop.time() + HEAD_S
    try:
        while item is not task:
            item = None
            with suppress(TimeoutError):
                async with asyncio.timeout_at(silent_until):
                    item = await items.get()
            try:
                data = _written(form, item)
            except Exception as error:
                if not has_begun:
                    raise
                data = form.failure(refusal(error))
            if not has_begun:
                head = Headers({"Content-Type": form.media_type, "Cache-Control": "no-store", **headers})
                await send({"type": "http.response.start", "status": 200, "headers": head.raw})
                has_begun, data = True, start + data
            if not data and loop.time() >= silent_until:
                data = form.wait(NOTHING)
            if data or item is task:
                await send({"type": "http.response.body", "body": data, "more_body": item is not task})
                silent_until = loop.time() + SILENCE_S
    finally:
        task.cancel()


def _written(form: AnswerFormat, item: AnswerEvent | asyncio.Task[Answers] | None) -> bytes:
    """Return an event, or the end of an answer, in the format. Raises what the answer's task raised."""
    match item:
        case None:
            return b""
        case AnswerBegun():
            return form.begun(item)
        case AnswerPart():
            return form.part(item)
        case Sentence():
            return form.wait(item)
        case _:
            return form.end(item.result())


def refusal(error: Exception) -> BadRequestError:
    """Return how a request is refused because of `error`."""
    if isinstance(error, BadRequestError):
        return error
    if isinstance(error, UsageError):
        is_too_long = isinstance(error, ContextLengthError)
        return BadRequestError(error.whole, code="context_length_exceeded" if is_too_long else None)
    if isinstance(error, PotluckError):
        return BadRequestError(error.whole, 503, retry_after_s=_RETRY_AFTER_S)
    _log.error("a request failed", exc_info=error)
    return BadRequestError(f"the gateway failed: {type(error).__name__}", 500)


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[None]:
    """Run the block, and end it when the calling program has gone."""
    try:
        async with asyncio.timeout(None) as end:
            watch = asyncio.create_task(_end_when_gone(receive, end))
            try:
                yield
            finally:
                watch.cancel()
    except TimeoutError:
        if not end.expired():  # it came from the block
            raise


async def _end_when_gone(receive: Receive, end: asyncio.Timeout) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    end.reschedule(asyncio.get_running_loop().time())
