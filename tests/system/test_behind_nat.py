"""A server behind a router: nobody can dial it, so it serves through a relay, says so, and the right tokens come out.

The router is a network namespace with real masquerading; see `helpers.nat_world`.
"""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from helpers.machine import GENERATE, Machine, local_tokens
from helpers.nat_world import NatWorld, nat_world
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State

pytestmark = pytest.mark.namespaces


@dataclass(frozen=True, slots=True)
class People:
    """`friend` has a public address, `home` is behind the router; both joined one swarm."""

    friend: Machine
    home: Machine


@pytest.fixture
def people() -> Iterator[People]:
    with contextlib.ExitStack() as made:
        world = made.enter_context(nat_world())
        boot, friend, home = (made.enter_context(a_machine(world, name)) for name in ("boot", "friend", "home"))
        meeting = made.enter_context(a_meeting_point(boot))
        created = friend.run("swarm", "create", "far", str(resource(DEMO_MODEL)), "--bootstrap", meeting, "--json")
        friend.run("start")
        home.run("join", json.loads(created)["invite"])
        yield People(friend, home)


@contextlib.contextmanager
def a_machine(world: NatWorld, name: str) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="pl-") as folder:  # sockets need a short path
        made = Machine(world.namespace(name), Path(folder))
        try:
            yield made
        finally:
            made.end()


@contextlib.contextmanager
def a_meeting_point(machine: Machine) -> Iterator[str]:
    """The public address of a `potluck bootstrap` there."""
    command = machine.command("bootstrap", "--host", "0.0.0.0", "--json")
    with subprocess.Popen(command, env=machine.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            addresses = json.loads(process.stdout.readline())["addresses"]
            yield next(address for address in addresses if "/127." not in address)
        finally:
            process.terminate()


@pytest.mark.timeout(600)  # on two slow cores
def test_a_server_behind_nat_serves_through_a_relay_and_says_so(people: People) -> None:
    friend, home = people.friend, people.home
    for one, reach in ((friend, "direct"), (home, "relayed")):
        one.wait_state(State.SERVING)
        one.wait_for(lambda status, reach=reach: status.network.reach == reach)
    assert home.status().network.num_reached == 0
    friend.wait_for(lambda status: status.swarm is not None and status.swarm.coverage == (1,) * 12)

    shown = json.loads(friend.run("swarm", "show", "--json"))["servers"]
    assert sorted(server["using_relay"] for server in shown) == [False, True]
    assert "relayed" in home.run("status")
    assert json.loads(friend.run(*GENERATE))["tokens"] == local_tokens()
