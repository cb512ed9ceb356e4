"""Five minutes with a friend: two machines, one invite, both serve, one generates.

The machines are network namespaces that see each other through one cable and nothing else, each with its own folders.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from helpers.machine import GENERATE, Machine, local_tokens
from potluck_control.states import State


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    """Mine and a friend's, with a cable between them."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    with contextlib.ExitStack() as made:
        pair = made.enter_context(machine("mine")), made.enter_context(machine("friend"))
        ends = [f"pot{os.getpid()}-{number}" for number in (1, 2)]
        ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])  # goes with its namespaces
        for number, (one, end) in enumerate(zip(pair, ends, strict=True), start=1):
            ip("link", "set", end, "netns", one.name)
            ip("-n", one.name, "address", "add", f"10.213.7.{number}/24", "dev", end)
            ip("-n", one.name, "link", "set", end, "up")
        yield pair


@contextlib.contextmanager
def machine(name: str) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        made = Machine(f"potluck-{name}-{os.getpid()}", Path(folder))
        try:
            ip("netns", "add", made.name)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"network namespaces cannot be made here: {getattr(error, 'stderr', '') or error}")
        try:
            ip("-n", made.name, "link", "set", "lo", "up")
            yield made
        finally:
            made.end()
            ip("netns", "delete", made.name)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


@pytest.mark.timeout(600)  # on two slow cores; half a minute of it a client waits in vain, as it should
def test_two_friends_serve_half_a_model_each_and_one_generates(machines: tuple[Machine, Machine]) -> None:
    mine, friend = machines
    mine.run("start", "--demo")
    mine.wait_state(State.SERVING)
    invite = mine.run("swarm", "invite").strip()

    friend.run("join", invite)
    friend.wait_state(State.SERVING)
    for one in machines:
        one.wait_for(lambda status: status.swarm is not None and status.swarm.coverage == (1,) * 12)
        assert one.servers() == [(0, 6), (6, 12)]

    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()

    mine.run("pause")
    mine.wait_state(State.PAUSED)
    alone = friend.try_to_run(*GENERATE)
    assert alone.returncode != 0
    assert "nobody serves the blocks 0:6" in alone.stderr

    mine.run("resume")
    mine.wait_state(State.SERVING)
    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()

    for one in machines:
        one.run("stop")
        assert psutil.wait_procs(one.processes(), timeout=60)[1] == []
