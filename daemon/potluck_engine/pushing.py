"""Pushes the outputs of sessions to the next servers of their routes, and takes in what others push to sessions here.

    client   names the next server and a secret  ->  `Pusher` opens a stream to it, which accepts it by the secret
    client   asks for a push with a step         ->  its output leaves before the answer does
    pushed   secret, peer and number are right   ->  `Inbox` keeps it for the step that the client announced

A push is never needed: whatever is refused, dropped or late comes from the client instead.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial

from torch import Tensor

from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, StepRequest
from potluck.tasks import BackgroundTasks, start_task
from potluck.wire import protocols
from potluck.wire.limits import Limits
from potluck.wire.pushes import ACCEPTED, Pushed, decode_push, decode_push_opening, encode_push, encode_push_opening
from potluck_engine.in_thread import in_thread_if_large

log = logging.getLogger(__name__)

_CONNECT_S = 10.0  # to open a stream to the next server, which may have to be dialled
_ACCEPT_S = 10.0
_SEND_S = 30.0  # for an output that does not fit into the buffers of a connection
_MAX_ANSWER_BYTES = 4096
_MAX_EARLY = 4  # outputs whose steps have not begun; nothing more is read until there is room
_MAX_LEAVING = 8  # outputs on their way out of one session; after that, the client brings them


@dataclass(slots=True)
class Inbox:
    """The outputs that another server pushed to one session, until their steps begin. No I/O."""

    early: dict[int, Pushed] = field(default_factory=dict)
    last: int = -1  # highest number that was taken, or given up

    def has_room_for(self, number: int) -> bool:
        """Return whether an output of this number can be put now, or dropped because it is late."""
        return number <= self.last or len(self.early) < _MAX_EARLY

    def put(self, pushed: Pushed) -> bool:
        """Keep an output; return whether its step may still come."""
        if pushed.number <= self.last:
            return False
        self.early[pushed.number] = pushed
        return True

    def take(self, awaited: Awaited) -> Pushed | None:
        """Return the output of this number if it is here and of the announced size."""
        pushed = self.early.pop(awaited.number, None)
        if pushed is None or pushed.hidden.shape[:2] != (awaited.rows, awaited.tokens):
            return None
        self.give_up(awaited.number)
        return pushed

    def give_up(self, number: int) -> None:
        """Take nothing any more up to this number."""
        self.last = max(self.last, number)
        self.early = {number: pushed for number, pushed in self.early.items() if number > self.last}


@dataclass(slots=True, eq=False)
class _Expected:
    """A session that expects pushes of one peer."""

    peer: PeerId
    on_pushed: Callable[[Pushed], Awaitable[None]]
    stream: Stream | None = None


class Pushes:
    """All pushes of one engine, both ways."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._expected: dict[bytes, _Expected] = {}
        self._closing = BackgroundTasks()

    def expect(self, link: PushLink, on_pushed: Callable[[Pushed], Awaitable[None]]) -> None:
        """Take in what the peer of `link` pushes from now on. Raises RemoteError if the secret is in use."""
        if link.secret in self._expected:
            raise RemoteError(Code.BAD_REQUEST, "another session has this secret")
        self._expected[link.secret] = _Expected(link.peer, on_pushed)

    def forget(self, link: PushLink) -> None:
        """End the stream that `expect` allowed, if there is one."""
        expected = self._expected.pop(link.secret, None)
        if expected is not None and expected.stream is not None:
            self._closing.start(expected.stream.close())

    async def receive(self, stream: Stream, peer: PeerId, limits: Limits, *, timeout_s: float) -> None:
        """Serve one stream of pushes. Raises RemoteError NOT_SERVED if no session here expects them of this peer."""
        try:
            body = await stream.receive(timeout_s=timeout_s)
        except TimeoutError:
            return
        expected = None if body is None else self._expected.get(decode_push_opening(body))
        if expected is None or expected.peer != peer or expected.stream is not None:
            raise RemoteError(Code.NOT_SERVED, "no session here expects pushes of this peer")
        expected.stream = stream
        try:
            await stream.send(ACCEPTED)
            while (body := await stream.receive()) is not None:
                await expected.on_pushed(await in_thread_if_large(len(body), partial(decode_push, body, limits=limits)))
        finally:
            expected.stream = None

    def open(self, link: PushLink) -> Pusher:
        """Return the way to the next server of a session, which opens in the background."""
        return Pusher(self._host, link)


class SessionPushes:
    """Holds what is pushed to one session, and what it pushes on."""

    def __init__(self, pushes: Pushes, on_pushed: Callable[[], None]) -> None:
        """`on_pushed` is called when something has come."""
        self._pushes = pushes
        self._on_pushed = on_pushed
        self._inbox = Inbox()
        self._room = asyncio.Event()  # there may be room in the inbox
        self._pushed_by: PushLink | None = None
        self._pusher: Pusher | None = None
        self._digest: bytes | None = None  # of the inputs of the latest pushed step

    def follow(self, request: StepRequest) -> None:
        """Take the links that the client names. Raises RemoteError for a secret that is in use."""
        if request.pushed_by is not None:
            if self._pushed_by is not None:
                self._pushes.forget(self._pushed_by)
            self._pushes.expect(request.pushed_by, self._take_in)
            self._pushed_by = request.pushed_by
        if request.push_to is not None:
            if self._pusher is not None:
                self._pusher.close()
            self._pusher = self._pushes.open(request.push_to)

    def fill(self, request: StepRequest) -> StepRequest | None:
        """Return the step with its hidden states; None while they are awaited."""
        if request.awaited is None or request.hidden is not None:
            return request
        pushed = self._inbox.take(request.awaited)
        self._room.set()
        if pushed is None:
            return None
        self._digest = pushed.digest
        return replace(request, hidden=pushed.hidden)

    def give_up(self, number: int) -> None:
        """Take nothing any more up to this number."""
        self._inbox.give_up(number)
        self._room.set()

    def digest_for(self, request: StepRequest) -> bytes | None:
        """Return the digest of what was pushed for this step, the latest one that began; None if nothing was."""
        return None if request.awaited is None else self._digest

    @property
    def can_push(self) -> bool:
        return self._pusher is not None and self._pusher.is_open

    def push(self, request: StepRequest, output: Tensor, packed: Tensor | None) -> bool:
        """Push the output of a step if the client asks for it; return whether it is on its way.

        It has the dtype of the input, which is the client's: the next server computes with what the client would send.
        """
        if request.push_number is None or self._pusher is None:
            return False
        assert request.hidden is not None
        return self._pusher.push(request.push_number, output.to(request.hidden.dtype), packed)

    def close(self) -> None:
        self._on_pushed = lambda: None  # the session that it leads to is freed at once
        if self._pushed_by is not None:
            self._pushes.forget(self._pushed_by)
        if self._pusher is not None:
            self._pusher.close()

    async def _take_in(self, pushed: Pushed) -> None:
        while not self._inbox.has_room_for(pushed.number):
            self._room.clear()
            await self._room.wait()
        if self._inbox.put(pushed):
            self._on_pushed()


class Pusher:
    """The way from one session to the same client's session at the next server."""

    def __init__(self, host: Host, link: PushLink) -> None:
        self._host = host
        self._link = link
        self._stream: Stream | None = None  # accepted
        self._leaving: deque[tuple[Buffer, ...]] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._task = start_task(self._run())

    @property
    def is_open(self) -> bool:
        return self._stream is not None

    def push(self, number: int, output: Tensor, packed: Tensor | None = None) -> bool:
        """Send an output, packed if it can be; return False if it cannot leave now."""
        if self._stream is None or len(self._leaving) >= _MAX_LEAVING:
            return False
        pieces = encode_push(number, output, packed)
        try:
            if self._sending is not None:
                self._leaving.append(pieces)
            elif not self._stream.send_now(*pieces):
                self._leaving.append(pieces)
                self._sending = start_task(self._send_slowly(self._stream))
        except RemoteError:
            self._stream = None
            return False
        return True

    def close(self) -> None:
        self._task.cancel()
        if self._sending is not None:
            self._sending.cancel()

    async def _run(self) -> None:
        """Open the stream and hold it until the other side ends it."""
        stream = None
        try:
            if self._host.person_of(self._link.peer) is None:  # never dial whomever a client names
                raise RemoteError(Code.NOT_A_MEMBER, "the next server belongs to no member")
            stream = await self._host.open_stream(
                self._link.peer, protocols.PUSH, timeout_s=_CONNECT_S, max_frame_bytes=_MAX_ANSWER_BYTES
            )
            await stream.send(encode_push_opening(self._link.secret))
            if await stream.receive(timeout_s=_ACCEPT_S) is not None:
                self._stream = stream
                await stream.receive()
        except (RemoteError, TimeoutError) as error:
            log.debug("no pushes to the next server: %s", error)
        finally:
            self._stream = None
            if stream is not None:
                await stream.close()

    async def _send_slowly(self, stream: Stream) -> None:
        try:
            while self._leaving:
                await stream.send(*self._leaving[0], timeout_s=_SEND_S)
                self._leaving.popleft()
        except (RemoteError, TimeoutError):
            self._stream = None
        finally:
            self._leaving.clear()
            self._sending = None
