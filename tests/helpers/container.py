"""A machine with a real systemd, in a container: this checkout installed in /opt, nothing of it in anybody's home.

Needs root, systemd-nspawn and debootstrap. The root file system is made once and kept in `.cache/`; what a test does to
it is forgotten (an overlay in memory). There is no network but loopback.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / ".cache" / "system-root"
SUITE = "bookworm"
PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps,python3,util-linux"
INSTALLED = Path("/opt/potluck")
BOOT_TIMEOUT_S = 60.0
_PYTHON = Path("/opt/python")  # this interpreter's own files
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import main\nsys.exit(main())\n"


def missing_tool() -> str | None:
    """Why there can be no container here; None if there can."""
    if os.geteuid() != 0:
        return "needs root"
    for tool in ("systemd-nspawn", "debootstrap", "nsenter"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    return None


def make_root() -> None:
    """Debian's smallest system with systemd, from the mirror this machine uses. Takes a minute, once."""
    if ROOT.exists():
        return
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)", f"Codename: {SUITE}"],
        capture_output=True,
        text=True,
        check=True,
    )
    mirror = listing.stdout.split()[0]
    ROOT.parent.mkdir(exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=ROOT.parent, prefix="system-root-"))
    subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, fresh, mirror],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    fresh.chmod(0o755)
    fresh.rename(ROOT)


class Container:
    """Booted inside the `with`; powered off after it. With a wheel, that is installed; else the source tree is used."""

    def __init__(self, wheel: Path | None = None) -> None:
        self._wheel = wheel
        self._folder = Path(tempfile.mkdtemp(prefix="potluck-container-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._leader = 0

    def __enter__(self) -> Container:
        make_root()
        self._install()
        binds = {
            self._folder / "installed": INSTALLED,
            Path(sys.base_prefix): _PYTHON,
            Path(site.getsitepackages()[0]): Path("/opt/site-packages"),
            REPOSITORY: Path("/opt/source"),
        }
        self._process = subprocess.Popen(
            [
                *("systemd-nspawn", "--quiet", f"--directory={ROOT}", "--boot", "--register=no", "--keep-unit"),
                *("--private-network", "--console=pipe", "--volatile=overlay", f"--machine=potluck-{os.getpid()}"),
                *(f"--bind-ro={here}:{there}" for here, there in binds.items()),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait_booted()
        if sys.base_prefix != "/usr":
            self.write("/etc/ld.so.conf.d/python.conf", f"{_PYTHON}/lib\n")  # a shared libpython, if it has one
            self.output("ldconfig")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self.run("systemctl", "poweroff")
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder)

    def run(self, *command: str | Path, user: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as root or as a user with a running user manager."""
        prefix: list[str] = []
        if user is not None:
            uid = self.output("id", "-u", user)
            session = f"XDG_RUNTIME_DIR=/run/user/{uid}"
            bus = f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{uid}/bus"
            prefix = ["runuser", "-u", user, "--", "env", f"HOME=/home/{user}", session, bus]
        return subprocess.run(
            ["nsenter", "-t", str(self._leader), "-a", *prefix, *map(str, command)],
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"},
        )

    def output(self, *command: str | Path, user: str | None = None) -> str:
        """What a command prints; it has to succeed."""
        done = self.run(*command, user=user)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        """A file inside, with its folders."""
        subprocess.run(
            ["nsenter", "-t", str(self._leader), "-a", "sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path}"],
            input=text,
            text=True,
            check=True,
        )

    def install_wheel(self, wheel: Path) -> None:
        """What pip does with a wheel, in place of an earlier one."""
        (packages,) = (self._folder / "installed" / "lib").glob("python*/site-packages")
        for old in packages.glob("potluck*"):
            shutil.rmtree(old)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(packages)

    def _install(self) -> None:
        """An environment whose every path lies in /opt, as an installer would make it."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        folder = self._folder / "installed"
        packages = folder / "lib" / version / "site-packages"
        packages.mkdir(parents=True)
        (folder / "bin").mkdir()
        self._folder.chmod(0o755)
        home = Path("/usr") if sys.base_prefix == "/usr" else _PYTHON  # the system's own Python is in the root as well
        (folder / "pyvenv.cfg").write_text(f"home = {home}/bin\n")
        (folder / "bin" / "python").symlink_to(home / "bin" / version)
        sources = ("/opt/source", "/opt/source/daemon") if self._wheel is None else ()
        (packages / "paths.pth").write_text("\n".join(("/opt/site-packages", *sources)) + "\n")
        if self._wheel is not None:
            self.install_wheel(self._wheel)
        for name, module in (("potluck", "potluck_daemon.cli.main"), ("potluckd", "potluck_daemon.cli.daemon")):
            script = folder / "bin" / name
            script.write_text(_SCRIPT.format(python=INSTALLED / "bin" / "python", module=module))
            script.chmod(0o755)

    def _wait_booted(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + BOOT_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "the container did not start"
            children = psutil.Process(self._process.pid).children()
            if children:
                self._leader = children[0].pid
                state = self.run("systemctl", "is-system-running").stdout.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.1)
        raise AssertionError("the container does not boot")
