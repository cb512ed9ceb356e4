"""A cap on bytes a second, and how those who send share it. Time is the loop's own, made to jump."""

import asyncio

import pytest
from in_memory import Pipe, run

from potluck.p2p.frames import FrameStream
from potluck.p2p.pacing import Pacer


def finished(cap: float, sizes: dict[str, int]) -> dict[str, float]:
    """When each of them, started together, had sent its bytes; seconds."""
    done: dict[str, float] = {}

    async def main() -> None:
        loop = asyncio.get_running_loop()
        pacer, begin = Pacer(cap, clock=loop.time), loop.time()

        async def send(name: str, num_bytes: int) -> None:
            await pacer.wait(num_bytes)
            done[name] = loop.time() - begin

        await asyncio.gather(*(send(name, size) for name, size in sizes.items()))

    run(main())
    return done


def test_all_together_stay_below_the_cap_but_for_a_tenth_of_a_second() -> None:
    done = finished(1e6, {"one": 2_000_000, "other": 1_000_000})
    assert max(done.values()) == pytest.approx(2.9, abs=0.02)


def test_a_small_answer_waits_for_slices_of_large_ones_not_for_all_of_them() -> None:
    done = finished(1e6, {"one": 2_000_000, "other": 2_000_000, "small": 1_000})
    assert done["small"] < 0.1
    assert done["one"] == pytest.approx(done["other"], abs=0.15)  # whoever came first took the tenth


def test_without_a_cap_nobody_waits() -> None:
    assert finished(0, {"one": 10**9}) == {"one": 0.0}


def test_what_has_come_is_paid_for_afterwards() -> None:
    now = 50.0
    pacer = Pacer(1000, clock=lambda: now)
    assert pacer.owe(100) == pytest.approx(0.0)
    assert pacer.owe(400) == pytest.approx(0.4)


async def test_a_small_frame_is_not_sent_at_once_when_the_cap_is_used_up() -> None:
    pacer = Pacer(1000, clock=lambda: 0.0)
    stream, pipe = FrameStream(lambda *_: None, pacer, is_caller=True), Pipe()
    stream.connection_made(pipe)
    assert stream.send_now(bytes(200))
    assert not stream.send_now(bytes(200))
    assert len(b"".join(pipe.writes)) == 209
