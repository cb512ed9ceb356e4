"""Potluck's own Linux in WSL2: Debian from Microsoft's list, with systemd and the package that the installer brought.

Setting up reads the state, decides on the next step, performs it, and reads the state again. So a set-up that was
interrupted goes on, and one that is complete does nothing. Windows' disks and programs are shut off from the Linux
side: a daemon that speaks with strangers needs neither.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import potluck_app
from potluck_app.windows.wsl import DISTRIBUTION, NOT_SET_UP, UnexplainedError, Wsl, WslError, explain

OLDEST_WSL = (2, 4, 10)  # the first version that lets us choose the name and folder
BASE = "Debian"  # its name in `wsl --list --online`
PACKAGE = "potluck-headless"
PACKAGE_FILE = Path(potluck_app.__file__).parents[2] / "linux" / f"{PACKAGE}.deb"  # see installer/windows/setup.nsi
INSTALL_LIMIT_S = 3600.0  # some hundred MB may come over a slow line
_MARK = "# written by Potluck"
_CONFIGURATION = f"""\
{_MARK}
[boot]
systemd=true
[automount]
enabled=false
[interop]
enabled=false
appendWindowsPath=false
"""
_READ_STATE = f"""\
grep -qs '^{_MARK}' /etc/wsl.conf && echo configured=yes
echo init=$(cat /proc/1/comm)
echo package=$(dpkg-query -W -f '${{Version}}' {PACKAGE} 2>/dev/null)
echo service=$(systemctl is-active potluckd.service 2>/dev/null)
"""
_CONFIGURE = "cat >/etc/wsl.conf && echo /usr/lib/wsl/lib >/etc/ld.so.conf.d/potluck-wsl.conf && ldconfig"
_ADD_PACKAGE = """\
set -e
trap 'rm -f /var/tmp/potluck.deb' EXIT
cat >/var/tmp/potluck.deb
export DEBIAN_FRONTEND=noninteractive
apt-get -q update
apt-get -q --yes --no-install-recommends install /var/tmp/potluck.deb
"""


@dataclass(frozen=True, slots=True)
class LinuxState:
    """The state of our distribution. `wsl_version` is 0 if there is none."""

    wsl_version: int = 0  # 1 or 2
    is_configured: bool = False
    init: str = ""
    package: str = ""  # the version of the package; "": not installed
    is_running: bool = False  # whether the daemon's service runs


class LinuxStep(Enum):
    """A step of setting up the Linux system; the value is what people read meanwhile."""

    INSTALL = "Fetching Debian from Microsoft"
    CONFIGURE = "Preparing the Linux system"
    RESTART = "Starting the Linux system again"
    PACKAGE = "Installing Potluck in it"
    START = "Starting the daemon"


def disk_folder() -> Path:
    """Return the folder where Windows keeps the disk of our Linux."""
    return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"), "Potluck", "linux")


def check_wsl(wsl: Wsl) -> None:
    """Check WSL. Raises WslError if it is missing, too old, or cannot run Linux."""
    status = wsl.run("--status")  # succeeds without virtualization, and says so
    if "aka.ms/enablevirtualization" in status:
        raise explain(status.encode())
    too_old = WslError("this version of WSL is too old", hint="run: wsl --update; then try again")
    try:
        output = wsl.run("--version")
    except UnexplainedError:
        raise too_old from None
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", output)  # the first line is about WSL itself, in any language
    if found is None or tuple(map(int, found.groups())) < OLDEST_WSL:
        raise too_old


def read_state(wsl: Wsl) -> LinuxState:
    """Read the state of our distribution. Raises WslError if WSL does not answer, or runs it as WSL 1."""
    version = _wsl_version(wsl)
    if version == 0:
        return LinuxState()
    if version == 1:
        hint = f"wsl --set-version {DISTRIBUTION} 2"
        raise WslError(f"the distribution {DISTRIBUTION} runs under WSL 1, which has no GPUs", hint=hint)
    told = dict(line.split("=", 1) for line in wsl.inside("/bin/sh", "-c", _READ_STATE).splitlines() if "=" in line)
    return LinuxState(
        version,
        told.get("configured") == "yes",
        told.get("init", "").strip(),
        told.get("package", "").strip(),
        told.get("service", "").strip() == "active",
    )


def next_step(found: LinuxState, version: str) -> LinuxStep | None:
    """Return the next missing step, or None. `version`: of the package that should be installed."""
    if found.wsl_version == 0:
        return LinuxStep.INSTALL
    if not found.is_configured:
        return LinuxStep.CONFIGURE
    if found.init != "systemd":
        return LinuxStep.RESTART
    if found.package != version:
        return LinuxStep.PACKAGE
    return None if found.is_running else LinuxStep.START


def set_up(
    wsl: Wsl, package: Path, version: str, folder: Path, tell: Callable[[str], None], *, may_fetch: bool = True
) -> None:
    """Set up the distribution and the daemon; a second call does what is missing.

    Args:
        package: the file for Debian, of `version`.
        folder: where Windows keeps the distribution's disk.
        tell: called with the name of each step, for people.
        may_fetch: whether to fetch a missing distribution, some hundred megabytes.

    Raises:
        WslError: a step failed, had no effect, or isn't allowed.
    """
    check_wsl(wsl)
    before: LinuxStep | None = None
    while (step := next_step(read_state(wsl), version)) is not None:
        if step is before:
            raise WslError(f"this had no effect: {step.value.lower()}", hint="wsl --update, then try again")
        if step is LinuxStep.INSTALL and not may_fetch:
            raise explain(NOT_SET_UP)
        tell(step.value)
        _perform(wsl, step, package, folder)
        before = step


def _perform(wsl: Wsl, step: LinuxStep, package: Path, folder: Path) -> None:
    match step:
        case LinuxStep.INSTALL:
            folder.mkdir(parents=True, exist_ok=True)
            wsl.run(
                *("--install", BASE, "--name", DISTRIBUTION, "--location", str(folder)),
                *("--version", "2", "--no-launch", "--web-download"),
                limit_s=INSTALL_LIMIT_S,
            )
        case LinuxStep.CONFIGURE:
            wsl.inside("/bin/sh", "-c", _CONFIGURE, stdin=_CONFIGURATION.encode())
            wsl.run("--terminate", DISTRIBUTION)
        case LinuxStep.RESTART:
            wsl.run("--terminate", DISTRIBUTION)
        case LinuxStep.PACKAGE:
            wsl.inside("/bin/sh", "-c", _ADD_PACKAGE, stdin=package, limit_s=INSTALL_LIMIT_S)
        case LinuxStep.START:
            wsl.inside("systemctl", "enable", "--now", "potluckd.service", limit_s=INSTALL_LIMIT_S)


def _wsl_version(wsl: Wsl) -> int:
    """Return the WSL version of our distribution; 0 if there is none."""
    try:
        lines = wsl.run("--list", "--verbose").splitlines()
    except WslError as error:
        if "WSL_E_DEFAULT_DISTRO_NOT_FOUND" in error.message:  # no distribution is installed
            return 0
        raise
    for line in lines:
        words = line.replace("*", " ").split()
        if len(words) >= 3 and words[0] == DISTRIBUTION and words[-1] in ("1", "2"):
            return int(words[-1])
    return 0
