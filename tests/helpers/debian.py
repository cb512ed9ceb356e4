"""A Debian that is made for one test and forgotten after it: booted with a real systemd, or a mere chroot.

Needs root, systemd-nspawn and debootstrap. Root file systems are made once and kept in `.cache/`, with the packages
that apt fetched; what a test does lies in an overlay in memory. However the test ends, the container ends too: its
guard reads from a pipe that the kernel closes with the process that made it.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

REPOSITORY = Path(__file__).parents[2]
CACHE = REPOSITORY / ".cache"
PYTHONS = {"bookworm": "3.11", "trixie": "3.13"}
_PACKAGES = "systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,procps,python3,util-linux"
_BOOT_TIMEOUT_S = 300.0
_READY = "/run/ready-for-tests"
_GUARD = """
sh -c 'for group in $CONTROL_GROUPS; do echo 0 > $group/cgroup.procs; done; exec "$@"' join "$@" </dev/null &
read _
pkill -KILL -P $!
kill -KILL $! 2>/dev/null
test -n "$CONTROL_GROUPS" || exit
for _ in $(seq 50); do
    find $CONTROL_GROUPS -depth -type d -exec rmdir {} + && break
    sleep 0.2  # its processes are still ending
done
"""
_numbers = itertools.count(1)


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder of the cache, which `make` fills once, whichever process asks first."""
    CACHE.mkdir(exist_ok=True)
    folder = CACHE / name
    with alone(name):
        if not folder.exists():
            fresh = Path(tempfile.mkdtemp(dir=CACHE, prefix=f"{name}-"))
            make(fresh)
            fresh.chmod(0o755)
            fresh.rename(folder)
    return folder


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """Let one process at a time do what has this name."""
    with (CACHE / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _control_groups() -> Iterator[Path]:
    """Yield the folders of this process's control groups that a systemd within a container would use, too.

    Each container needs groups of its own below them: services of the same name in two containers would otherwise be
    one group, and whoever ends first takes it from the other.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controller, path = line.split(":", 2)
        if controller == "name=systemd":
            yield Path(f"/sys/fs/cgroup/systemd{path}")
        elif not controller:
            unified = Path("/sys/fs/cgroup/unified")  # beside the groups of the first version
            yield Path(f"{unified if unified.exists() else '/sys/fs/cgroup'}{path}")


def debootstrap(suite: str, packages: str, folder: Path) -> None:
    """Fill `folder` with Debian's smallest system and some packages, from the mirror this machine uses."""
    command = ["debootstrap", "--variant=minbase", f"--include={packages}", suite, folder, mirror()]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def make_root(suite: str) -> Path:
    """Debian's smallest system with systemd. Takes a minute, once."""
    name = "system-root" if suite == "bookworm" else f"system-root-{suite}"
    return made_once(name, lambda fresh: debootstrap(suite, _PACKAGES, fresh))


def mirror() -> str:
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Codename: bookworm"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]


@dataclass
class Debian:
    """Runs inside the `with`.

    Args:
        binds: folders of this machine, by where they are seen inside; read only.
        has_apt: apt sees this machine's network. For everything else there is loopback alone.
        has_disk: what was written is still there after `cut_power`.
    """

    suite: str = "bookworm"
    is_booted: bool = True
    has_apt: bool = False
    binds: Mapping[str, Path] = field(default_factory=dict)
    has_disk: bool = False

    def __enter__(self) -> Debian:
        self.name = f"potluck-{os.getpid()}-{next(_numbers)}"
        if self.has_disk:
            self._mount_disk()
        self._start()
        return self

    def cut_power(self) -> None:
        """End everything at once, and boot again from the same disk."""
        assert self.has_disk
        self._kill()
        self._start()

    def _mount_disk(self) -> None:
        """Lay a disk in memory over the root file system."""
        self._disk = Path(tempfile.mkdtemp(prefix="potluck-disk-"))
        subprocess.run(["mount", "-t", "tmpfs", "disk", self._disk], check=True)
        for name in ("upper", "work", "root"):
            (self._disk / name).mkdir(mode=0o755)
        layers = f"lowerdir={make_root(self.suite)},upperdir={self._disk}/upper,workdir={self._disk}/work"
        subprocess.run(["mount", "-t", "overlay", "disk", "-o", layers, self._disk / "root"], check=True)

    def _start(self) -> None:
        groups = [group / self.name for group in _control_groups()]
        for group in groups:
            group.mkdir(exist_ok=True)
        self._guard = subprocess.Popen(
            ["sh", "-c", _GUARD, "guard", *self._command()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt from the keyboard is for the test alone
            env=os.environ | {"CONTROL_GROUPS": " ".join(map(str, groups))},
        )
        try:
            self._wait_ready()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._kill()
        if self.has_disk:
            for folder in (self._disk / "root", self._disk):
                subprocess.run(["umount", "--lazy", folder], check=True)
            self._disk.rmdir()

    def run(
        self, *command: str | Path, user: str | None = None, environment: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside, as root or as a user in the home folder, with a user manager if it is booted."""
        is_apt = command[0] == "apt-get"
        words = self.inside(*(() if user is None else self._become(user)), *map(str, command), has_network=is_apt)
        with alone(f"apt-{self.suite}") if is_apt else contextlib.nullcontext():
            return subprocess.run(
                words,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "HOME": "/root"} | (environment or {}),
            )

    def output(self, *command: str | Path, user: str | None = None, environment: dict[str, str] | None = None) -> str:
        """What a command prints; it has to succeed."""
        done = self.run(*command, user=user, environment=environment)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}{self._journal()}"
        return done.stdout.strip()

    def write(self, path: str, text: str) -> None:
        """A file inside, with its folders."""
        command = self.inside("sh", "-c", f"mkdir -p $(dirname {path}) && cat > {path}")
        subprocess.run(command, input=text, text=True, check=True)

    def inside(self, *command: str, has_network: bool = False) -> list[str]:
        """Return the words that run a command inside when somebody outside says them."""
        spaces = ("--mount", "--uts", "--ipc", "--pid", "--cgroup", *(() if has_network else ("--net",)))
        return ["nsenter", "-t", str(self._leader.pid), *spaces, "--root", "--wd", *command]

    def add_user(self, name: str) -> None:
        """Somebody with a home, and a user manager if there is systemd."""
        self.output("useradd", "--create-home", "--shell", "/bin/bash", name)
        if self.is_booted:
            self.output("loginctl", "enable-linger", name)
            self.output("systemctl", "start", f"user@{self.output('id', '-u', name)}.service")  # wait until it is up

    def wait_until(self, *command: str | Path, user: str | None = None, says: str, timeout_s: float = 300.0) -> str:
        """Ask until the answer contains `says`; returns that answer."""
        deadline = time.monotonic() + timeout_s
        while says not in (done := self.run(*command, user=user)).stdout:
            assert time.monotonic() < deadline, f"{command}: {done.stdout}{done.stderr}{self._journal()}"
            time.sleep(0.2)
        return done.stdout

    def _journal(self) -> str:
        return self.run("journalctl", "-n", "60", "--no-pager", "-o", "cat").stdout if self.is_booted else ""

    def _command(self) -> list[str]:
        start = ["--boot"] if self.is_booted else ["--as-pid2", "sh", "-c", f"touch {_READY}; exec sleep infinity"]
        binds = [f"--bind-ro={here}:{there}" for there, here in self.binds.items()]
        root = self._disk / "root" if self.has_disk else make_root(self.suite)
        return [
            *("systemd-nspawn", "--quiet", f"--directory={root}", *(() if self.has_disk else ("--volatile=overlay",))),
            *("--register=no", "--keep-unit", "--console=pipe", f"--machine={self.name}"),
            *("--private-network", *(self._apt() if self.has_apt else ())),
            *binds,
            *start,
        ]

    def _apt(self) -> list[str]:
        options = ["--resolv-conf=replace-host"]
        for name, there in (("lists", "/var/lib/apt/lists"), ("archives", "/var/cache/apt/archives")):
            here = CACHE / f"apt-{self.suite}" / name  # what apt fetched, for all containers of the suite
            here.mkdir(parents=True, exist_ok=True)
            options.append(f"--bind={here}:{there}")
        return options

    def _become(self, user: str) -> list[str]:
        words = ["runuser", "-u", user, "--", "env", "-C", f"/home/{user}", f"HOME=/home/{user}"]
        if self.is_booted:
            runtime = f"/run/user/{self.output('id', '-u', user)}"
            words += [f"XDG_RUNTIME_DIR={runtime}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"]
        return words

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + _BOOT_TIMEOUT_S
        while time.monotonic() < deadline:
            managers = psutil.Process(self._guard.pid).children()
            leaders = managers[0].children() if managers else []
            if leaders and self._is_ready(leaders[0]):
                return
            time.sleep(0.1)
        raise AssertionError("the container does not boot")

    def _is_ready(self, leader: psutil.Process) -> bool:
        self._leader = leader
        if not self.is_booted:
            return self.run("test", "-e", _READY).returncode == 0
        return self.run("systemctl", "is-system-running").stdout.strip() in ("running", "degraded")

    def _kill(self) -> None:
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()
