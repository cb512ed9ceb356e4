"""Five minutes with a friend: two machines, one invite, both serve, one generates.

The machines are network namespaces that see each other through one cable and nothing else, each with its own folders.
"""

import json
from collections.abc import Iterator

import psutil
import pytest
from helpers.machine import GENERATE, Machine, local_tokens
from helpers.two_machines import two_machines
from potluck_control.states import State

pytestmark = pytest.mark.namespaces


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    with two_machines() as pair:
        yield pair


@pytest.mark.timeout(600)  # on two slow cores
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
    alone = friend.try_to_run(*GENERATE, "--max-wait", "10s")
    assert alone.returncode != 0
    assert "nobody serves layers 1-6" in alone.stderr

    mine.run("resume")
    mine.wait_state(State.SERVING)
    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()

    for one in machines:
        one.run("stop")
        assert psutil.wait_procs(one.processes(), timeout=60)[1] == []
