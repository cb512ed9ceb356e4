"""What people do with the packages, from the file to being rid of it: for the tests and the figures.

`Debian` is where it happens. The engine's wheels lie in a folder; Debian's own packages come from its mirror.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from potluck_control.resources import DEMO_MODEL, resource
from potluck_daemon.swarms.new_model import num_blocks_of

from potluck.membership.invite import Invite, encode_invite
from potluck.protocol.swarm import new_swarm
from tests.helpers.debian import REPOSITORY, Debian, made_once

NEWER = "0.99.0"
INVITE = encode_invite(Invite(new_swarm("friends", DEMO_MODEL, num_blocks_of(resource(DEMO_MODEL)), revision="local")))
FROM_FOLDER = {"UV_FIND_LINKS": "/wheels", "UV_OFFLINE": "1"}  # instead of the network, for `potluck join`
SERVING = '"state": "serving"'
_PYTHON = Path("/opt/python3.11")
# Where others keep notes about what happened, which a removal does not undo.
_NOTES = "/var/log /var/cache/apt /var/lib/apt /var/lib/dpkg /var/cache/debconf /var/cache/ldconfig /var/lib/systemd"


def build(target: str, out: Path, *, version: str | None = None) -> Path:
    """A package file, as `make installer` makes it."""
    named = {} if version is None else {"POTLUCK_VERSION": version}
    done = subprocess.run(
        [sys.executable, "-m", "installer", target, "--out", out],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        env={**os.environ, **named},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    out.chmod(0o755)  # pytest's folders are for their owner only
    return out / json.loads(done.stdout)["file"]


def engine_wheels() -> Path:
    """What `potluck setup` takes on Python 3.11, fetched once, as pip is configured here."""
    locked = REPOSITORY / "resources" / "engine" / "cpu.txt"
    fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes", "-r", locked, "-d"]
    name = f"engine-wheels-{hashlib.sha256(locked.read_bytes()).hexdigest()[:8]}"
    return made_once(name, lambda fresh: subprocess.run([*fetch, fresh], check=True))


def fresh_debian(packages: Path, suite: str = "bookworm", *, is_booted: bool = True, has_disk: bool = False) -> Debian:
    """Debian's own packages, the folder of ours, the engine's wheels, and a Python 3.11 of nobody's."""
    binds = {"/packages": packages, "/wheels": engine_wheels(), str(_PYTHON): Path(sys.base_prefix)}
    return Debian(suite, is_booted, has_apt=True, binds=binds, has_disk=has_disk)


def get_ready(machine: Debian, *, needs_xz: bool = False) -> None:
    """A list of what there is to install, and an ordinary user, alice."""
    machine.output("apt-get", "update", "-qq")
    if needs_xz:  # the `.run` file brings nothing of Debian's
        install(machine, "xz-utils", "ca-certificates")
    machine.add_user("alice")


def install(machine: Debian, *packages: str | Path) -> None:
    """By apt, as root; a file is named as it lies in the machine."""
    machine.output("apt-get", "install", "-y", "-qq", *packages, environment={"DEBIAN_FRONTEND": "noninteractive"})


def install_needs(machine: Debian, package: Path) -> None:
    """What the package needs of Debian, which stays when the package goes."""
    needs = subprocess.run(["dpkg-deb", "-f", package, "Depends"], capture_output=True, text=True, check=True).stdout
    machine.output("apt-get", "satisfy", "-y", "-qq", needs.strip(), environment={"DEBIAN_FRONTEND": "noninteractive"})


def placed(package: Path) -> str:
    """Where the file lies in the machine."""
    return f"/packages/{package.name}"


@dataclass(frozen=True, slots=True)
class Way:
    """The commands from the package file and an invite to serving, and who types them."""

    name: str
    commands: tuple[tuple[str | None, tuple[str, ...]], ...]  # user (None: root) and words
    asks: tuple[str, ...] = ("potluck", "status", "--json")

    @property
    def user(self) -> str | None:
        return self.commands[-1][0]


def joining(potluck: str) -> tuple[str, ...]:
    return ("sh", "-c", f"echo {INVITE} | {potluck} join")


def by_package(package: Path, user: str | None) -> Way:
    """`user`: whose daemon serves; None: the machine's own service does."""
    apt = ("apt-get", "install", "-y", "-qq", placed(package))
    return Way(package.name.split("_")[0], ((None, apt), (user, joining("potluck"))))


def by_run_file(package: Path, user: str) -> Way:
    potluck = f"/home/{user}/.local/bin/potluck"
    return Way("run", ((user, ("sh", placed(package))), (user, joining(potluck))), asks=(potluck, "status", "--json"))


def walk(machine: Debian, way: Way) -> float:
    """Go the way until it serves; seconds."""
    begin = time.monotonic()
    for user, words in way.commands:
        machine.output(*words, user=user, environment=FROM_FOLDER | {"DEBIAN_FRONTEND": "noninteractive"})
    machine.wait_until(*way.asks, user=way.user, says=SERVING)
    return time.monotonic() - begin


def snapshot(machine: Debian, *, with_homes: bool = False) -> frozenset[str]:
    """All that a removal has to restore: files, users, groups, units, packages, and processes of ours."""
    passed = [*_NOTES.split(), "/proc", "/sys", *([] if with_homes else ["/home", "/root"])]
    prune = " -o ".join(f"-path {folder}" for folder in passed)
    found = {f"file {path}" for path in _lines(machine, f"find / -xdev \\( {prune} \\) -prune -o -print")}
    found |= {f"file {path}" for path in _lines(machine, "find /run /tmp /dev/shm -iname '*potluck*'")}
    found |= {f"user {line}" for line in _lines(machine, "getent passwd; getent group")}
    found |= {f"package {line}" for line in _lines(machine, "dpkg-query -W -f '${Package} ${db:Status-Abbrev}\\n'")}
    found |= {f"answer {line}" for line in _lines(machine, "grep -h '^Name: potluck' /var/cache/debconf/*.dat || true")}
    found |= {f"process {line}" for line in _lines(machine, "pgrep -fa '[p]otluck|[p]2pd' || true")}
    if machine.is_booted:
        found |= {
            f"unit {line.split()[0]}" for line in _lines(machine, "systemctl list-unit-files --no-legend --plain")
        }
    return frozenset(found)


def left_behind(before: Iterable[str], after: Iterable[str]) -> list[str]:
    return sorted(set(after) - set(before))


def _lines(machine: Debian, script: str) -> list[str]:
    return machine.output("sh", "-c", script).splitlines()


def answer(machine: Debian, package: str, **answers: bool) -> None:
    """Preseed the questions of a package: the words of a question are joined by `_`."""
    for question, is_yes in answers.items():
        line = f"{package} {package}/{question.replace('_', '-')} boolean {str(is_yes).lower()}"
        machine.output("sh", "-c", f"echo '{line}' | debconf-set-selections")


def purge(machine: Debian, package: str) -> None:
    machine.output("apt-get", "purge", "-y", "-qq", package, environment={"DEBIAN_FRONTEND": "noninteractive"})


def remove_all(machine: Debian, target: str, user: str) -> None:
    """As the last thing that the owner of a machine does with Potluck; nothing is asked, nothing is kept."""
    if target == "run":
        machine.output(f"/home/{user}/.local/lib/potluck/uninstall", "--purge", user=user)
    else:
        purge(machine, target)
