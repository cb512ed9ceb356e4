"""The install commands of the README, typed as they stand there in fresh Debians: `readme_commands`.

An ordinary user with sudo types both commands of each line of the table in a login shell, beside the file, until the
computer serves. What the package declares to need is fetched first, because only apt sees the mirror. The engine's
packages come from a folder, which has no torch for the Python of Debian 13: there, only the installation counts,
without `soak` only that of the server's package.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Measured
from tests.helpers import installing
from tests.helpers.debian import REPOSITORY, Debian
from tests.programs import why_not

_COMMAND = re.compile(r"`([^`]+)`")
_TARGETS = {"potluck_": "potluck", "potluck-headless_": "potluck-headless", "potluck-VERSION.run": "run"}
_QUICK_TRIXIE = "potluck-headless"  # needs few other packages
_USER = "alice"
_KEPT = " ".join((*installing.FROM_FOLDER, "DEBIAN_FRONTEND"))
_SUDOERS = f'{_USER} ALL=(ALL) NOPASSWD: ALL\nDefaults env_keep += "{_KEPT}"\n'
_STATUS = "potluck status --json"


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the README's table: what to install, and what to type then."""

    target: str
    install: str
    then: str

    @property
    def status(self) -> str:
        return f"sudo {_STATUS}" if self.then.startswith("sudo ") else _STATUS


def failed(soak: bool) -> Measured:
    """Count commands that fail, or after which the computer does not serve."""
    assert why_not("container") is None, why_not("container")
    typed: list[str] = []
    failures: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        packages = Path(folder)
        packages.chmod(0o755)
        lines = list(_lines())
        with ThreadPoolExecutor(2) as pool:
            built = list(pool.map(lambda line: installing.build(line.target, packages), lines))
        for line, package in zip(lines, built, strict=True):
            suites: dict[str, tuple[str, ...]] = {"bookworm": (line.install, line.then)}
            if soak or line.target == _QUICK_TRIXIE:
                suites["trixie"] = (line.install,)
            for suite, commands in suites.items():
                for command, problem in _type(suite, line, package, commands):
                    typed.append(f"{suite}: {command}")
                    if problem:
                        failures[typed[-1]] = problem
    assert typed, "the README has no commands to install"
    return Measured(len(failures), {"typed": typed, "failed": failures})


def _lines() -> Iterator[Line]:
    section = (REPOSITORY / "README.md").read_text().partition("\n## Install\n")[2].partition("\n## ")[0]
    for row in section.splitlines():
        found = _COMMAND.findall(row) if row.startswith("|") else []
        target = next((target for mark, target in _TARGETS.items() if found and mark in found[0]), None)
        if target is not None and len(found) > 1:
            yield Line(target, found[0], found[1])


def _type(suite: str, line: Line, package: Path, commands: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each command with what went wrong; empty: nothing."""
    with installing.fresh_debian(package.parent, suite) as machine:
        installing.get_ready(machine, needs_xz=line.target == "run")
        if line.target != "run":
            installing.install_needs(machine, package)
        installing.install(machine, "sudo")
        machine.write("/etc/sudoers.d/alice", _SUDOERS)
        for command in commands:
            problem = _in_shell(machine, _with_file(command, package))
            if command == line.then and not problem:
                problem = _wait_until_it_serves(machine, line)
            yield command, problem


def _with_file(command: str, package: Path) -> str:
    """Return the command with the name of the file, and with the invite that a friend sent."""
    named = re.sub(r"potluck\S*VERSION\S*", package.name, command)
    return f"echo {installing.INVITE} | {named}" if named.endswith(" join") else named


def _in_shell(machine: Debian, command: str) -> str:
    shell = ("bash", "-lc", f"cd /packages && {command}")
    done = machine.run(*shell, user=_USER, environment=installing.FROM_FOLDER | {"DEBIAN_FRONTEND": "noninteractive"})
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-500:] or f"ended with {done.returncode}"


def _wait_until_it_serves(machine: Debian, line: Line) -> str:
    try:
        machine.wait_until("bash", "-lc", line.status, user=_USER, says=installing.SERVING)
    except AssertionError as error:
        return f"does not serve: {str(error)[-500:]}"
    return ""
