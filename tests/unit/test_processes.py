"""What a process of ours may do, whatever it was started by."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from potluck.files import make_private

CONFINED = """
import os, resource
from pathlib import Path
from potluck.processes import confine
confine()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
Path("made").touch()
has_no_new_rights = "NoNewPrivs:\\t1" in Path("/proc/self/status").read_text()
print(soft == min(hard, 65536), has_no_new_rights, oct(Path("made").stat().st_mode & 0o777))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_a_confined_process_gets_files_but_no_rights(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", 'umask 0; ulimit -S -n 256; exec "$@"', "sh", sys.executable, "-c", CONFINED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "0o600"]


def test_a_folder_and_its_files_become_private_but_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").touch(mode=0o666)
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    (folder / "log").touch()
    (folder / "log").chmod(0o666)
    (folder / "link").symlink_to(tmp_path / "other")
    before = (tmp_path / "other").stat().st_mode
    make_private(folder)
    assert (os.stat(folder).st_mode & 0o777, os.stat(folder / "log").st_mode & 0o777) == (0o700, 0o600)
    assert (tmp_path / "other").stat().st_mode == before
