"""Frames cut anywhere, frames that lie, and bytes that are no frames at all."""

import asyncio
import random

import pytest
from in_memory import Pipe, run

from potluck.p2p.frames import JOIN_BELOW_BYTES, UNREAD_S, FrameStream
from potluck.protocol.codes import Code, Denial, RemoteError
from potluck.wire.errors import encode_refusal


def frame(body: bytes, marker: int = 0) -> bytes:
    return bytes((marker,)) + len(body).to_bytes(8, "big") + body


def make(*, is_caller: bool = True, limit: int = 1000) -> tuple[FrameStream, Pipe]:
    def on_prologue(stream: FrameStream, body: bytes) -> None:
        assert body == b"hello"
        stream.max_frame_bytes = limit

    stream, pipe = FrameStream(on_prologue, is_caller=is_caller), Pipe()
    stream.connection_made(pipe)
    return stream, pipe


async def received(stream: FrameStream) -> list[bytes | Code | None]:
    """Everything up to the end of the stream."""
    frames: list[bytes | Code | None] = []
    while True:
        try:
            frames.append(await stream.receive(timeout_s=60))
        except RemoteError as error:
            return [*frames, error.code]
        if frames[-1] is None:
            return frames


async def test_frames_may_be_cut_anywhere() -> None:
    rng = random.Random(3)
    bodies = [rng.randbytes(rng.choice([0, 1, 8, 9, 200, 1000])) for _ in range(60)]
    data = b"\x05hello" + b"".join(map(frame, bodies))
    for seed in range(30):
        cutter = random.Random(seed)
        stream, _ = make()
        offset = 0
        while offset < len(data):
            step = cutter.choice([1, 2, 7, 9, 50, 3000])
            stream.data_received(data[offset : offset + step])
            offset += step
        stream.connection_lost(None)
        assert await received(stream) == [*bodies, None]


@pytest.mark.parametrize(
    "header", [frame(b"", 2), frame(b"", 0xFF), b"\x00" + b"\xff" * 8, b"\x00" + (1001).to_bytes(8, "big")]
)
async def test_a_lying_header_ends_the_stream_before_its_body_is_read(header: bytes) -> None:
    stream, pipe = make()
    stream.data_received(b"\x05hello" + frame(b"good") + header)
    assert await received(stream) == [b"good", Code.BAD_REPLY]
    assert pipe.is_closed


async def test_an_error_frame_has_a_limit_of_its_own() -> None:
    stream, _ = make(limit=1 << 30)
    stream.data_received(b"\x05hello" + b"\x01" + (1 << 20).to_bytes(8, "big"))
    assert await received(stream) == [Code.BAD_REPLY]


@pytest.mark.parametrize("body", [b"\x0a", b"\x0a\xff\xff", b"\x0a\x7fx", b"\xff" * 20, b"\x0a\x02\xff\xfe"])
async def test_words_in_an_error_frame_break_the_protocol_unless_the_peer_may_be_a_stock_one(body: bytes) -> None:
    for accepts_plain_text, code in ((True, Code.REFUSED), (False, Code.BAD_REPLY)):
        stream, _ = make()
        stream.accepts_plain_text = accepts_plain_text
        stream.data_received(b"\x05hello" + frame(body, 1))
        assert await received(stream) == [code]


async def test_a_stream_that_breaks_inside_a_frame_is_broken_and_not_ended() -> None:
    stream, _ = make()
    stream.data_received(b"\x05hello" + frame(b"good") + frame(b"cut short")[:-1])
    assert not stream.lost.done()
    stream.connection_lost(None)
    assert await received(stream) == [b"good", Code.UNREACHABLE]
    assert stream.lost.done()


async def test_only_an_end_frame_ends_the_callers_side() -> None:
    ended, _ = make(is_caller=False)
    ended.data_received(b"\x05hello" + frame(b"x") + frame(b"", 1))
    assert await received(ended) == [b"x", None]
    broken, _ = make(is_caller=False)
    broken.data_received(b"\x05hello" + frame(b"x"))
    broken.connection_lost(None)
    assert await received(broken) == [b"x", Code.UNREACHABLE]


async def test_reading_stops_while_nobody_takes_the_frames() -> None:
    stream, pipe = make()
    stream.data_received(b"\x05hello" + frame(b"x") * 8)
    assert not pipe.is_reading
    for _ in range(8):
        assert await stream.receive() == b"x"
    assert pipe.is_reading


async def test_a_small_frame_is_one_write_with_its_header_and_a_large_one_is_not_copied() -> None:
    stream, pipe = make()
    await stream.send(b"ab", memoryview(b"cd"), bytearray(b"e"))
    assert pipe.writes == [frame(b"abcde")]
    large = bytes(JOIN_BELOW_BYTES + 1)
    await stream.send(large)
    assert pipe.writes[-1] is large


LOCAL_VERDICTS = (Code.UNREACHABLE, Code.BAD_REPLY, Code.REFUSED, Code.INTERNAL, Code.BUSY)


async def test_any_bytes_end_in_frames_or_an_error() -> None:
    absurd, _ = make()
    absurd.data_received(b"\xff" * 40)
    assert await received(absurd) == [Code.UNREACHABLE]
    rng = random.Random(4)
    for _ in range(300):
        stream, _ = make(is_caller=rng.random() < 0.5)
        stream.data_received(b"\x05hello")
        for _ in range(rng.randrange(1, 6)):
            stream.data_received(rng.choice([rng.randbytes(rng.randrange(1, 60)), bytes(9), frame(b"y"), b"\x01"]))
        stream.connection_lost(None)
        assert (await received(stream))[-1] in (None, *LOCAL_VERDICTS)


async def test_an_error_frame_has_its_own_marker_and_length() -> None:
    stream, pipe = make(is_caller=False)
    await stream.send_error(b"no")
    assert b"".join(pipe.writes) == frame(b"no", 1)


async def test_why_a_peer_refuses_is_told_however_often_it_is_asked() -> None:
    stream, _ = make()
    stream.data_received(b"\x05hello" + frame(encode_refusal(RemoteError(Code.BUSY, Denial.JUST_STARTED)), 1))
    for _ in range(2):
        with pytest.raises(RemoteError) as refusal:
            await stream.receive(timeout_s=60)
        assert refusal.value.denial is Denial.JUST_STARTED


async def test_receive_waits_for_a_frame_and_raises_after_the_time_limit() -> None:
    stream, _ = make()
    waiting = asyncio.create_task(stream.receive())
    await asyncio.sleep(0)
    assert not waiting.done()
    stream.data_received(b"\x05hello" + frame(b"late"))
    assert await waiting == b"late"
    with pytest.raises(TimeoutError, match="in time"):
        await stream.receive(timeout_s=0)
    stream.data_received(frame(b"usable"))
    assert await stream.receive(timeout_s=0) == b"usable"


def test_a_frame_that_comes_slowly_is_waited_for_and_silence_is_not() -> None:
    async def main() -> None:
        stream, _ = make()
        stream.data_received(b"\x05hello")
        data, receiving = frame(b"slow"), asyncio.create_task(stream.receive(silence_s=0.5))
        for byte in data:
            stream.data_received(bytes((byte,)))
            await asyncio.sleep(0.4)
        assert await receiving == b"slow"
        stream.data_received(data[:3])
        with pytest.raises(TimeoutError):
            await stream.receive(silence_s=0.5)

    run(main())


async def test_closing_closes_the_transport_and_refuses_further_use() -> None:
    stream, pipe = make()
    await stream.close()
    assert pipe.is_closed
    with pytest.raises(RemoteError, match="this side closed"):
        await stream.receive()
    with pytest.raises(RemoteError, match="is closed"):
        await stream.send(b"x")


async def test_a_send_that_waits_for_a_slow_peer_fails_when_the_connection_breaks() -> None:
    stream, pipe = make()
    stream.pause_writing()
    sending = asyncio.create_task(stream.send(b"x"))
    await asyncio.sleep(0)
    pipe.close()
    stream.connection_lost(None)
    with pytest.raises(RemoteError, match="broke"):
        await sending


async def test_a_send_that_waits_for_a_slow_peer_goes_on_when_it_reads() -> None:
    stream, _ = make()
    stream.pause_writing()
    assert not stream.send_now(b"x")
    with pytest.raises(TimeoutError):
        await stream.send(b"x", timeout_s=0)
    stream.resume_writing()
    await stream.send(b"y", timeout_s=0)
    assert stream.send_now(b"z")


def test_a_stream_whose_caller_reads_nothing_is_aborted_and_any_progress_puts_that_off() -> None:
    async def main() -> None:
        stream, pipe = make(is_caller=False)
        ended = []
        stream.on_abort = lambda: ended.append(True)
        pipe.unsent_bytes = 1000
        stream.pause_writing()
        for left in (500, 499, 498):
            pipe.unsent_bytes = left
            await asyncio.sleep(UNREAD_S)
        assert not pipe.is_closed
        await stream.close()
        await asyncio.sleep(3 * UNREAD_S)
        assert ended

    run(main())


def test_a_frame_without_room_waits_unread_until_there_is_some() -> None:
    async def main() -> None:
        held, most = [0], 1000

        def hold(num_bytes: int) -> bool:
            if num_bytes > 0 and held[0] + num_bytes > most:
                return False
            held[0] += num_bytes
            return True

        stream, pipe = make(is_caller=False)
        stream.hold = hold
        held[0] = 600
        stream.data_received(b"\x05hello" + frame(bytes(900))[:100])
        assert (pipe.is_reading, held) == (False, [600])
        held[0] = 0
        await asyncio.sleep(1.0)
        assert (pipe.is_reading, held) == (True, [900])
        stream.data_received(frame(bytes(900))[100:])
        assert await stream.receive() == bytes(900)
        assert held == [0]

    run(main())
