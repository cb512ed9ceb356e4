"""Where commands take an invite from, and that it does not stay in a command line."""

import io
import re
import sys
from pathlib import Path

import pytest
from potluck_cli import invites
from potluck_cli.invites import add_invite, add_swarm, passed_on, read_invite, swarm_of
from potluck_cli.parser import Parser
from test_cli_top import Screen

from potluck.errors import UsageError
from potluck.membership.invite import Invite, encode_invite
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
    monkeypatch.setattr(sys, "stdin", io.StringIO(INVITE))
    assert read() == INVITE
    monkeypatch.setattr(sys, "stdin", Screen())
    monkeypatch.setattr(invites.getpass, "getpass", lambda prompt: INVITE)  # which doesn't show what is typed
    assert read() == INVITE
    assert capsys.readouterr().err == ""
    assert read(INVITE) == INVITE
    assert "other users of this computer can read" in capsys.readouterr().err


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
