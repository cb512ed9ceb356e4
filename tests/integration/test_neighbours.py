"""Two computers on one local network find each other although no address of an invite leads anywhere.

They are network namespaces with one cable between them. Their daemons are paused, so that small nodes without torch
stand for them in the swarm.
"""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from helpers.machine import Machine
from helpers.two_machines import two_machines
from potluck_control.api import schema
from potluck_control.api.client import ControlClient

from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.leadership import seats

pytestmark = pytest.mark.namespaces


@pytest.fixture
def machines() -> Iterator[tuple[Machine, Machine]]:
    with two_machines() as pair:
        for machine in pair:
            machine.run("start")
            machine.run("pause", "1h")
        yield pair


def invite_without_addresses(founder: Machine) -> str:
    place = founder.folder / "potluck"
    offer, seed = seats(time.time())
    membership, entries = JoinedSwarms(place / "swarms.json", place / "identity.key").lead("home", lambda _: [offer])
    return encode_invite(Invite(replace(membership.swarm, bootstrap_peers=()), seed, entries[-1].data))


def client(machine: Machine) -> ControlClient:
    return ControlClient(machine.folder / "potluck" / "potluckd.sock")


def test_two_paused_daemons_without_bootstrap_addresses_find_each_other(machines: tuple[Machine, Machine]) -> None:
    mine, friend = machines
    client(mine).call(schema.CREATE)
    client(friend).call(schema.JOIN, schema.JoinParams(invite_without_addresses(mine)))
    for machine, other in ((mine, "10.213.7.2:"), (friend, "10.213.7.1:")):
        machine.wait_for(lambda status: status.nearby is not None and len(status.nearby) == 1)
        nearby = machine.status().nearby
        assert nearby is not None
        assert nearby[0].startswith(other)
    assert f"1 member found on the local network: {nearby[0]}" in friend.run("status")
