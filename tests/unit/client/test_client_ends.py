"""The output head at this computer's engine: right logits, whatever the other side does."""

import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from potluck.client.ends import NearHead
from potluck.protocol.codec import decode
from potluck.protocol.local_messages import (
    LENGTH_BYTES,
    MAX_ROWS,
    GatewayHead,
    HeadRefusal,
    HeadRows,
    Ready,
    framed,
    length_of,
)

SIZE, VOCABULARY = 8, 32
Answer = Callable[[socket.socket, int, Tensor], None]


def new_head() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(SIZE, VOCABULARY, bias=False).requires_grad_(False)


HEAD = new_head()


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # the usual folder's name is too long for a socket
        yield Path(folder) / "head.sock"


def answer_well(peer: socket.socket, rows: int, hidden: Tensor) -> None:
    """Give twice the logits, by which a test knows whose they are."""
    peer.sendall(framed(HeadRows(rows)) + (2 * HEAD(hidden)).numpy().tobytes())


def die_in_the_middle(peer: socket.socket, rows: int, hidden: Tensor) -> None:
    peer.sendall(framed(HeadRows(rows)) + bytes(5))
    peer.close()


def fall_silent(peer: socket.socket, rows: int, hidden: Tensor) -> None:
    peer.recv(1)  # until the other side has enough


def drip(peer: socket.socket, rows: int, hidden: Tensor) -> None:
    peer.sendall(framed(HeadRows(rows)))
    while True:
        peer.sendall(b"\0")
        time.sleep(0.01)


def saying(data: bytes) -> Answer:
    return lambda peer, rows, hidden: peer.sendall(data)


@contextmanager
def engine(path: Path, *answers: Answer, hello: bytes = framed(Ready())) -> Iterator[None]:
    """Stand for an engine that gives these answers first, and good ones after them."""
    left, is_over, listening = list(answers), False, socket.socket(socket.AF_UNIX)
    listening.bind(str(path))
    listening.listen()

    def read(peer: socket.socket, size: int) -> bytes:
        data = peer.recv(size, socket.MSG_WAITALL)
        if len(data) < size:
            raise ConnectionError
        return data

    def serve(peer: socket.socket) -> None:
        decode(GatewayHead, read(peer, length_of(read(peer, LENGTH_BYTES))))
        peer.sendall(hello)
        while True:
            rows = decode(HeadRows, read(peer, length_of(read(peer, LENGTH_BYTES)))).rows
            hidden = torch.frombuffer(bytearray(read(peer, 4 * rows * SIZE)), dtype=torch.float32).view(rows, SIZE)
            (left.pop(0) if left else answer_well)(peer, rows, hidden)

    def listen() -> None:
        while not is_over:
            peer, _ = listening.accept()
            with peer, suppress(OSError):
                serve(peer)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        is_over = True
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(path))
        thread.join()
        listening.close()


@contextmanager
def standing(path: Path) -> Iterator[tuple[nn.Linear, NearHead]]:
    head = new_head()
    near = NearHead(head, path, "swarm", again_s=0.0)
    try:
        yield head, near
    finally:
        near.close()


def is_near(head: nn.Linear, near: NearHead, hidden: Tensor) -> bool:
    """Call the head, check its logits, and return whether the engine gave them."""
    before = near.num_near
    logits, is_engine = head(hidden), near.num_near > before
    torch.testing.assert_close(logits, HEAD(hidden) * (2 if is_engine else 1), rtol=1e-5, atol=1e-5)
    return is_engine


def wait_near(head: nn.Linear, near: NearHead) -> None:
    while not is_near(head, near, torch.ones(1, 1, SIZE)):
        time.sleep(0.001)


@pytest.mark.parametrize(
    "answer",
    [
        die_in_the_middle,
        fall_silent,
        drip,
        saying(framed(HeadRefusal("a game began"))),
        saying(framed(HeadRows(2))),
        saying(b"\xff\xff" + bytes(1 << 16)),
        saying(struct.pack("!H", 3) + b"{}}"),
    ],
)
def test_an_answer_that_is_none_costs_a_call_nothing_but_time_and_the_engine_is_asked_again(
    answer: Answer, path: Path
) -> None:
    with engine(path, answer_well, answer), standing(path) as (head, near):
        wait_near(head, near)
        assert not is_near(head, near, torch.randn(1, 1, SIZE))
        wait_near(head, near)


@pytest.mark.parametrize("hello", [framed(HeadRefusal("another head")), framed(HeadRows(1)), b"\0\1x"])
def test_an_engine_with_another_head_is_never_asked_for_logits(hello: bytes, path: Path) -> None:
    with engine(path, hello=hello), standing(path) as (head, near):
        for _ in range(20):
            assert not is_near(head, near, torch.randn(2, 1, SIZE))
            time.sleep(0.001)


def test_without_an_engine_the_own_head_computes(path: Path) -> None:
    with standing(path) as (head, near):
        assert not is_near(head, near, torch.randn(1, 3, SIZE))


def test_gradients_and_long_prompts_have_the_own_head(path: Path) -> None:
    with engine(path), standing(path) as (head, near):
        wait_near(head, near)
        assert is_near(head, near, torch.randn(2, MAX_ROWS // 2, SIZE))
        assert not is_near(head, near, torch.randn(1, MAX_ROWS + 1, SIZE))
        hidden = torch.randn(1, 1, SIZE, requires_grad=True)
        head(hidden).sum().backward()
        torch.testing.assert_close(hidden.grad, HEAD.weight.sum(0).expand(1, 1, -1))


def test_threads_share_the_engine(path: Path) -> None:
    with engine(path), standing(path) as (head, near):
        wait_near(head, near)
        threads = [
            threading.Thread(target=lambda: [head(torch.full((1, 1, SIZE), 1.0)) for _ in range(50)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert near.num_near == 201


def test_the_engine_may_answer_before_the_own_head_first_has(path: Path) -> None:
    head, goes_on = new_head(), threading.Event()
    own = head.forward

    def slowly(hidden: Tensor) -> Tensor:
        goes_on.wait(60)
        return own(hidden)

    head.forward = slowly  # type: ignore[method-assign, assignment]
    near = NearHead(head, path, "swarm", again_s=0.0)
    with engine(path, fall_silent):
        first = threading.Thread(target=head, args=(torch.ones(1, 1, SIZE),))
        first.start()
        while near._engine is None:
            time.sleep(0.001)
        second = threading.Thread(target=lambda: wait_near(head, near))
        second.start()
        while near._engine is not None:
            time.sleep(0.001)
        goes_on.set()
        first.join()
        second.join()
        near.close()
