"""Where commands take an invite from, and that it does not stay in a command line."""

import io
import os
import pty
import re
import select
import sys
import termios
from pathlib import Path

import pytest
from potluck_cli import swarm_choice
from potluck_cli.parser import Parser
from potluck_cli.swarm_choice import add_invite, add_names, add_swarm, own_names, passed_on, read_invite, swarm_of
from test_cli_status import Screen

from potluck.errors import UsageError
from potluck.membership.invite import Invite, encode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.own_names import OwnNames
from potluck.protocol.swarm import new_swarm

SWARM = new_swarm("friends", "owner/model", 4)
INVITE = encode_invite(Invite(SWARM))


def read(*words: str) -> str:
    parser = Parser()
    add_invite(parser)
    return read_invite(parser.parse_args(words))


def test_an_invite_comes_from_a_file_standard_input_a_hidden_question_or_an_argument_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "invite").write_text(INVITE)
    assert read("--file", str(tmp_path / "invite")) == INVITE
    monkeypatch.setattr(
        sys, "stdin", io.TextIOWrapper(io.BytesIO(f"\ufeffHi, join us:\n<{INVITE}>\n".encode("utf-16")))
    )
    assert read() == INVITE
    assert capsys.readouterr().err == ""
    assert read("potluck", "join", INVITE) == INVITE
    assert "other users of this computer can read" in capsys.readouterr().err


@pytest.mark.parametrize(
    "pasted",
    [f"{INVITE}\n", f"Hi,\n\n> {INVITE[:50]}\n> {INVITE[50:]}\n\nrm -r files\n", f"{INVITE[:50]}\n{INVITE[50:]}\n"],
)
def test_an_invite_is_pasted_hidden_and_lines_after_it_reach_no_shell(
    pasted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as terminal, open(ours, "wb", buffering=0) as keyboard:
        monkeypatch.setattr(sys, "stdin", terminal)
        keyboard.write(pasted.encode())
        assert read() == INVITE
        assert not select.select([theirs], [], [], 0)[0]
        assert termios.tcgetattr(theirs)[3] & termios.ECHO


def test_names_are_asked_once_at_a_terminal_and_enter_takes_the_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parser, joined = Parser(), JoinedSwarms(tmp_path / "swarms.json", tmp_path / "key")
    monkeypatch.setattr(swarm_choice, "known_swarms", lambda: joined)
    add_names(parser)
    monkeypatch.setattr(swarm_choice, "guessed_names", lambda person="": OwnNames("Ana", "desk"))
    for typed, words, wanted in (
        ("\n\n", (), OwnNames("Ana", "desk")),
        ("Anastasia\n\n", (), OwnNames("Anastasia", "desk")),
        ("tower\n", ("--name", "Eve"), OwnNames("Eve", "tower")),
        ("", ("--name", "Eve", "--computer", "box"), OwnNames("Eve", "box")),
        ("\x1b[1mEve<\n" + "x" * 300 + "\n", (), OwnNames("1mEve", "x" * 40)),
    ):
        monkeypatch.setattr(sys, "stdin", Screen(typed))
        monkeypatch.setattr(sys, "stderr", Screen())
        assert own_names(parser.parse_args(words)) == wanted
    joined.create(SWARM, name="Ana Maria", computer="attic")
    monkeypatch.setattr(sys, "stdin", Screen("Bob\nlaptop\n"))
    assert own_names(parser.parse_args([])) == OwnNames("Ana Maria", "attic")


def test_a_file_without_an_invite_is_a_usage_error(tmp_path: Path) -> None:
    for content in (b"", b"\xff\xfe", b"potluck4:AAAA", b"A" * 100_000):
        (tmp_path / "invite").write_bytes(content)
        with pytest.raises(UsageError):
            read("--file", str(tmp_path / "invite"))


def test_another_program_reads_the_swarm_from_a_pipe_instead_of_its_arguments() -> None:
    parser = Parser()
    add_swarm(parser)
    for words in (["--swarm", INVITE], [f"--swarm={INVITE}"], [INVITE]):
        given = passed_on(words)
        assert "potluck4:" not in " ".join(given)
        assert re.fullmatch(r"--invite-file /dev/fd/\d+", " ".join(given))
        assert swarm_of(parser.parse_args(given)).swarm == SWARM


def test_other_arguments_are_passed_on_as_they_are() -> None:
    words = ["model", "--swarm", "friends", "--json", "", "--", INVITE, "--swarm"]
    assert passed_on(words) == words
    assert passed_on(["--swarm"]) == ["--swarm"]
