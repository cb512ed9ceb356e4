"""The programs that tests start, by marker: what to install for them, and which tests are skipped without them.

`python tests/programs.py` names what is missing and the command that installs it; as root or with CI=true it installs
it. `conftest.py` beside it skips tests whose marker names a missing program, and lets no test start a program of the
table without such a marker, so that none can forget it. Imports the standard library alone.
"""

import ctypes
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class Need:
    """What tests of a marker need.

    Attributes:
        programs: names that the tests start.
        packages: of Debian.
        needs_root: the tests make namespaces, users or mounts.
    """

    why: str
    programs: tuple[str, ...]
    packages: tuple[str, ...]
    needs_root: bool = False


_QT = (
    *("fonts-dejavu-core", "libdbus-1-3", "libegl1", "libfontconfig1", "libgl1", "libxcb-cursor0", "libxcb-icccm4"),
    *("libxcb-image0", "libxcb-keysyms1", "libxcb-randr0", "libxcb-render-util0", "libxcb-shape0", "libxcb-xinerama0"),
    "libxkbcommon-x11-0",
)
NEEDS = {
    "qt": Need("libraries that Qt loads", (), _QT),
    "screen": Need(
        "a virtual screen, a window manager, a tray and scripted clicks",
        ("Xvfb", "xauth", "openbox", "trayer", "xdotool", "xprop", "dbus-daemon"),
        ("xvfb", "xauth", "openbox", "trayer", "xdotool", "x11-utils", "dbus", *_QT),
    ),
    "bus": Need("a session bus", ("dbus-daemon",), ("dbus",)),
    "gamemode": Need("games that announce themselves", ("gamemoded", "dbus-daemon"), ("gamemode", "dbus")),
    "wayland": Need("idle time on Wayland", ("sway", "wtype"), ("sway", "wtype", "util-linux")),
    "compiler": Need("a stand-in for NVIDIA's library", ("gcc",), ("gcc", "libc6-dev")),
    "games": Need(
        "real games, and other programs that fill the screen",
        ("quadrapassel", "gnome-mines", "pingus", "chromium-bsu", "dosbox", "xterm", "tilix", "zathura", "feh"),
        ("quadrapassel", "gnome-mines", "pingus", "chromium-bsu", "dosbox", "xterm", "tilix", "zathura", "feh"),
    ),
    "shells": Need("shells that complete", ("fish", "zsh"), ("fish", "zsh")),
    "manuals": Need("programs that show manuals", ("groff", "mandoc", "man"), ("groff-base", "mandoc", "man-db")),
    "apt": Need("a package repository", ("apt-get", "dpkg-deb", "gpg"), ("gpg", "gpg-agent")),
    "namespaces": Need(
        "other users, networks and mounts",
        ("ip", "nft", "unshare", "mount", "setpriv", "runuser"),
        ("iproute2", "nftables", "util-linux", "mount", "procps"),
        needs_root=True,
    ),
    "container": Need(
        "a real systemd, and container images",
        (
            "debootstrap",
            "systemd-nspawn",
            "systemd-analyze",
            "buildah",
            "nsenter",
            "pkill",
            "setpriv",
            "xz",
            "apt-get",
            "dpkg-deb",
            "ip",
            "unshare",
            "runuser",
        ),
        ("debootstrap", "systemd-container", "systemd", "buildah", "xz-utils", "util-linux", "procps"),
        needs_root=True,
    ),
    "windows": Need("the installer for Windows, and a Windows to try it", ("makensis", "wine64"), ("nsis", "wine64")),
    "browser": Need("a browser", ("chromium",), ("chromium",)),
}
# What the product itself may start, and goes on without, is no sign of what a test needs.
MARKED_ONLY = {program for need in NEEDS.values() for program in need.programs} - {"gcc", "setpriv", "mount", "man"}
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/games", "/usr/sbin", "/sbin", "/usr/lib/wine"))


@cache
def why_not(marker: str) -> str | None:
    """Return why tests of this marker cannot run here, with what to do about it, or None if they can."""
    need = NEEDS[marker]
    if need.needs_root and os.geteuid() != 0:
        return f"{need.why}: needs root"
    missing = [program for program in need.programs if shutil.which(program, path=_PATH) is None]
    if missing:
        return f"{need.why}: {', '.join(missing)} not found; install {' '.join(need.packages)}"
    if marker == "qt" and not _loads("libEGL.so.1", "libGL.so.1", "libxkbcommon.so.0"):
        return f"{need.why}: not found; install {' '.join(need.packages)}"
    return None


def _loads(*libraries: str) -> bool:
    try:
        return all(ctypes.CDLL(library) for library in libraries)
    except OSError:
        return False


def main() -> int:
    """Install or name the Debian packages that are missing."""
    if shutil.which("dpkg-query") is None or shutil.which("apt-get") is None:
        print("Not a Debian system: tests that need a missing program are skipped and say so.")
        return 0
    packages = sorted({package for need in NEEDS.values() for package in need.packages})
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\\n", *packages]
    listed = subprocess.run(query, capture_output=True, text=True, check=False).stdout.splitlines()
    missing = [package for package in packages if f"{package} installed" not in listed]
    if not missing:
        return 0
    is_root = os.geteuid() == 0
    install = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
    if not is_root and (os.environ.get("CI") != "true" or shutil.which("sudo") is None):
        print(f"Some tests will be skipped. To run them all: sudo {' '.join(install)}")
        return 0
    before = [*(() if is_root else ("sudo", "--non-interactive")), "env", "DEBIAN_FRONTEND=noninteractive"]
    print(f"==> Installing system packages: {' '.join(missing)}", flush=True)
    for command in (["apt-get", "update", "-q"], install):
        if (code := subprocess.run([*before, *command], check=False).returncode) != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
