"""Sends an answer to the program that asked, whole or part by part, and gives up when that program is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from potluck.errors import PotluckError, UsageError
from potluck.tasks import cancel_and_wait
from potluck_gateway.answers.answer import Answers, Begun, Part, Told, Waiting
from potluck_gateway.formats.writing import AnswerFormat, dumps
from potluck_gateway.requests import BadRequestError, ContextLengthError

SOCKET_TIMEOUT_S = 60.0  # for a client that neither sends nor reads
RETRY_AFTER_S = 15  # the client reads the directory this often

T = TypeVar("T")
Parts = AsyncIterator[Told | Answers]


class Reply:
    """The response to a request for an answer. Raises BadRequestError if nothing has been sent yet."""

    def __init__(self, parts: Parts, form: AnswerFormat, *, is_streamed: bool, headers: Mapping[str, str]) -> None:
        self._parts = parts
        self._form = form
        self._is_streamed = is_streamed
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await while_connected(receive, self._send(scope, receive, send))

    async def _send(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_streamed:
            await self._stream(send)
            return
        async for item in self._refusing():
            if isinstance(item, tuple):
                body = dumps(self._form.whole(item))
                await Response(body, headers=self._headers, media_type="application/json")(scope, receive, send)

    async def _stream(self, send: Send) -> None:
        """Send the answer part by part. Its head waits for the first part: earlier failures have their own status."""
        is_begun = False
        try:
            async for item in self._refusing():
                if data := self._written(item):
                    if not is_begun:
                        is_begun = True
                        await self._begin(send)
                    await _send_body(send, data)
        except BadRequestError as error:
            if not is_begun:
                raise
            await _send_body(send, self._form.failure(error.sentence))
        await _send_body(send, b"", more=False)

    def _written(self, item: Told | Answers) -> bytes:
        match item:
            case Begun():
                return self._form.begun(item)
            case Part():
                return self._form.part(item)
            case Waiting(sentence):
                return self._form.wait(sentence)
            case _:
                return self._form.end(item)

    async def _begin(self, send: Send) -> None:
        headers = {"Content-Type": self._form.media_type, "Cache-Control": "no-store", **self._headers}
        raw = [(name.lower().encode(), text.encode()) for name, text in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        await _send_body(send, self._form.begin())

    async def _refusing(self) -> Parts:
        """Yield the parts, and turn the failures of the swarm into refusals."""
        async with aclosing(self._parts) as parts:  # type: ignore[type-var]
            try:
                async for item in parts:
                    yield item
            except PotluckError as error:
                raise refusal(error) from error


def refusal(error: PotluckError) -> BadRequestError:
    """Return how a request is refused because of `error`."""
    if isinstance(error, ContextLengthError):
        return BadRequestError(error.whole, 400, "context_length_exceeded")
    if isinstance(error, UsageError):
        return BadRequestError(error.whole)
    return BadRequestError(error.whole, 503, retry_after_s=RETRY_AFTER_S)


async def _send_body(send: Send, data: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(SOCKET_TIMEOUT_S):
        await send({"type": "http.response.body", "body": data, "more_body": more})


async def while_connected(receive: Receive, work: Coroutine[Any, Any, T]) -> T | None:
    """Return the result of `work`, or None if the program that asked is gone before."""
    task = asyncio.create_task(work)
    watch = asyncio.create_task(_until_gone(receive))
    try:
        await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await cancel_and_wait(watch)
        if not task.done():
            await cancel_and_wait(task)
    return None if task.cancelled() else task.result()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
