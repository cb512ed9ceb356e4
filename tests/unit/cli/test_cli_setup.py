"""What root does in a folder that the service's user can write to: nothing as root."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from potluck_control.places import Places
from potluck_daemon.accounting.backup import back_up, restore
from potluck_daemon.accounting.ledger import Ledger
from potluck_daemon.host.owner import files_as_owner, owner_of
from potluck_daemon.updates.publisher import NotesFile

from potluck.errors import PotluckError, UsageError
from potluck.membership.identity import Identity

NOBODY = 65534
DROP = """
import os, sys
from pathlib import Path
from potluck_daemon.host.owner import drop_root
from potluck_control.places import Places
folder = Path(sys.argv[1])
drop_root(Places(config=folder, state=folder / "state", runtime=folder, cache=folder))
print(os.geteuid(), os.getuid(), os.getegid(), 0 in os.getgroups())
"""
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """Those of a service whose state folder belongs to a user of its own."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and not folder.stat().st_mode & 0o001:
            folder.chmod(0o711)
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", NOBODY, NOBODY)
    return places_in(tmp_path, "state")


def places_in(folder: Path, state: str) -> Places:
    return Places(config=folder, state=folder / state, runtime=folder, cache=folder)


def test_a_folder_of_roots_own_is_used_as_root(tmp_path: Path) -> None:
    assert owner_of(places_in(tmp_path, "new")) is None


def test_root_becomes_the_owner_of_the_state_folder_for_good(places: Places) -> None:
    command = [sys.executable, "-c", DROP, str(places.config)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(NOBODY), str(NOBODY), str(NOBODY), "False"]


def test_a_planted_link_into_a_folder_of_root_does_not_keep_root(places: Places, tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir(mode=0o1777)
    places.engines.symlink_to(tmp_path / "roots")
    assert owner_of(places).pw_uid == NOBODY


def test_a_state_folder_that_is_a_link_is_refused(places: Places, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(places.state)
    with pytest.raises(UsageError, match="is a link, and root does not follow it"):
        owner_of(places_in(tmp_path, "link"))


def test_roots_own_link_to_a_folder_of_another_user_makes_that_user_the_owner(places: Places, tmp_path: Path) -> None:
    (tmp_path / "roots").mkdir()
    (tmp_path / "roots" / "engines").symlink_to(places.state)
    assert owner_of(places_in(tmp_path, "roots")).pw_uid == NOBODY


def test_files_are_reached_as_the_owner_and_afterwards_as_root_again(places: Places, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("root's")
    (tmp_path / "secret").chmod(0o600)
    (places.state / "log").symlink_to(tmp_path / "secret")
    groups = os.getgroups()
    with files_as_owner(places), pytest.raises(PermissionError):
        (places.state / "log").read_text()
    assert (os.geteuid(), os.getegid(), os.getgroups()) == (0, 0, groups)


def test_locks_that_lead_elsewhere_are_not_followed(places: Places, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("root's")
    victim.chmod(0o600)
    for name in ("potluckd.lock", "updates.lock"):
        (places.state / name).symlink_to(victim)
    with pytest.raises(PotluckError, match="cannot open"), NotesFile(places).lock():
        pass
    backup = tmp_path / "backup.tar"
    source = replace(places, state=tmp_path / "source")
    Ledger(source.ledger_file, Identity.load_or_create(source.identity_file)).close()
    back_up(source, backup)
    with pytest.raises(OSError, match="symbolic links"):
        restore(places, backup, replace=False)
    assert victim.read_text() == "root's"


def test_a_folder_of_a_user_that_is_not_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 54_321, 54_321)
    with pytest.raises(UsageError, match="belongs to user 54321"):
        owner_of(places_in(tmp_path, "state"))
