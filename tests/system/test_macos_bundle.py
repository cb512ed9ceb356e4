"""The application for Macs as it is offered: built, unpacked, and its scripts run with this system's own uv."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from potluck_daemon.environment.uv import find_uv

pytestmark = pytest.mark.timeout(900)
MACHO_64 = b"\xcf\xfa\xed\xfe"


def test_it_makes_its_programs_with_the_real_uv_and_is_removed_without_a_trace(tmp_path: Path) -> None:
    """The packages are this system's, by the hashes that came along; macOS's own programs say nothing."""
    home, tools, out = tmp_path / "Users" / "me", tmp_path / "bin", tmp_path / "dist"
    subprocess.run([sys.executable, "-m", "installer", "macos", "--out", out], check=True, stdout=subprocess.DEVNULL)
    (archive,) = out.iterdir()
    home.mkdir(parents=True)
    tools.mkdir()
    for name in ("osascript", "launchctl"):
        (tools / name).symlink_to("/bin/true")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", archive, tmp_path], check=True)
    contents = tmp_path / "Potluck.app" / "Contents"
    assert (contents / "MacOS" / "uv").read_bytes().startswith(MACHO_64)
    shutil.copy(find_uv(), contents / "MacOS" / "uv")
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_", "http"))}
    path = f"{tools}:/usr/bin:/bin"
    environment = kept | {"HOME": str(home), "PATH": path, "PYTHON": sys.executable, "QT_QPA_PLATFORM": "offscreen"}

    def run(*command: str | Path) -> str:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        log = home / "Library" / "Application Support" / "potluck" / "program.log"
        assert done.returncode == 0, done.stderr + (log.read_text() if log.exists() else "")
        return done.stdout

    assert "usage: potluck-app" in run("/bin/sh", contents / "MacOS" / "start", "--help")
    programs = home / "Library" / "Application Support" / "potluck" / "program" / "bin"
    assert run(programs / "potluck", "--version").startswith("potluck ")
    assert "variant" in run(programs / "potluck", "setup", "--check", "--variant", "cpu", "--json")
    run("/bin/sh", contents / "Resources" / "uninstall", "--purge")
    assert [path for path in home.rglob("*") if path.is_file()] == []
    assert not contents.exists()
