"""An installation and a server of updates: what must not be installed, and an update that the daemon was asked for."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from potluck_control.api import schema
from potluck_control.methods import installation as updates
from potluck_control.methods.installation import UpdatesState
from potluck_daemon.accounting.checked_database import close_checked, open_checked
from potluck_daemon.accounting.tables import connect
from potluck_daemon.host.instance import EXIT_ALREADY_RUNNING
from potluck_daemon.settings.store import load_settings
from potluck_daemon.updates.versions import MAX_STARTS, Versions

from potluck.membership.identity import Identity
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm
from tests.helpers.releases import NEVER_PROVED, VERSION_BEFORE, Installation, checkout
from tests.helpers.update_faults import NEW, OLD, SERVER_FAULTS, harm, installation_of_old, world_of


@pytest.fixture(scope="module")
def old() -> Iterator[tuple[Installation, Path]]:
    with installation_of_old() as made:
        yield made


@pytest.mark.parametrize("fault", SERVER_FAULTS)
def test_what_the_publisher_did_not_sign_last_is_never_installed(old: tuple[Installation, Path], fault: str) -> None:
    installation, releases = old
    before = installation.client.call(schema.HELLO).pid
    assert not harm(SERVER_FAULTS[fault], installation, releases)
    assert installation.client.call(schema.HELLO).pid == before  # it was not even disturbed


def test_the_daemon_updates_itself_when_asked_and_keeps_what_is_its_own() -> None:
    with installation_of_old() as (installation, releases), world_of(installation, releases) as world:
        places = installation.places
        world.offer(world.of_newer_settings())
        installation.client.call(schema.RELOAD)
        settings, identity = places.settings_file.read_bytes(), places.identity_file.read_bytes()
        port = installation.state()["port"]
        state = installation.client.call(updates.CHECK_FOR_UPDATE)
        assert (state.running, state.is_allowed, state.can_install, state.error) == (OLD, False, True, None)
        assert state.offered is not None
        assert (state.offered.version, state.offered.changes) == (NEW, ("faster",))
        assert any(NEW in notice.text for notice in installation.client.call(schema.STATUS).notices)
        events = installation.client.events()
        next(events)  # from here on nothing is missed, however fast the update is
        assert installation.client.call(updates.INSTALL_UPDATE).progress is not None
        told = [event for event in events if isinstance(event, UpdatesState)]  # until the daemon ends
        assert any(event.progress is not None for event in told)
        installation.wait_until(lambda: installation.running() == NEW)
        assert (installation.running(), installation.in_use()) == (NEW, NEW)
        assert (places.settings_file.read_bytes(), places.identity_file.read_bytes()) == (settings, identity)
        assert installation.state()["port"] == port
        after = installation.client.call(updates.UPDATES_STATE)
        assert (after.running, after.offered, after.progress, after.error) == (NEW, None, None, None)
        assert installation.command("config", "set", "serve.find_nearby", "off").returncode == 0
        assert "version = 3" in places.settings_file.read_text()
        done = installation.command("update", "--rollback")
        assert done.returncode == 0
        for said in ("settings.toml is of a newer Potluck", "there is no setting new.limit"):
            assert said in done.stdout
        assert (installation.running(), installation.in_use()) == (OLD, OLD)
        went_back = load_settings(places.settings_file)
        assert went_back.is_valid
        assert went_back.settings.updates.url == world.server.url
        assert not went_back.settings.serve.find_nearby  # changed under the newer version
        assert installation.command("config", "set", "serve.threads", "1").returncode == 0
        assert "limit = 5" in places.settings_file.read_text()


def test_a_version_is_not_left_because_it_was_ended_or_found_another_daemon() -> None:
    with installation_of_old() as (installation, releases), world_of(installation, releases) as world:
        world.offer(world.faulty(NEVER_PROVED, "never"))
        assert installation.command("update").returncode == 0
        for _ in range(MAX_STARTS + 1):
            assert installation.command(program="potluckd").returncode == EXIT_ALREADY_RUNNING
        for _ in range(MAX_STARTS + 1):
            installation.command("stop")
            installation.command("start")
        assert (installation.running(), Versions(installation.root).is_on_trial()) == (NEW, True)


def test_version_before_updates_itself_to_this_one_and_keeps_everything(tmp_path: Path) -> None:
    source = checkout(VERSION_BEFORE, tmp_path)
    if source is None:
        pytest.skip("this copy of the source has no history to make the version before from")
    with installation_of_old(source=source) as (installation, releases), world_of(installation, releases) as world:
        places = installation.places
        settings = f'{world.server.settings}[serve]\nenabled = false\nname = "attic"\n'
        installation.set(settings)
        JoinedSwarms(places.swarms_file, places.identity_file).create(new_swarm("kept", "demo-model", 12))
        friend = Identity.generate().peer_id
        ledger, columns = open_checked(places.ledger_file, connect), "at, person, swarm, is_earned, points, tokens"
        ledger.execute(f"INSERT INTO entry ({columns}) VALUES (?, ?, ?, 1, 40, 9)", (int(time.time()), friend, b""))
        close_checked(ledger, places.ledger_file)
        kept = [places.identity_file, places.swarms_file]
        before = {path: path.read_bytes() for path in kept}
        port = installation.state()["port"]
        world.offer(world.good())
        done = installation.command("update")
        assert done.returncode == 0, done.stderr
        assert (installation.running(), installation.in_use()) == (NEW, NEW)
        assert places.settings_file.read_text() == settings.replace("enabled = false\n", "")
        assert installation.state()["pause"] is not None, "what was switched off stays off"
        assert {path: path.read_bytes() for path in kept} == before
        with contextlib.closing(sqlite3.connect(places.ledger_file)) as ledger:
            earned = ledger.execute("SELECT person, is_earned, points, tokens FROM entry").fetchall()
        assert earned == [(friend, 1, 40, 9)]
        assert installation.state()["port"] == port
        assert "kept" in installation.command("swarm").stdout
        assert installation.command("ledger", "check").returncode == 0
        found = installation.command("config", "get", "serve.name")
        assert found.stdout.strip() == "attic", found.stderr
        done = installation.command("update", "--rollback")  # to a daemon that speaks HTTP on the control socket
        assert done.returncode == 0, done.stderr
        assert (installation.running(), installation.in_use()) == (OLD, OLD)
