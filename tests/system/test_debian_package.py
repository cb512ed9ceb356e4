"""The Debian package, in a fresh Debian 12: installed, set up by an ordinary user, serving, purged without a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from installer.linux.deb import PACKAGES, build_deb
from tests.helpers.container import REPOSITORY, ROOT, make_root, missing_tool

pytestmark = pytest.mark.skipif(missing_tool() is not None, reason=str(missing_tool()))

SCRIPT = r"""
set -eu
passed="/tmp /proc /home /var/log /var/cache/apt /var/lib/apt /var/lib/dpkg /var/cache/debconf /var/cache/ldconfig"
snapshot() { find / -xdev -print | grep -vE "^($(echo $passed | tr ' ' '|'))(/|$)" | sort; }
apt-get update -qq
apt-get install -y -qq openssl ca-certificates >/dev/null 2>&1
useradd --create-home alice
snapshot >/tmp/before
apt-get install -y -qq /packages/*.deb >/dev/null 2>&1
as_alice() { (cd /home/alice && runuser -u alice -- env HOME=/home/alice "$@"); }
as_alice potluck --version
as_alice potluck setup --wheels /wheels >/tmp/setup.log || { cat /tmp/setup.log; exit 1; }
tail -1 /tmp/setup.log
as_alice potluck start --demo >/dev/null
for _ in $(seq 120); do as_alice potluck status --json | grep -q '"state": "serving"' && break; sleep 1; done
as_alice potluck generate "Count from 7 to 18:"
as_alice potluck stop
apt-get purge -y -qq potluck-headless >/dev/null 2>&1
snapshot >/tmp/after
echo "left:"; comm -13 /tmp/before /tmp/after
getent passwd potluck && exit 1
echo purged
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `potluck setup` takes, fetched as pip is configured here."""
    folder = tmp_path_factory.mktemp("wheels")
    folder.chmod(0o755)  # an ordinary user reads it
    locked = REPOSITORY / "resources" / "engine" / "cpu.txt"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--require-hashes",
        "-r",
        locked,
        "-d",
        folder,
    ]
    subprocess.run(command, check=True)
    return folder


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (headless,) = (package for package in PACKAGES if not package.has_app)
    return build_deb(headless, tmp_path_factory.mktemp("packages"))


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="Debian 12 has Python 3.11, and so must be the wheels")
@pytest.mark.timeout(1200)
def test_a_package_serves_after_its_set_up_and_leaves_nothing(package: Path, wheels: Path) -> None:
    make_root()
    done = subprocess.run(
        [
            *("systemd-nspawn", "--quiet", f"--directory={ROOT}", "--register=no", "--keep-unit", "--volatile=overlay"),
            *("--console=pipe", f"--bind-ro={package.parent}:/packages", f"--bind-ro={wheels}:/wheels"),
            *("--resolv-conf=replace-host", "--machine=potluck-package"),
            *("bash", "-c", SCRIPT),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ready: the engine computes on cpu" in done.stdout
    assert " 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18." in done.stdout
    assert done.stdout.rstrip().endswith("left:\npurged"), done.stdout
    assert package.stat().st_size < 30e6
