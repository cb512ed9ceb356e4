"""Updates that fail after they were fetched, or are interrupted: one version, old or new, is in use and well.

Faults of the server are in tests/system/test_updating.py, those that take long in the figure `update_faults`. The
installation is made by small real `.run` files.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.asking import somebody_asking
from potluck_control.api import schema
from potluck_control.api.schema import Status
from potluck_control.methods import installation as updates
from potluck_control.states import State

from tests.helpers.daemon_process import LOOPBACK
from tests.helpers.releases import Installation
from tests.helpers.update_faults import (
    DAEMON_FAULTS,
    NEW,
    OLD,
    RELEASE_FAULTS,
    STEPS,
    damage,
    harm,
    harm_of_power_cut,
    installation_of_old,
    world_of,
)

FAULTS = RELEASE_FAULTS | DAEMON_FAULTS
LONG = {"hangs at start", "asking the publisher", "fetching", "waiting for open sessions to end"}


@pytest.fixture(scope="module")
def old() -> Iterator[tuple[Installation, Path]]:
    with installation_of_old() as made:
        yield made


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - LONG))
def test_a_version_that_is_not_what_it_should_be_gives_way(old: tuple[Installation, Path], fault: str) -> None:
    assert not harm(FAULTS[fault], *old)


@pytest.mark.parametrize("step", [step for step in STEPS if step not in LONG])
def test_after_a_power_cut_a_version_runs_and_can_be_updated(old: tuple[Installation, Path], step: str) -> None:
    assert not harm_of_power_cut(step, *old)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a small disk")
def test_a_full_disk_changes_nothing_and_room_helps() -> None:
    with installation_of_old(disk_mb=64) as (installation, releases), world_of(installation, releases) as world:
        world.offer(world.good())
        filling = installation.folder / "filling"
        for free_bytes in (300_000, 2_000_000):  # less than the file, and less than what is in it
            disk = os.statvfs(installation.folder)
            filling.write_bytes(bytes(disk.f_bavail * disk.f_frsize - free_bytes))
            done = installation.command("update")
            assert done.returncode == 1, done.stdout
            assert "No space left" in done.stderr or "make room" in done.stderr
            assert (installation.running(), damage(installation)) == (OLD, "")
            filling.unlink()
        assert installation.command("update").returncode == 0
        assert (installation.running(), installation.in_use()) == (NEW, NEW)


def test_sessions_end_before_the_new_version_serves(old: tuple[Installation, Path]) -> None:
    installation, releases = old
    with world_of(installation, releases) as world:
        world.offer(world.good())
        installation.set(LOOPBACK + world.server.settings)
        client = installation.client
        client.call(schema.RELOAD)
        client.call(schema.CREATE)
        installation.wait_for(lambda status: status.state is State.SERVING)
        with somebody_asking(client.call(schema.INVITE).invite, num_tokens=900):  # still open when draining begins
            installation.wait_for(lambda status: status.sessions > 0)
            client.call(updates.INSTALL_UPDATE)
            told = list(client.events())  # to the end of the old daemon
        assert any(event.state is State.DRAINING and event.sessions for event in told if isinstance(event, Status))
        installation.wait_until(lambda: installation.running() == NEW)
        assert (installation.running(), installation.in_use()) == (NEW, NEW)
        installation.wait_for(lambda status: status.state is State.SERVING)
    installation.command("update", "--rollback")
    assert installation.running() == OLD  # for the other tests
