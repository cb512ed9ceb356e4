"""Documented commands, typed as users do: the README's install commands in fresh Debians, and how long any is silent.

`readme_commands`: an ordinary user with sudo types both commands of each line of the table in a login shell, beside the
file, until the computer serves. What the package declares to need is fetched first, because only apt sees the mirror.
The engine's packages come from a folder, which has no torch for the Python of Debian 13: there, only the installation
counts, without `soak` only that of the server's package.

`silent_waits`: at a terminal and beside a daemon that serves, every command of the parser is typed once, and once more
if it was silent for long. One that is new and not listed below is typed without arguments.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from potluck_cli.main import COMMANDS, load, parser_of
from potluck_cli.parser import actions_of
from potluck_control.resources import DEMO_MODEL, resource
from potluck_control.states import State

from benchmarks.figures import Measured, figure
from tests.helpers import installing
from tests.helpers.debian import REPOSITORY, Debian
from tests.helpers.reader import Reader
from tests.programs import why_not

_COMMAND = re.compile(r"`([^`]+)`")
_TARGETS = {"potluck_": "potluck", "potluck-headless_": "potluck-headless", "potluck-VERSION.run": "run"}
_QUICK_TRIXIE = "potluck-headless"  # needs few other packages
_USER = "alice"
_KEPT = " ".join((*installing.FROM_FOLDER, "DEBIAN_FRONTEND"))
_SUDOERS = f'{_USER} ALL=(ALL) NOPASSWD: ALL\nDefaults env_keep += "{_KEPT}"\n'
_STATUS = "potluck status --json"

_SILENT_S = 2.0
_LONGEST_S = 120.0
_NOT_HERE = ("control", "swarm")  # the command group of programs
_TYPED = """\
start --demo
status
top -n 2
swarm list
swarm show home
swarm page home
swarm invite home
serve MODEL --swarm home --host 127.0.0.1 --port 0
join --file invite
bootstrap --host 127.0.0.1 --port 0
swarm create friends MODEL --bootstrap ADDRESS
swarm join --file invite
swarm model MODEL --swarm home
leave friends --yes
members list
members confirm Bob
members remove Bob
members dismiss Bob
members promote Bob
members demote Bob
members decisions Bob
members end-invite 00000000
members recovery-code
members recover
members add-computer
members backup keys
members restore keys
models list
models find
models delete --prepared
programs list
programs always blender
programs never blender
programs judge blender
history
earnings
ledger check
ledger backup backup.tar
ledger restore backup.tar
logs
config list
config get serve.swarm
config set chat.max_tokens 16
config unset serve.name
config edit
doctor
diag --output diag.zip
setup --check
update --check
autostart
gateway start --stay
gateway status
gateway key webui
gateway keys
gateway revoke webui
chat Hello
generate "Once upon a time" --max-new-tokens 4
generate "Once upon a time" --max-new-tokens 4 --model MODEL
estimate MODEL
gateway stop
completions bash
pause 1h
resume
drain --within 5s
start
leave home --yes
stop
"""
_LASTING = {  # Ctrl-C follows when these show that.
    "members add-computer": "potluck4:",
    "bootstrap": "/p2p/",
    "serve": "Online",
    "potluckd": "\n",
}
_ANSWERS = {"": "correct horse battery"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the README's table: what to install, and what to type then."""

    target: str
    install: str
    then: str

    @property
    def status(self) -> str:
        return f"sudo {_STATUS}" if self.then.startswith("sudo ") else _STATUS


@figure("readme_commands", unit="commands", reach=0, shown=True)
def failed(soak: bool) -> Measured:
    """Install commands of the README that fail as written: Debian 12 until it serves, Debian 13 until installed."""
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


@figure("silent_waits", unit="commands", reach=0)
def silent(soak: bool) -> Measured:
    """Commands that say nothing for more than two seconds at a terminal, beside a daemon that serves.

    Every command of the parser, and again if it was slow; for a quiet machine.
    """
    longest: dict[str, float] = {}
    codes: dict[str, int] = {}
    with Reader({"MODEL": str(resource(DEMO_MODEL))}) as reader:
        for command in _all_commands():
            codes[command], longest[command] = _longest_silence(reader, command)
            if longest[command] > _SILENT_S:
                again, silence_s = _longest_silence(reader, command)
                longest[command] = min(longest[command], silence_s if again == codes[command] else longest[command])
            if command == "start --demo":
                reader.wait_for(lambda status: status.state is State.SERVING)
            if "INVITE" in reader.words:
                (reader.home / "invite").write_text(reader.words["INVITE"])
    slow = {command: round(found, 1) for command, found in longest.items() if found > _SILENT_S}
    failed = {command: code for command, code in codes.items() if code}
    worst = dict(sorted(longest.items(), key=lambda each: -each[1])[:8])
    return Measured(len(slow), {"silent": slow, "worst_s": worst, "typed": len(longest), "failed": failed})


def _all_commands() -> Iterator[str]:
    """Yield what to type, without the program: what is listed, and before its end what the parser has besides."""
    typed = _TYPED.splitlines()
    known = {name for line in typed for name in (line, " ".join(line.split()[:2]), line.split()[0])}
    parsers = {name: parser_of(name, load(name)) for name in COMMANDS}
    leaves = [f"{name} {action}".strip() for name, parser in parsers.items() for action in actions_of(parser) or ("",)]
    yield from typed[:-4]
    yield from (leaf for leaf in leaves if leaf not in known and leaf not in _NOT_HERE)
    yield from typed[-4:]
    yield "potluckd"


def _longest_silence(reader: Reader, command: str) -> tuple[int, float]:
    """Type a command at a terminal, answer what it asks, and return its exit code and longest silence in seconds."""
    until = next((end for start, end in _LASTING.items() if command.startswith(start)), "")
    whole = command if command == "potluckd" else f"potluck {command}"
    typed = reader.type_at_terminal(whole, _ANSWERS, until=until, limit_s=_LONGEST_S)
    return typed.code, typed.silent_s
