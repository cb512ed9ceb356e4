"""The pages for users, done as they say: every command and program of them, with real daemons and a real swarm."""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from helpers.documents import Kind, Passage, passages
from helpers.reader import Reader
from helpers.torchless import install_without_torch
from potluck_control.api.schema import Status
from potluck_control.states import State

from benchmarks.people.first_hour import faults_of_readme, walked

pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parents[2]
REMOVAL = "Get rid of it"
PAGES_FOR_FRIENDS: tuple[tuple[str, tuple[str, ...] | None], ...] = (
    ("friends", ("On the machine that others can reach", "Everybody who serves", "Everybody who uses it")),
    *((page, None) for page in ("python", "gateway", "earnings", "security", "troubleshooting")),
    ("install", (REMOVAL,)),
)
INSTALLATION = ("", "Look before it fetches, or choose", "Start with the session", "Update")
NOT_HERE = {  # what needs a package manager, a user's systemd, gigabytes, a publisher or a third computer
    "install": {
        "sudo apt install ./potluck_VERSION_amd64.deb",
        "sh potluck-VERSION.run",
        "potluck join",
        "potluck setup --rollback",
        "potluck autostart",
        "potluck autostart --daemon on --app on",
        "potluck autostart --daemon off --app off",
        "potluck update --check",
        "potluck update",
        "potluck update --rollback",
        "sudo apt purge potluck",
        "sudo apt purge potluck-headless",
        "~/.local/lib/potluck/uninstall",
    },
}
CODES = {"potluck doctor": (0, 1)}  # it may find something on the machine that runs the tests
LASTING = {"potluck bootstrap --port 31330": "/ip4/127.0.0.1/"}


@dataclass
class Story:
    """The readers who follow the pages.

    Attributes:
        others: the readers of commands that `me` does not type, by page and command.
    """

    me: Reader
    others: dict[tuple[str, str], Reader] = field(default_factory=dict)

    def read(self, page: str, sections: tuple[str, ...] | None = None) -> None:
        """Do all that a page says, or some of its sections."""
        printed = ""
        for passage in passages(page, sections):
            if passage.kind is Kind.SHOWN:
                assert_shown(passage, printed)
            elif passage.kind is Kind.PYTHON:
                printed, error = self.me.run_program(passage.text)
                assert not error, f"{passage}\n{error}"
            elif passage.text not in NOT_HERE.get(page, ()):
                printed = self.do(passage)

    def do(self, passage: Passage) -> str:
        command = passage.text
        reader = self.others.get((passage.page, command), self.me)
        if command in LASTING:
            reader.type_and_leave(command, LASTING[command])
            return ""
        done = reader.type(command)
        assert done.returncode in CODES.get(command, (0,)), f"{passage}\n{done.stdout}{done.stderr}"
        self.go_on_after(passage, reader)
        return done.stdout

    def go_on_after(self, passage: Passage, reader: Reader) -> None:
        """What a reader waits for, or starts, between two commands."""
        command = passage.text
        if passage.page == "friends" and command == "potluck join":  # others use what is served
            reader.wait_for(is_complete)
        if command == "potluck ledger backup potluck-backup.tar":
            for other in self.others.values():
                shutil.copy(reader.home / "potluck-backup.tar", other.home)


def is_complete(status: Status) -> bool:
    coverage = status.swarm.coverage if status.swarm is not None else None
    return status.state is State.SERVING and bool(coverage) and 0 not in coverage


def assert_shown(passage: Passage, printed: str) -> None:
    """Every line on the page begins a line of what was printed."""
    lines = [line.strip() for line in printed.splitlines()]
    for wanted in passage.text.splitlines():
        assert any(line.startswith(wanted.strip()) for line in lines), f"{passage}\nprinted was:\n{printed}"


def words() -> dict[str, str]:
    return {
        "MODEL": str(ROOT / "resources" / "demo-model"),
        "resources/demo-model": str(ROOT / "resources" / "demo-model"),
        "bootstrap --port 31330": "bootstrap --host 127.0.0.1 --port 0",
        "~/.local/state/potluck/engines/current/bin/python": sys.executable,
    }


@pytest.fixture
def without_an_engine(tmp_path: Path) -> Iterator[Story]:
    installation = install_without_torch(tmp_path)
    program = tmp_path / "potluck"
    program.write_text(f'#!/bin/sh\nexec {installation.python} -m potluck_cli.main "$@"\n')
    program.chmod(0o755)
    with Reader({"/mnt/big": str(tmp_path / "big")}, tmp_path, installation.environment) as me:
        yield Story(me)


@pytest.fixture
def alone() -> Iterator[Reader]:
    with Reader(words()) as me:
        yield me


@pytest.fixture
def among_friends() -> Iterator[Story]:
    """One of the friends has the meeting point; another one serves, and reads the other pages too."""
    known = words()
    with Reader(known) as founder, Reader(known) as me, Reader(known) as new_machine:
        theirs = (
            "potluck bootstrap --port 31330",
            "potluck swarm create friends MODEL --bootstrap ADDRESS",
            "potluck start",
            "potluck swarm invite friends",
        )
        others = {("friends", command): founder for command in theirs}
        others["earnings", "potluck ledger restore potluck-backup.tar"] = new_machine
        yield Story(me, others)


def test_who_just_installed_it_does_what_the_pages_say(without_an_engine: Story, tmp_path: Path) -> None:
    without_an_engine.read("install", INSTALLATION)
    assert (tmp_path / "big" / "potluck-engines" / "current").exists()


def test_newcomers_get_the_answers_that_the_pages_say() -> None:
    walk, _ = walked()
    assert [fault for fault in walk.faults if not fault.startswith("silent")] == []


def test_the_program_of_the_readme_prints_what_stands_there(alone: Reader) -> None:
    alone.type("potluck start --demo")
    alone.wait_for(is_complete)
    assert faults_of_readme(alone) == []


def test_friends_do_what_the_pages_say(among_friends: Story) -> None:
    for page, sections in PAGES_FOR_FRIENDS:
        among_friends.read(page, sections)
