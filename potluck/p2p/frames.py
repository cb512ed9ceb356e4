"""Message frames on a byte stream: one marker byte, eight bytes of length (big-endian), the body.

The framing is hivemind's (marker 0: message; marker 1: error, or the end of the caller's side). A frame's size is
checked before its body is read, memory grows only with bytes that truly came, and reading stops while nobody takes the
frames. Written on asyncio's transport interface, not its streams: one write a small frame, one wake-up a received one.
A callee counts the input that nobody took, and aborts a stream whose caller reads nothing for `UNREAD_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from typing import cast

from potluck.p2p.encoding import decode_varint
from potluck.p2p.pacing import Pacer
from potluck.protocol.codes import Code, RemoteError
from potluck.protocol.values import Buffer
from potluck.wire.errors import decode_refusal

HEADER_BYTES = 9
MESSAGE, ERROR = 0, 1
MAX_ERROR_BYTES = 16_384
JOIN_BELOW_BYTES = 65_536  # up to here one copy is cheaper than a gathering write
UNREAD_S = 30.0  # a window of p2pd's (256 KB) passes in this time over a line of 70 kbit/s
_ROOM_PAUSE_S = 0.05
_MAX_QUEUED_FRAMES = 8  # similar to hivemind, which prefetches 5
_MAX_PROLOGUE_BYTES = 65_536

Prologue = Callable[["FrameStream", bytes], None]
"""Called once with the length-delimited message that p2pd sends before the stream's own bytes."""


class FrameStream(asyncio.Protocol):
    """One end of a stream; implements `potluck.p2p.network.Stream`.

    The two ends differ, as in hivemind: a caller ends its side with an empty error frame, a callee by closing. So a
    callee that sees the stream closed without that frame knows that the caller is gone.
    """

    def __init__(
        self,
        on_prologue: Prologue,
        uploads: Pacer | None = None,
        downloads: Pacer | None = None,
        *,
        is_caller: bool,
    ) -> None:
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.max_frame_bytes = 0  # set by the prologue's reader
        self.accepts_plain_text = False  # set by the prologue's reader: the peer may be a stock one
        self.on_abort: Callable[[], object] = lambda: None  # ends who serves the stream
        self.on_stranger: Callable[[], None] = lambda: None  # called when the peer does not know us
        self.hold: Callable[[int], bool] = lambda num_bytes: True  # counts what is held for the peer; False: no room
        self._on_prologue: Prologue | None = on_prologue
        self._uploads, self._downloads = uploads or Pacer(), downloads or Pacer()
        self._is_held = False  # nothing is read for a moment, because of the cap on downloads
        self._is_caller = is_caller
        self._transport: asyncio.Transport | None = None
        self._chunks: deque[bytes] = deque()
        self._chunk_bytes = 0
        self._needed_bytes = 1  # do not look again before this many bytes are here
        self._reserved_bytes = 0  # bytes counted for the frame that is coming
        self._frames: deque[tuple[bytes, int]] = deque()  # each frame with the bytes counted for it
        self._last: RemoteError | bool | None = False  # what every later receive says; False: still open
        self._receiver: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._reading = True

    # -- the interface of Stream ---------------------------------------------------------------------------------------

    async def send(self, *pieces: Buffer, timeout_s: float | None = None) -> None:
        size = _size_of(pieces)
        if self._uploads.bytes_s:
            await self._uploads.wait(size)
        async with asyncio.timeout(timeout_s):
            await self._write(_message_header(size), pieces, size)

    def send_now(self, *pieces: Buffer) -> bool:
        transport, size = self._open_transport(), _size_of(pieces)
        if self._writable is not None or size > JOIN_BELOW_BYTES:
            return False
        if self._uploads.bytes_s and not self._uploads.passes(size):
            return False
        transport.write(b"".join((_message_header(size), *pieces)))
        return True

    async def send_error(self, refusal: bytes) -> None:
        await self._write(bytes((ERROR,)) + len(refusal).to_bytes(8, "big"), (refusal,), len(refusal))

    async def receive(self, *, timeout_s: float | None = None, silence_s: float | None = None) -> bytes | None:
        if not self._frames and self._last is False:
            await (self._wait_for_news(timeout_s) if silence_s is None else self._wait_unless_silent(silence_s))
        if self._frames:
            frame, counted = self._frames.popleft()
            if counted:
                self.hold(-counted)
            if not self._reading and not self._is_held and len(self._frames) < _MAX_QUEUED_FRAMES // 2:
                self._resume_reading()
            return frame
        last = self._last
        if isinstance(last, RemoteError):  # a new one: its traceback leads back here, and to all that waits
            raise RemoteError(last.code, last.denial or last.message, retry_after_s=last.retry_after_s)
        return None

    async def end(self) -> None:
        if self._is_caller:
            await self._write(bytes((ERROR,)) + bytes(8), (), 0)

    async def close(self) -> None:
        self.close_now()

    def close_now(self) -> None:
        self._finish(_gone("this side closed the stream"))
        self._frames.clear()
        if self._transport is not None:
            self._transport.close()
            self._watch_reader()  # what was written before is still sent

    def abort(self) -> None:
        """End a stream whose peer is gone, does not read, or may no longer speak."""
        self._finish(_gone("the connection was cut off"))
        if self._transport is not None:
            self._transport.abort()
        self.on_abort()

    def write_raw(self, data: bytes) -> None:
        """Send bytes before the first frame, which are p2pd's own."""
        self._open_transport().write(data)

    # -- asyncio's callbacks -------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._transport.set_write_buffer_limits(high=JOIN_BELOW_BYTES, low=0)

    def data_received(self, data: bytes) -> None:
        if self._last is not False:
            return
        self._chunks.append(data)
        self._chunk_bytes += len(data)
        if self._chunk_bytes >= self._needed_bytes:
            self._read_chunks()
        if self._downloads.bytes_s:
            self._hold(self._downloads.owe(len(data)))

    def eof_received(self) -> bool:
        return False  # p2pd has no half-closed streams

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None  # cycles would keep what was not read until the garbage is collected
        on_abort, self.on_abort = self.on_abort, lambda: None
        if not self._is_caller and self._last is False:  # the caller is gone: nobody waits for what is done for it
            on_abort()
        if self._on_prologue is not None:
            self._finish(_gone("the peer-to-peer process closed the connection"))
        elif self._is_caller and not self._chunk_bytes:
            self._finish(None)
        else:
            self._finish(_gone("the connection broke"))
        self.resume_writing()
        if not self.lost.done():
            self.lost.set_result(None)

    def pause_writing(self) -> None:
        if self._writable is None:
            self._writable = asyncio.get_running_loop().create_future()
            self._watch_reader()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None

    # -- inside --------------------------------------------------------------------------------------------------------

    def _read_chunks(self) -> None:
        buffer = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        rest = self._read_frames(buffer)
        self._chunks.clear()
        if rest:
            self._chunks.append(rest)
        self._chunk_bytes = len(rest)
        if len(self._frames) >= _MAX_QUEUED_FRAMES:
            self._pause_reading()

    def _read_frames(self, buffer: bytes) -> bytes:
        """Queue every whole frame of `buffer`; returns what is left of it."""
        offset = 0
        if self._on_prologue is not None:
            offset = self._read_prologue(buffer)
            if self._on_prologue is not None:
                return buffer
        available = len(buffer)
        while self._last is False and available - offset >= HEADER_BYTES:
            marker, size = buffer[offset], int.from_bytes(buffer[offset + 1 : offset + HEADER_BYTES], "big")
            end = offset + HEADER_BYTES + size
            if marker > ERROR or size > (self.max_frame_bytes if marker == MESSAGE else MAX_ERROR_BYTES):
                self._refuse(marker, size)
                return b""
            if end > available:
                self._needed_bytes = end - offset
                self._reserve(size)
                return buffer[offset:] if offset else buffer
            self._queue(marker, buffer[offset + HEADER_BYTES : end])
            offset = end
        self._needed_bytes = HEADER_BYTES
        return buffer[offset:]

    def _read_prologue(self, buffer: bytes) -> int:
        size, offset = decode_varint(buffer)
        if size > _MAX_PROLOGUE_BYTES:
            self._finish(_gone("the peer-to-peer process answered nonsense"))
            return 0
        if offset == 0 or len(buffer) - offset < size:
            return 0
        on_prologue, self._on_prologue = self._on_prologue, None
        assert on_prologue is not None
        on_prologue(self, buffer[offset : offset + size])
        return offset + size

    def _queue(self, marker: int, body: bytes) -> None:
        if marker == MESSAGE:
            counted, is_taken = self._reserved_bytes, self._receiver is not None and not self._frames
            if not counted and not is_taken:
                counted = len(body) if self.hold(len(body)) else 0
            self._reserved_bytes = 0
            self._frames.append((body, counted))
            if not counted and body and not is_taken:
                self._pause_reading()
        elif not body and not self._is_caller:
            self._last = None
        else:
            self._last = self._read_refusal(body)
        self._wake_receiver()

    def _read_refusal(self, body: bytes) -> RemoteError:
        error = decode_refusal(body, may_be_plain_text=self.accepts_plain_text)
        if error.code is Code.NOT_A_MEMBER and self._is_caller:
            self.on_stranger()
            return _gone("the peer started anew and does not know this node")
        return error

    def _refuse(self, marker: int, size: int) -> None:
        what = f"a frame of {size} bytes" if marker <= ERROR else f"an unknown frame marker {marker}"
        self._finish(RemoteError(Code.BAD_REPLY, f"the peer sent {what}"))
        if self._transport is not None:
            self._transport.abort()

    def _finish(self, last: RemoteError | None) -> None:
        if self._last is False:
            self._last = last
            self._chunks.clear()
            self._wake_receiver()

    def _wake_receiver(self) -> None:
        if self._receiver is not None and not self._receiver.done():
            self._receiver.set_result(None)

    async def _wait_unless_silent(self, silence_s: float) -> None:
        heard_bytes = -1
        while not self._frames and self._last is False:
            if heard_bytes == self._chunk_bytes:
                raise TimeoutError("the peer fell silent")
            heard_bytes = self._chunk_bytes
            with contextlib.suppress(TimeoutError):
                await self._wait_for_news(silence_s)

    async def _wait_for_news(self, timeout_s: float | None) -> None:
        """Wait until there is a frame, or there will be none."""
        if self._receiver is not None:
            raise RuntimeError("two tasks receive from one stream")
        loop = asyncio.get_running_loop()
        receiver = self._receiver = loop.create_future()
        timer = None if timeout_s is None else loop.call_later(timeout_s, _expire, receiver)
        try:
            await receiver
        finally:
            self._receiver = None
            if timer is not None:
                timer.cancel()

    async def _write(self, header: bytes, pieces: tuple[Buffer, ...], size: int) -> None:
        transport = self._open_transport()
        if size <= JOIN_BELOW_BYTES:
            transport.write(b"".join((header, *pieces)))
        else:
            transport.writelines([header, *pieces])
        if self._writable is not None:  # a large frame waits until the transport holds none of the caller's buffers
            await asyncio.shield(self._writable)
            if transport.is_closing():
                raise _gone("the connection broke")

    def _open_transport(self) -> asyncio.Transport:
        if self._transport is None or self._transport.is_closing():
            raise _gone("the connection is closed")
        return self._transport

    def _reserve(self, size: int) -> None:
        """Count a frame that is coming before the rest of it is read; without room, look again in a moment."""
        if not self._reserved_bytes:
            if self.hold(size):
                self._reserved_bytes = size
            else:
                self._needed_bytes = HEADER_BYTES
                self._hold(_ROOM_PAUSE_S)

    def _watch_reader(self) -> None:
        """Abort the stream if its caller reads nothing for a while of what is on its way."""
        if not self._is_caller and self._transport is not None and (left := self._transport.get_write_buffer_size()):
            asyncio.get_running_loop().call_later(UNREAD_S, self._check_reader, left)

    def _check_reader(self, left_before: int) -> None:
        if self._transport is not None and self._transport.get_write_buffer_size() < left_before:
            self._watch_reader()
        elif self._transport is not None:
            self.abort()

    def _hold(self, seconds: float) -> None:
        if seconds > 0 and not self._is_held:
            self._is_held = True
            self._pause_reading()
            asyncio.get_running_loop().call_later(seconds, self._end_hold)

    def _end_hold(self) -> None:
        self._is_held = False
        if self._last is False and self._chunk_bytes >= self._needed_bytes:
            self._read_chunks()
        if not self._is_held and not self._reading and len(self._frames) < _MAX_QUEUED_FRAMES:
            self._resume_reading()

    def _pause_reading(self) -> None:
        if self._reading and self._transport is not None and not self._transport.is_closing():
            self._reading = False
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        self._reading = True
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()


def _size_of(pieces: tuple[Buffer, ...]) -> int:
    return sum(piece.nbytes if isinstance(piece, memoryview) else len(piece) for piece in pieces)


def _message_header(size: int) -> bytes:
    return bytes((MESSAGE,)) + size.to_bytes(8, "big")


def _expire(receiver: asyncio.Future[None]) -> None:
    if not receiver.done():
        receiver.set_exception(TimeoutError("no frame came in time"))


def _gone(why: str) -> RemoteError:
    return RemoteError(Code.UNREACHABLE, why)
