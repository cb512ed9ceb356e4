"""What every implementation of `potluck.p2p.network.Host` must do; run against the fake network and the real one."""

import asyncio
import itertools
import logging
import time
from collections.abc import Awaitable, Mapping
from typing import Protocol, TypeVar

import pytest

from potluck.errors import NetworkError
from potluck.membership.identity import Identity
from potluck.p2p.network import Host, RecordCheck, Stream
from potluck.protocol.blocks import PeerId, PersonOf
from potluck.protocol.codes import Code, RemoteError

T = TypeVar("T")
LIMIT = 4 * 1024 * 1024
WAIT_S = 60.0  # how long a test waits for what must come; never a measure of speed
PATIENCE_S = WAIT_S / 2  # of a node that must join: two peers that dial each other at once may both fail
NOBODY = "12D3KooWGH1Ya4eAJ4JJT5EKEnEoGquPVrwRCgPQ6HPfKsYzncdh"  # the same in every process that collects these tests
_numbers = itertools.count()


class Network(Protocol):
    """Starts nodes that know each other; the fixture `network` of a test module gives one."""

    async def start(
        self, identity: Identity | None = None, *, record_checks: Mapping[str, RecordCheck] | None = None
    ) -> Host: ...

    async def kill(self, host: Host) -> None: ...


async def soon(work: Awaitable[T]) -> T:
    async with asyncio.timeout(WAIT_S):
        return await work


async def outcome(work: Awaitable[T]) -> T | Code:
    """What it returns, or the code of the error that it raises."""
    try:
        return await work
    except RemoteError as error:
        return error.code


async def refusal(work: Awaitable[object]) -> RemoteError:
    """The error that it raises."""
    with pytest.raises(RemoteError) as caught:
        await work
    return caught.value


def name() -> str:
    """A protocol or key that no other test uses."""
    return f"test.{next(_numbers)}"


async def echo(stream: Stream, caller: PeerId) -> None:
    while (frame := await stream.receive()) is not None:
        await stream.send(frame)


async def called(near: Host, far: Host, handler: object, body: bytes = b"") -> bytes:
    """The answer of `handler`, served by `far`."""
    protocol = name()
    await far.serve_unary(protocol, handler)  # type: ignore[arg-type]
    return await near.call(far.peer_id, protocol, body, timeout_s=WAIT_S)


async def opened(near: Host, far: Host, handler: object, *, limit: int = LIMIT, far_limit: int = LIMIT) -> Stream:
    protocol = name()
    await far.serve_stream(protocol, handler, max_frame_bytes=far_limit)  # type: ignore[arg-type]
    return await near.open_stream(far.peer_id, protocol, timeout_s=WAIT_S, max_frame_bytes=limit)


class CallContract:
    async def test_call_returns_the_answer_and_names_the_caller(self, near: Host, far: Host) -> None:
        async def handler(body: bytes, caller: PeerId) -> bytes:
            return body + caller.encode()

        assert await called(near, far, handler, b"hi ") == b"hi " + near.peer_id.encode()

    async def test_call_raises_the_refusal_of_the_handler(self, near: Host, far: Host) -> None:
        async def handler(body: bytes, caller: PeerId) -> bytes:
            raise RemoteError(Code.BUSY, "later", retry_after_s=2.5)

        error = await refusal(called(near, far, handler))
        assert (error.code, error.message, error.retry_after_s) == (Code.BUSY, "later", 2.5)

    async def test_a_bug_in_a_handler_is_logged_once_and_its_text_stays_here(
        self, near: Host, far: Host, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def handler(body: bytes, caller: PeerId) -> bytes:
            raise KeyError("a secret")

        error = await refusal(called(near, far, handler))
        assert error.code is Code.INTERNAL
        assert "secret" not in error.message
        assert [record.levelno for record in caplog.records if "a secret" in record.getMessage()] == [logging.WARNING]

    @pytest.mark.parametrize("peer", [NOBODY, "not a peer id", "", "1" * 70])
    async def test_nobody_is_unreachable(self, near: Host, peer: str) -> None:
        call = near.call(PeerId(peer), "any", b"", timeout_s=WAIT_S)
        assert await outcome(call) is Code.UNREACHABLE
        stream = near.open_stream(PeerId(peer), "any", timeout_s=WAIT_S, max_frame_bytes=1)
        assert await outcome(stream) is Code.UNREACHABLE

    async def test_an_unknown_protocol_is_not_served(self, near: Host, far: Host) -> None:
        call = near.call(far.peer_id, "nobody.speaks.this", b"", timeout_s=WAIT_S)
        assert await outcome(call) is Code.NOT_SERVED
        stream = near.open_stream(far.peer_id, "nobody.speaks.this", timeout_s=WAIT_S, max_frame_bytes=1)
        assert await outcome(stream) is Code.NOT_SERVED

    async def test_call_above_the_limit_is_not_sent(self, near: Host, far: Host) -> None:
        seen = []

        async def handler(body: bytes, caller: PeerId) -> bytes:
            seen.append(len(body))
            return b""

        assert await outcome(called(near, far, handler, bytes(LIMIT))) is Code.TOO_LONG
        await called(near, far, handler, bytes(LIMIT - 1024))
        assert seen == [LIMIT - 1024]

    async def test_answer_above_the_limit_is_an_error_and_not_silence(self, near: Host, far: Host) -> None:
        async def handler(body: bytes, caller: PeerId) -> bytes:
            return bytes(LIMIT)

        assert await outcome(called(near, far, handler)) is Code.TOO_LONG

    async def test_call_without_an_answer_ends_in_time_and_stops_the_handler(self, near: Host, far: Host) -> None:
        started, stopped = asyncio.Event(), asyncio.Event()

        async def handler(body: bytes, caller: PeerId) -> bytes:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()
            return b""

        protocol = name()
        await far.serve_unary(protocol, handler)
        while not started.is_set():  # a slow machine may need more than one call for it
            call = near.call(far.peer_id, protocol, b"", timeout_s=0.3)
            assert await outcome(call) is Code.UNREACHABLE
        await soon(stopped.wait())

    async def test_calls_run_at_the_same_time(self, near: Host, far: Host) -> None:
        here = asyncio.Barrier(5)

        async def handler(body: bytes, caller: PeerId) -> bytes:
            await here.wait()
            return body

        protocol = name()
        await far.serve_unary(protocol, handler)
        calls = [near.call(far.peer_id, protocol, bytes([n]), timeout_s=WAIT_S) for n in range(5)]
        assert await asyncio.gather(*calls) == [bytes([n]) for n in range(5)]

    async def test_ping_measures_a_peer_and_fails_for_nobody(self, near: Host, far: Host) -> None:
        assert await near.ping(far.peer_id, timeout_s=WAIT_S) >= 0
        assert await outcome(near.ping(NOBODY, timeout_s=WAIT_S)) is Code.UNREACHABLE

    async def test_a_dropped_connection_breaks_its_streams_and_the_next_call_dials_anew(
        self, near: Host, far: Host
    ) -> None:
        stream = await opened(near, far, echo)
        await stream.send(b"still")
        assert await stream.receive(timeout_s=WAIT_S) == b"still"
        await near.disconnect(far.peer_id)
        assert await outcome(stream.receive(timeout_s=WAIT_S)) in (None, Code.UNREACHABLE)
        assert await near.ping(far.peer_id, timeout_s=WAIT_S) >= 0
        await near.disconnect(NOBODY)


class StreamContract:
    @pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 3_000_000])
    async def test_frames_come_back_whole(self, near: Host, far: Host, size: int) -> None:
        stream = await opened(near, far, echo)
        body = bytes(range(256)) * (size // 256 + 1)
        await stream.send(body[: size // 2], memoryview(body)[size // 2 : size])
        assert await stream.receive(timeout_s=WAIT_S) == body[:size]
        await stream.close()

    async def test_frames_keep_their_order_and_borders(self, near: Host, far: Host) -> None:
        async def handler(stream: Stream, caller: PeerId) -> None:
            for number in range(100):
                await stream.send(b"%d" % number)

        stream = await opened(near, far, handler)
        frames = [await stream.receive(timeout_s=WAIT_S) for _ in range(101)]
        assert frames == [*(b"%d" % number for number in range(100)), None]

    async def test_the_handler_learns_who_calls_and_may_answer_after_the_end_of_the_call(
        self, near: Host, far: Host
    ) -> None:
        async def handler(stream: Stream, caller: PeerId) -> None:
            assert await stream.receive() is None
            assert await stream.receive() is None
            await stream.send(caller.encode())

        stream = await opened(near, far, handler)
        await stream.end()
        assert await stream.receive(timeout_s=WAIT_S) == near.peer_id.encode()
        assert await stream.receive(timeout_s=WAIT_S) is None

    async def test_a_stream_that_never_sends_times_out_and_stays_usable(self, near: Host, far: Host) -> None:
        stream = await opened(near, far, echo)
        with pytest.raises(TimeoutError):
            await stream.receive(timeout_s=0.05)
        await stream.send(b"x")
        assert await stream.receive(timeout_s=WAIT_S) == b"x"
        await stream.close()

    async def test_a_frame_above_the_callers_limit_is_refused(self, near: Host, far: Host) -> None:
        async def handler(stream: Stream, caller: PeerId) -> None:
            await stream.send(bytes(1001))

        stream = await opened(near, far, handler, limit=1000)
        assert await outcome(stream.receive(timeout_s=WAIT_S)) is Code.BAD_REPLY

    async def test_a_frame_above_the_handlers_limit_is_refused(self, near: Host, far: Host) -> None:
        verdict, handler = a_verdict()
        stream = await opened(near, far, handler, far_limit=1000)
        await stream.send(bytes(1001))
        assert await soon(verdict) is Code.BAD_REPLY
        await stream.close()

    async def test_what_is_done_for_a_caller_that_hangs_up_is_cancelled(self, near: Host, far: Host) -> None:
        ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()

        async def handler(stream: Stream, caller: PeerId) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set_result("cancelled")

        stream = await opened(near, far, handler)
        await stream.send(b"work")
        await stream.close()
        await stream.close()
        assert await soon(ended) == "cancelled"
        await refusal(stream.send(b"x"))

    async def test_a_refusal_of_the_handler_reaches_the_caller_after_its_frames(self, near: Host, far: Host) -> None:
        async def handler(stream: Stream, caller: PeerId) -> None:
            await stream.send(b"first")
            raise RemoteError(Code.NO_MEMORY, "cache full", retry_after_s=1.0)

        stream = await opened(near, far, handler)
        assert await stream.receive(timeout_s=WAIT_S) == b"first"
        for _ in range(2):
            error = await refusal(stream.receive(timeout_s=WAIT_S))
            assert (error.code, error.retry_after_s) == (Code.NO_MEMORY, 1.0)

    async def test_a_bug_in_a_stream_handler_reads_as_internal(self, near: Host, far: Host) -> None:
        async def handler(stream: Stream, caller: PeerId) -> None:
            raise ZeroDivisionError("a secret")

        stream = await opened(near, far, handler)
        error = await refusal(stream.receive(timeout_s=WAIT_S))
        assert error.code is Code.INTERNAL
        assert "secret" not in error.message

    async def test_one_who_never_reads_takes_a_bounded_amount_and_all_of_it_in_order(
        self, near: Host, far: Host
    ) -> None:
        read = asyncio.Event()
        numbers: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()

        async def handler(stream: Stream, caller: PeerId) -> None:
            await read.wait()
            received = []
            while (frame := await stream.receive()) is not None:
                received.append(int.from_bytes(frame[:8], "big"))
            numbers.set_result(received)

        stream = await opened(near, far, handler)
        sent = 0
        while stream.send_now(sent.to_bytes(8, "big"), bytes(30_000)):
            sent += 1
            assert sent < 2000, "60 MB went to a peer that reads nothing"
            await asyncio.sleep(0)
        sending = asyncio.create_task(stream.send(sent.to_bytes(8, "big"), bytes(3_000_000)))
        read.set()
        await soon(sending)
        await stream.end()
        assert await soon(numbers) == list(range(sent + 1))
        await stream.close()
        with pytest.raises(RemoteError):
            stream.send_now(b"x")

    async def test_streams_of_one_peer_do_not_mix(self, near: Host, far: Host) -> None:
        protocol = name()
        await far.serve_stream(protocol, echo, max_frame_bytes=LIMIT)
        streams = [
            await near.open_stream(far.peer_id, protocol, timeout_s=WAIT_S, max_frame_bytes=LIMIT) for _ in range(20)
        ]
        for number, stream in enumerate(streams):
            await stream.send(b"%d" % number)
        answers = [await stream.receive(timeout_s=WAIT_S) for stream in streams]
        assert answers == [b"%d" % number for number in range(20)]
        for stream in streams:
            await stream.close()


def a_verdict() -> tuple[asyncio.Future[object], object]:
    """A handler of a stream that waits for a frame, and what comes instead: the code of an error."""
    verdict: asyncio.Future[object] = asyncio.get_running_loop().create_future()

    async def handler(stream: Stream, caller: PeerId) -> None:
        verdict.set_result(await outcome(stream.receive()))

    return verdict, handler


class RecordContract:
    async def test_a_stored_record_is_found_by_others(self, near: Host, far: Host) -> None:
        key, end = name(), time.time() + 60
        assert await near.store(key, "a", {"x": [1, b"y", None, 2.5]}, expiration=end)
        assert await near.store(key, "b", "other", expiration=end + 1)
        found = await far.get([key, name()])
        assert list(found) == [key]
        assert {subkey: (entry.value, entry.expiration) for subkey, entry in found[key].items()} == {
            "a": ({"x": [1, b"y", None, 2.5]}, end),
            "b": ("other", end + 1),
        }

    async def test_only_a_later_end_replaces_a_record(self, near: Host, far: Host) -> None:
        key, end = name(), time.time() + 60
        await near.store(key, "a", 1, expiration=end)
        assert not await far.store(key, "a", 2, expiration=end)
        assert await far.store(key, "a", 3, expiration=end + 1)
        assert (await near.get([key]))[key]["a"].value == 3

    @pytest.mark.parametrize(
        ("value", "ahead_s"), [(1, float("inf")), (1, float("nan")), (1, 1e9), (1, -1.0), (bytes(100_000), 60)]
    )
    async def test_a_record_of_an_absurd_size_or_end_is_not_kept(
        self, near: Host, far: Host, value: object, ahead_s: float
    ) -> None:
        key = name()
        assert not await near.store(key, "a", value, expiration=time.time() + ahead_s)
        assert not (await far.get([key])).get(key)

    async def test_a_checked_key_shows_only_what_passes(self, network: Network) -> None:
        def check(subkey: str, value: object, expiration: float, person_of: PersonOf) -> bool:
            return value == f"of {subkey}"

        key = name()
        guarded = await network.start(record_checks={key: check})
        careless = await network.start()
        await careless.store(key, "a", "of a", expiration=time.time() + 60)
        await careless.store(key, "a", "of b", expiration=time.time() + 61)
        await careless.store(key, "c", "of b", expiration=time.time() + 62)
        await guarded.store(key, "d", "of d", expiration=time.time() + 60)
        found = (await guarded.get([key])).get(key, {})
        assert found["d"].value == "of d"
        assert {entry.value for entry in found.values()} <= {"of a", "of d"}
        await careless.close()
        await guarded.close()


class LifeContract:
    async def test_addresses_end_in_the_peer_id(self, near: Host) -> None:
        addrs = await near.addresses()
        assert addrs
        assert all(addr.endswith(f"/p2p/{near.peer_id}") for addr in addrs)

    async def test_a_second_node_with_the_same_identity_is_refused(self, network: Network) -> None:
        identity = Identity.generate()
        first = await network.start(identity)
        with pytest.raises(NetworkError, match="identity"):
            await network.start(identity)
        await first.close()
        second = await network.start(identity)
        assert second.peer_id == first.peer_id
        await second.close()

    async def test_the_end_of_a_killed_peer_is_seen(self, near: Host, network: Network) -> None:
        victim = await network.start()
        stream = await opened(near, victim, echo)
        await stream.send(b"x")
        assert await stream.receive(timeout_s=WAIT_S) == b"x"
        await network.kill(victim)
        assert await outcome(stream.receive(timeout_s=WAIT_S)) in (None, Code.UNREACHABLE)
        assert await outcome(near.call(victim.peer_id, "any", b"", timeout_s=WAIT_S)) is Code.UNREACHABLE
        await victim.close()

    async def test_closing_answers_those_who_wait(self, near: Host, network: Network) -> None:
        leaving = await network.start()
        stream = await opened(leaving, near, echo)
        waiting = asyncio.create_task(stream.receive())
        await asyncio.sleep(0)
        await leaving.close()
        await leaving.close()
        assert await soon(outcome(leaving.call(near.peer_id, "any", b"", timeout_s=WAIT_S))) is Code.UNREACHABLE
        assert await outcome(soon(waiting)) in (None, Code.UNREACHABLE)


class HostContract(CallContract, StreamContract, RecordContract, LifeContract):
    """All of it."""
