"""Pushes the outputs of sessions to the next servers of their routes, and receives what others push to sessions here.

    client   names the next server and a secret  ->  `Pusher` opens a stream to it, which accepts it by the secret
    client   asks for a push with a step         ->  its output leaves before the answer does
    pushed   secret, peer and number are right   ->  `SessionPushes` keeps it for the step that the client announced

No step depends on a push: whatever is refused, dropped or late comes from the client instead. When a session ends, the
streams and tasks of its pushes end with it, in both directions.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from torch import Tensor

from potluck.p2p.network import Host, Stream
from potluck.protocol.blocks import PeerId
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.messages import Awaited, Pushed, PushLink, PushOpening, StepRequest
from potluck.protocol.values import Buffer
from potluck.tasks import start_task
from potluck.wire import protocols
from potluck.wire.message import ACCEPTED, Limits, decode_request, encode
from potluck.wire.sessions import decode_push
from potluck.wire.tensors import encode_tensors
from potluck_engine.serving.admission import LARGE_BYTES, SMALL_BYTES

log = logging.getLogger(__name__)

_CONNECT_S = 10.0  # bounds the opening of a stream to the next server, which may have to be dialled
_ACCEPT_S = 10.0
_SEND_S = 30.0  # bounds the sending of an output that does not fit into a connection's buffers
_MAX_ANSWER_BYTES = 4096
_MAX_EARLY = 4  # large outputs whose steps have not begun; nothing more is read until there is room
_MAX_LEAVING = 8  # large outputs on their way out of one session; later ones come from the client
TAKES_AHEAD = 32
"""How many steps of a session may wait at once. The same bound holds for outputs that others push, for answers, and for
outputs that leave.

All but a few large ones have at most `SMALL_BYTES`, so a session holds at most 8 MiB of small ones.
"""


def has_room(sizes: Iterable[int], most_large: int) -> bool:
    """Return whether another message may wait beside messages of these sizes in bytes."""
    waiting = list(sizes)
    return len(waiting) < TAKES_AHEAD and sum(size > SMALL_BYTES for size in waiting) < most_large


class SendQueue:
    """Sends messages in order that did not fit into a connection's buffers. Later messages have to queue behind them.

    Args:
        on_lost: called if the peer is gone, or reads nothing for `timeout_s`.

    Attributes:
        waiting: the messages that have not left, each with the callback for when it has.
    """

    def __init__(self, stream: Stream, on_lost: Callable[[], None], *, timeout_s: float | None = None) -> None:
        self._stream = stream
        self._on_lost = on_lost
        self._timeout_s = timeout_s
        self.waiting: deque[tuple[tuple[Buffer, ...], Callable[[], None] | None]] = deque()
        self._task: asyncio.Task[None] | None = None

    def send(self, pieces: tuple[Buffer, ...], on_left: Callable[[], None] | None = None) -> bool:
        """Send a message and return True; or queue it, return False, and call `on_left` when it has left.

        Raises RemoteError if the peer is gone.
        """
        if not self.waiting and self._stream.send_now(*pieces):
            return True
        self.waiting.append((pieces, on_left))
        if self._task is None or self._task.done():
            self._task = start_task(self._send_waiting())
        return False

    def has_room(self, most_large: int) -> bool:
        """Return whether another message may be queued."""
        return has_room((sum(map(len, pieces)) for pieces, _ in self.waiting), most_large)

    def close(self) -> None:
        """Drop what has not left."""
        self.waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _send_waiting(self) -> None:
        try:
            while self.waiting:
                pieces, on_left = self.waiting[0]
                await self._stream.send(*pieces, timeout_s=self._timeout_s)
                self.waiting.popleft()
                if on_left is not None:
                    on_left()
        except (RemoteError, TimeoutError):
            self._on_lost()


@dataclass(frozen=True, slots=True)
class Pushes:
    """The pushes of one engine, in both directions.

    Attributes:
        expected: the sessions that receive pushes, by their secrets.
        opening_timeout_s: bounds the wait for a stream's first message.
    """

    host: Host
    limits: Limits
    opening_timeout_s: float
    expected: dict[bytes, SessionPushes] = field(default_factory=dict)


async def receive_pushes(pushes: Pushes, stream: Stream, peer: PeerId) -> None:
    """Receive the pushes of one stream.

    Raises:
        RemoteError: NOT_SERVED if no session here expects pushes from this peer; BAD_REQUEST for a malformed push.
    """
    try:
        body = await stream.receive(timeout_s=pushes.opening_timeout_s)
    except TimeoutError:
        return
    session = None if body is None else pushes.expected.get(decode_request(body, PushOpening).secret)
    if session is None or not session.expects(peer):
        raise RemoteError(Code.NOT_SERVED, "no session here expects pushes of this peer")
    session.receiving = asyncio.current_task()
    limits = pushes.limits
    try:
        await stream.send(ACCEPTED)
        while (body := await stream.receive()) is not None:
            if len(body) > LARGE_BYTES:
                pushed = await asyncio.to_thread(decode_push, body, limits=limits)
            else:
                pushed = decode_push(body, limits=limits)
            while not session.put(pushed):
                await session.wait_for_room()
    finally:
        if session.receiving is asyncio.current_task():
            session.receiving = None


class SessionPushes:
    """Holds the outputs that another server pushed to a session until its steps begin, and pushes its own.

    Attributes:
        early: outputs by their numbers.
        last: the highest number that was used or dropped.
        receiving: the task that receives what the server before pushes.
        pusher: pushes outputs to the next server once the client has named it.
    """

    def __init__(self, pushes: Pushes, on_pushed: Callable[[], None]) -> None:
        """Prepare for one session; `on_pushed` is called when an output has come."""
        self._pushes = pushes
        self._on_pushed = on_pushed
        self.early: dict[int, Pushed] = {}
        self.last = -1
        self.pusher: Pusher | None = None
        self._room = asyncio.Event()  # set when there may be room for another output
        self._pushed_by: PushLink | None = None
        self.receiving: asyncio.Task[object] | None = None

    def follow(self, request: StepRequest) -> None:
        """Use the links that the client names from now on. Raises RemoteError for a secret that is in use."""
        if request.pushed_by is not None:
            self._forget()
            if request.pushed_by.secret in self._pushes.expected:
                raise RemoteError(Code.BAD_REQUEST, "another session has this secret")
            self._pushes.expected[request.pushed_by.secret] = self
            self._pushed_by = request.pushed_by
        if request.push_to is not None:
            if self.pusher is not None:
                self.pusher.close()
            self.pusher = Pusher(self._pushes.host, request.push_to)

    def expects(self, peer: PeerId) -> bool:
        """Return whether `peer` may push now, on one stream at a time."""
        return self.receiving is None and self._pushed_by is not None and self._pushed_by.peer == peer

    def put(self, pushed: Pushed) -> bool:
        """Keep an output unless its step is over. Return False if there is no room for it now."""
        if pushed.number > self.last:
            if not has_room((each.hidden.nbytes for each in self.early.values()), _MAX_EARLY):
                return False
            self.early[pushed.number] = pushed
            self._on_pushed()
        return True

    async def wait_for_room(self) -> None:
        self._room.clear()
        await self._room.wait()

    def pop(self, awaited: Awaited) -> Pushed | None:
        """Remove and return the output of this number; None if it is not here, or not of the announced size."""
        pushed = self.early.pop(awaited.number, None)
        if pushed is None or pushed.hidden.shape[:2] != (awaited.rows, awaited.tokens):
            self._room.set()
            return None
        return pushed

    def drop_until(self, number: int) -> None:
        """Drop the outputs up to this number, also those that are still to come."""
        self.last = max(self.last, number)
        if self.early:
            self.early = {number: pushed for number, pushed in self.early.items() if number > self.last}
        self._room.set()

    def close(self) -> None:
        """Drop the outputs that were pushed, and end the streams in both directions."""
        self._forget()
        self.early.clear()
        if self.pusher is not None:
            self.pusher.close()

    def _forget(self) -> None:
        """Expect no more pushes, and end the stream on which they come."""
        if self._pushed_by is not None:
            self._pushes.expected.pop(self._pushed_by.secret, None)
            self._pushed_by = None
        if self.receiving is not None:
            self.receiving.cancel()
            self.receiving = None


class Pusher:
    """Pushes one session's outputs to the same client's session at the next server. The stream opens in the background.

    Attributes:
        stream: set once the next server has accepted it.
    """

    def __init__(self, host: Host, link: PushLink) -> None:
        self.stream: Stream | None = None
        self._queue: SendQueue
        self._task = start_task(self._run(host, link))

    def push(self, number: int, output: Tensor, packed: Tensor | None) -> bool:
        """Send an output, packed if `packed` is given. Return False if it cannot leave now."""
        if self.stream is None or not self._queue.has_room(_MAX_LEAVING):
            return False
        try:
            self._queue.send(encode_tensors(Pushed(number, output, (packed,))))
        except RemoteError:
            self.close()
            return False
        return True

    def close(self) -> None:
        self._task.cancel()

    async def _run(self, host: Host, link: PushLink) -> None:
        """Open the stream and keep it until the other side ends it."""
        stream = None
        try:
            if host.person_of(link.peer) is None:  # a client must not make us dial strangers
                raise RemoteError(Code.NOT_A_MEMBER, "the next server belongs to no member")
            stream = await host.open_stream(
                link.peer, protocols.PUSH, timeout_s=_CONNECT_S, max_frame_bytes=_MAX_ANSWER_BYTES
            )
            await stream.send(encode(PushOpening(link.secret)))
            if await stream.receive(timeout_s=_ACCEPT_S) is not None:
                self._queue, self.stream = SendQueue(stream, self.close, timeout_s=_SEND_S), stream
                await stream.receive()
        except (RemoteError, TimeoutError) as error:
            log.debug("no pushes to the next server: %s", error)
        finally:
            if self.stream is not None:
                self.stream = None
                self._queue.close()
            if stream is not None:
                await stream.close()
