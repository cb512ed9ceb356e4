"""Pushes the outputs of sessions to the next servers of their routes, and takes in what others push to sessions here.

    client   names the next server and a secret  ->  `Pusher` opens a stream to it, which accepts it by the secret
    client   asks for a push with a step         ->  its output leaves before the answer does
    pushed   secret, peer and number are right   ->  `Inbox` keeps it for the step that the client announced

A push is never needed: whatever is refused, dropped or late comes from the client instead. A session that ends takes
the streams and tasks of its pushes with it, both ways.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from torch import Tensor

from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.buffers import Buffer
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, PushLink, StepRequest
from potluck.tasks import start_task
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


class Outbox:
    """Sends messages in order: at once while they fit into the buffers of the connection, else one by one in a task.

    Args:
        on_lost: called if the peer is gone, or reads nothing for `timeout_s`.
    """

    def __init__(self, stream: Stream, on_lost: Callable[[], None], *, timeout_s: float | None = None) -> None:
        self._stream = stream
        self._on_lost = on_lost
        self._timeout_s = timeout_s
        self._waiting: deque[tuple[tuple[Buffer, ...], Callable[[], None]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        """Number of messages that have not left."""
        return len(self._waiting)

    def send(self, pieces: tuple[Buffer, ...], on_left: Callable[[], None]) -> None:
        """Send a message, and call `on_left` when it has left. Raises RemoteError if the peer is known to be gone."""
        if not self._waiting and self._stream.send_now(*pieces):
            on_left()
            return
        self._waiting.append((pieces, on_left))
        if self._task is None or self._task.done():
            self._task = start_task(self._send())

    def close(self) -> None:
        """Drop what has not left."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send(self) -> None:
        try:
            while self._waiting:
                pieces, on_left = self._waiting[0]
                await self._stream.send(*pieces, timeout_s=self._timeout_s)
                self._waiting.popleft()
                on_left()
        except (RemoteError, TimeoutError):
            self._on_lost()


class Pushes:
    """The pushes of one engine, both ways; `expected` are the sessions that take them in, by their secrets."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.expected: dict[bytes, SessionPushes] = {}

    async def receive(self, stream: Stream, peer: PeerId, limits: Limits, *, timeout_s: float) -> None:
        """Serve one stream of pushes. Raises RemoteError NOT_SERVED if no session here expects them of this peer."""
        try:
            body = await stream.receive(timeout_s=timeout_s)
        except TimeoutError:
            return
        session = None if body is None else self.expected.get(decode_push_opening(body))
        if session is None or not session.expects(peer):
            raise RemoteError(Code.NOT_SERVED, "no session here expects pushes of this peer")
        await session.receive(stream, limits)


class SessionPushes:
    """Holds what is pushed to one session, and what it pushes on."""

    def __init__(self, pushes: Pushes, on_pushed: Callable[[], None]) -> None:
        """`on_pushed` is called when something has come."""
        self._pushes = pushes
        self._on_pushed = on_pushed
        self._inbox = Inbox()
        self._room = asyncio.Event()  # there may be room in the inbox
        self._pushed_by: PushLink | None = None
        self._receiving: asyncio.Task[object] | None = None  # what the server before pushes
        self._pusher: Pusher | None = None

    def follow(self, request: StepRequest) -> None:
        """Take the links that the client names. Raises RemoteError for a secret that is in use."""
        if request.pushed_by is not None:
            self._forget()
            if request.pushed_by.secret in self._pushes.expected:
                raise RemoteError(Code.BAD_REQUEST, "another session has this secret")
            self._pushes.expected[request.pushed_by.secret] = self
            self._pushed_by = request.pushed_by
        if request.push_to is not None:
            if self._pusher is not None:
                self._pusher.close()
            self._pusher = Pusher(self._pushes.host, request.push_to)

    def expects(self, peer: PeerId) -> bool:
        """Return whether `peer` may push now; one stream at a time."""
        return self._receiving is None and self._pushed_by is not None and self._pushed_by.peer == peer

    async def receive(self, stream: Stream, limits: Limits) -> None:
        """Take in what is pushed. Raises RemoteError."""
        self._receiving = asyncio.current_task()
        try:
            await stream.send(ACCEPTED)
            while (body := await stream.receive()) is not None:
                pushed = await in_thread_if_large(len(body), partial(decode_push, body, limits=limits))
                while not self._inbox.has_room_for(pushed.number):
                    self._room.clear()
                    await self._room.wait()
                if self._inbox.put(pushed):
                    self._on_pushed()
        finally:
            if self._receiving is asyncio.current_task():
                self._receiving = None

    def take(self, awaited: Awaited) -> Pushed | None:
        """Return what was pushed for an announced step; None while it is awaited."""
        self._room.set()
        return self._inbox.take(awaited)

    def give_up(self, number: int) -> None:
        """Take nothing any more up to this number."""
        self._inbox.give_up(number)
        self._room.set()

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
        """Drop everything that was pushed, or is on its way."""
        self._forget()
        self._inbox.early.clear()
        if self._pusher is not None:
            self._pusher.close()

    def _forget(self) -> None:
        """Expect no pushes any more, and end the stream of those that come."""
        if self._pushed_by is not None:
            self._pushes.expected.pop(self._pushed_by.secret, None)
            self._pushed_by = None
        if self._receiving is not None:
            self._receiving.cancel()
            self._receiving = None


class Pusher:
    """The way from one session to the same client's session at the next server, which opens in the background."""

    def __init__(self, host: Host, link: PushLink) -> None:
        self._outbox: Outbox | None = None  # once the next server has accepted the stream
        self._task = start_task(self._run(host, link))

    @property
    def is_open(self) -> bool:
        return self._outbox is not None

    def push(self, number: int, output: Tensor, packed: Tensor | None) -> bool:
        """Send an output, packed if it can be; return False if it cannot leave now."""
        if self._outbox is None or len(self._outbox) >= _MAX_LEAVING:
            return False
        try:
            self._outbox.send(encode_push(number, output, packed), lambda: None)
        except RemoteError:
            self.close()
            return False
        return True

    def close(self) -> None:
        self._task.cancel()

    async def _run(self, host: Host, link: PushLink) -> None:
        """Open the stream and hold it until the other side ends it."""
        stream = None
        try:
            if host.person_of(link.peer) is None:  # never dial whomever a client names
                raise RemoteError(Code.NOT_A_MEMBER, "the next server belongs to no member")
            stream = await host.open_stream(
                link.peer, protocols.PUSH, timeout_s=_CONNECT_S, max_frame_bytes=_MAX_ANSWER_BYTES
            )
            await stream.send(encode_push_opening(link.secret))
            if await stream.receive(timeout_s=_ACCEPT_S) is not None:
                self._outbox = Outbox(stream, self.close, timeout_s=_SEND_S)
                await stream.receive()
        except (RemoteError, TimeoutError) as error:
            log.debug("no pushes to the next server: %s", error)
        finally:
            if self._outbox is not None:
                self._outbox.close()
                self._outbox = None
            if stream is not None:
                await stream.close()
