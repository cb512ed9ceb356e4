from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from potluck_daemon.cli.setup import _owner
from potluck_daemon.settings.places import Places

NOBODY = 65534
BECOME = """
import os, pwd
from potluck_daemon.cli.setup import _become
_become(pwd.getpwuid(65534))
print(os.geteuid(), os.getuid(), os.getegid(), 0 in os.getgroups())
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def places(folder: Path) -> Places:
    return Places(config=folder, state=folder / "state", runtime=folder, cache=folder)


@needs_root
def test_root_makes_environments_as_the_user_whose_folder_it_is(tmp_path: Path) -> None:
    assert _owner(places(tmp_path)) is None
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", NOBODY, NOBODY)
    owner = _owner(places(tmp_path))
    assert owner is not None
    assert owner.pw_uid == NOBODY


@needs_root
def test_who_became_the_owner_is_root_in_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", BECOME], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(NOBODY), str(NOBODY), str(NOBODY), "False"]
