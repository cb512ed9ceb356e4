"""The engine computes the output head for this computer's gateway; the processor stands for its device."""

import asyncio
import os
import socket
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from helpers.client_world import prompt, world
from helpers.engine_peers import CHECKPOINT, SWARM, until
from helpers.lone_engine import Machine
from potluck_control.processes.engine_messages import Freed
from torch import Tensor, nn
from transformers.generation.streamers import BaseStreamer

from potluck.checkpoint.ends import load_output_head, weight_checksum
from potluck.checkpoint.source import open_checkpoint
from potluck.client.ends import NearHead
from potluck.protocol.codec import decode
from potluck.protocol.local_messages import VERSION, GatewayHead, HeadRefusal, HeadRows, Ready, framed, length_of

HEAD = load_output_head(open_checkpoint(str(CHECKPOINT)))
HELLO = GatewayHead(VERSION, SWARM.prefix, "float32", tuple(HEAD.weight.shape), weight_checksum(HEAD.weight))
INPUTS = torch.randn(1, 1, HEAD.in_features, generator=torch.Generator().manual_seed(0))
HEAD_BYTES = HEAD.weight.nbytes


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # the usual folder's name is too long for a socket
        yield Path(folder) / "nodes" / "head.sock"


@pytest.fixture
def gateway(path: Path) -> Iterator[tuple[nn.Linear, NearHead]]:
    head = load_output_head(open_checkpoint(str(CHECKPOINT)))
    near = NearHead(head, path, SWARM.prefix, again_s=0.0)
    yield head, near
    near.close()


async def is_near(gateway: tuple[nn.Linear, NearHead]) -> bool:
    """Compute the head and check its logits; return whether the engine did it."""
    head, near = gateway
    before = near.num_near
    logits = await asyncio.to_thread(head, INPUTS)
    torch.testing.assert_close(logits, HEAD(INPUTS), rtol=1e-5, atol=1e-5)
    return near.num_near > before


async def wait_near(gateway: tuple[nn.Linear, NearHead]) -> None:
    async with asyncio.timeout(60):
        while not await is_near(gateway):  # noqa: ASYNC110 (another thread asks)
            await asyncio.sleep(0.001)


async def said(path: Path, data: bytes) -> list[object]:
    """Send this to the engine, and return what it says until it ends the connection."""
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(data)
    messages: list[object] = []
    try:
        async with asyncio.timeout(60):
            while True:
                messages.append(
                    decode(Ready | HeadRefusal, await reader.readexactly(length_of(await reader.readexactly(2))))
                )
    except (asyncio.IncompleteReadError, ConnectionError):
        return messages
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_a_game_takes_the_head_with_the_blocks_and_the_gateway_has_its_own_until_they_are_back(
    path: Path, tmp_path: Path, gateway: tuple[nn.Linear, NearHead], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path, head_socket=path, keeps_head=True)
    async with machine.engine as engine:
        assert [stat.S_IMODE(os.stat(each).st_mode) for each in (path, path.parent)] == [0o600, 0o700]
        await wait_near(gateway)
        held = weakref.ref(engine._head_server._head.weight)
        freed: list[bool] = []
        monkeypatch.setattr("potluck_engine.life.engine.release_memory", lambda _: freed.append(held() is None))
        await engine.offload()
        assert freed == [True]
        assert Freed() in machine.events
        assert not await is_near(gateway)
        await engine.restore()
        await wait_near(gateway)
    assert not await is_near(gateway)


class TakenAway(BaseStreamer):
    """Ends the engine in the middle of an answer."""

    def __init__(self, machine: Machine, loop: asyncio.AbstractEventLoop) -> None:
        self._machine, self._loop, self._left = machine, loop, 5  # prompt and 4 tokens

    def put(self, value: Tensor) -> None:
        self._left -= 1
        if not self._left:
            asyncio.run_coroutine_threadsafe(self._machine.engine.stop(), self._loop).result(60)

    def end(self) -> None:
        pass


async def test_answers_have_the_same_tokens_wherever_the_head_is_and_when_its_engine_ends_meanwhile(
    path: Path, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, head_socket=path, keeps_head=True)
    taken_away = TakenAway(machine, asyncio.get_running_loop())

    def generate() -> None:
        with world("0:4") as there:
            text, options = prompt(), {"max_new_tokens": 8, "do_sample": False}
            expected = there.model.generate(text, **options)
            head = there.model.get_output_embeddings()
            near = NearHead(head, path, SWARM.prefix, again_s=0.0)
            while not near.num_near:
                head(INPUTS)
            for streamer, num_near in ((None, 8), (taken_away, 4)):
                before = near.num_near
                assert torch.equal(there.model.generate(text, **options, streamer=streamer), expected)
                assert near.num_near - before == num_near
            near.close()

    async with machine.engine:
        await asyncio.to_thread(generate)


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"\0\5hello", "JSON"),
        (framed(HeadRows(1)), "Rows"),
        (framed(GatewayHead(VERSION + 1, SWARM.prefix, "float32", HELLO.shape, HELLO.checksum)), "another head"),
        (framed(GatewayHead(VERSION, "other", "float32", HELLO.shape, HELLO.checksum)), "another head"),
        (framed(GatewayHead(VERSION, SWARM.prefix, "bfloat16", HELLO.shape, HELLO.checksum)), "another head"),
        (framed(GatewayHead(VERSION, SWARM.prefix, "float32", (1, 1), HELLO.checksum)), "another head"),
        (framed(GatewayHead(VERSION, SWARM.prefix, "float32", HELLO.shape, HELLO.checksum + 1)), "another head"),
        (framed(HELLO) + framed(HeadRows(0)), "0 rows"),
        (framed(HELLO) + framed(HeadRows(65)), "65 rows"),
        (framed(HELLO) + framed(HELLO), "Hello"),
    ],
)
async def test_whoever_asks_as_no_gateway_does_is_refused_with_a_reason(
    hello: bytes, reason: str, path: Path, tmp_path: Path, gateway: tuple[nn.Linear, NearHead]
) -> None:
    async with Machine(tmp_path, head_socket=path).engine:
        *_, last = await said(path, hello)
        assert isinstance(last, HeadRefusal)
        assert reason in last.reason
        await wait_near(gateway)


async def test_without_room_the_head_stays_away_and_after_the_last_gateway_its_memory_is_given_back(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Machine(tmp_path, head_socket=path).engine as engine:
        room = HEAD_BYTES - 1
        monkeypatch.setattr("potluck_engine.serving.output_head.room_beside", lambda *_, **given: room)
        with monkeypatch.context() as unread:
            unread.setattr("potluck_engine.serving.output_head.load_output_head", None)
            (refused,) = await said(path, framed(HELLO))
        assert "has no room" in refused.reason
        room += 1
        _, writer = await asyncio.open_unix_connection(path)
        writer.write(framed(HELLO))
        await until(lambda: engine._head_server._head is not None)
        writer.close()
        await until(lambda: engine._head_server._head is None)


async def test_a_silent_connection_keeps_no_engine_from_stopping(path: Path, tmp_path: Path) -> None:
    async with Machine(tmp_path, head_socket=path).engine:
        with socket.socket(socket.AF_UNIX) as silent:
            silent.connect(str(path))
            await asyncio.sleep(0)
