"""The command as a whole: help, dispatch, errors and exit codes."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from potluck_cli import main
from potluck_cli.options import print_json

from potluck.errors import CheckpointError, NetworkError, PotluckError, SwarmError, UsageError
from potluck.protocol.codes import Code, RemoteError


def run(*arguments: str) -> int:
    """The exit code, also where argparse exits by itself."""
    try:
        return main.main(arguments)
    except SystemExit as exit:
        return int(exit.code or 0)


@pytest.fixture(autouse=True)
def _own_config(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("POTLUCK_DEBUG", raising=False)


def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (("--help",), ()):
        assert run(*arguments) == 0
        text = capsys.readouterr().out
        assert all(re.search(rf"\b{name}\b", text) for name in main.COMMANDS)
        assert 18 <= sum(line.startswith("  ") for line in text.splitlines()) <= 24, "the others are named in one line"
        assert "exit codes" in text


def test_every_command_explains_itself_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for name in main.COMMANDS:
        assert run(name, "--help") == 0
        text = capsys.readouterr().out
        assert f"usage: potluck {name}" in text
        assert f"potluck {name}" in text.partition("examples:")[2]


def test_an_error_is_one_line_with_a_hint_or_a_traceback_if_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("swarm", "show", "nowhere") == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert err.startswith("potluck: ")
    assert "potluck join" in err
    monkeypatch.setenv("POTLUCK_DEBUG", "1")
    with pytest.raises(UsageError):
        main.main(["swarm", "show", "nowhere"])


def test_exit_codes_tell_whose_fault_it_is() -> None:
    for error, code in (
        (PotluckError("x"), 1),
        (CheckpointError("x"), 1),
        (UsageError("x"), 2),
        (NetworkError("x"), 3),
        (SwarmError("x"), 3),
        (RemoteError(Code.BUSY, "x"), 3),
        (ModuleNotFoundError("x"), 1),
        (UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates not allowed"), 2),
        (KeyError("x"), 70),
        (PermissionError(13, "Permission denied", "/x"), 1),
    ):
        assert main.exit_code(error) == code


def test_an_error_that_nobody_meant_for_people_is_one_line() -> None:
    for error, text in (
        (ValueError("two\nlines"), "internal error, ValueError: two lines (POTLUCK_DEBUG=1 shows where)"),
        (ModuleNotFoundError("x", name="torch"), "this needs torch, which is not installed (potluck setup fetches it)"),
        (IsADirectoryError(21, "No file", "/x"), "cannot use /x: No file (choose another place)"),
    ):
        assert main.describe(error) == f"potluck: {text}"


def test_a_name_of_a_file_that_is_not_utf_8_is_printed_as_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for name in (b"\xe9t\xe9", "été".encode()):
        path = Path(os.fsdecode(name))
        print_json({"path": path})
        assert json.loads(capsysbinary.readouterr().out) == {"path": str(path)}


def test_a_folder_that_was_deleted_is_left_and_named(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = f'rmdir ../gone; exec "{sys.executable}" -m potluck_cli.main config get serve.threads'
    done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path / "gone", capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
    assert done.stderr == "potluck: the folder that you are in is gone; names of files begin at / now\n"


def test_an_error_of_a_file_is_one_sentence_with_what_to_look_at() -> None:
    for error, said, code in (
        (OSError(errno.EROFS, "Read-only file system", "/x"), "cannot use /x: Read-only file system (is the disk", 1),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), "cannot use /x: Permission denied (does it", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot write: No space left on device (is the disk", 1),
        (PermissionError(errno.EACCES, "Permission denied"), "internal error, PermissionError", 70),
    ):
        assert main.describe(error).startswith(f"potluck: {said}")
        assert main.exit_code(error) == code


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}, {"PYTHONUTF8": "1"}]
)
def test_bytes_that_are_no_utf8_end_in_one_sentence(locale: dict[str, str], tmp_path: Path) -> None:
    places = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"), f"{tmp_path}/\udcff")
    for words in (("config", "set", "serve.name", "a\udcff"), ("start",), ("pause", "\udcff"), ("\udcff",)):
        command = [sys.executable, "-P", "-m", "potluck_cli.main", *words]
        done = subprocess.run(command, env={**os.environ, **places, **locale}, capture_output=True, timeout=250)
        # A slow machine shows what the command waits for, too.
        (line,) = (line for line in done.stderr.splitlines() if not line.endswith(b" ..."))
        assert line.startswith(b"potluck: ")
        assert b"internal error" not in done.stderr


def test_an_output_that_takes_nothing_is_no_internal_error() -> None:
    full = "potluck: cannot write: No space left"
    for where, words, code, said in (
        ("&-", "config list", 0, ""),
        ("/dev/full", "config list", 1, full),
        ("/dev/full", "--help", 1, full),
    ):
        line = f'exec "{sys.executable}" -m potluck_cli.main {words} >{where} <&-'
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
        done = subprocess.run(["sh", "-c", line], env=environment, stderr=subprocess.PIPE, text=True, timeout=250)
        assert (done.returncode, done.stderr[: len(said)], done.stderr.count("\n")) == (code, said, 1 if said else 0)


def test_an_error_that_ctrl_c_led_to_is_no_internal_error() -> None:
    def clean_up() -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            raise RecursionError("maximum recursion depth exceeded")  # noqa: B904 (as a library that cleans up)

    with pytest.raises(RecursionError) as caught:
        clean_up()
    assert main.was_interrupted(caught.value)
    assert not main.was_interrupted(RecursionError("ours"))


def test_values_that_cannot_be_are_refused_before_anything_starts() -> None:
    for line in (
        *(
            "serve m --blocks 4:4",
            "serve m --blocks x",
            "serve m --blocks 0:2 --num-blocks 2",
            "serve m --num-blocks 0",
        ),
        *("serve m --port 70000", "generate x --temperature nan", "generate x --temperature -1"),
        *("generate x --max-new-tokens 0", "ledger"),
    ):
        assert run(*line.split()) == 2


def test_a_wrong_word_brings_advice_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    for line, hint in (
        ("serve m --block 0:2", "did you mean --blocks?"),  # words are never guessed from their beginning
        ("sevre", "did you mean serve?"),
        ("confg list", "did you mean config?"),
        ("service install", "did you mean autostart?"),  # the name in earlier versions
        ("config lst", "did you mean list?"),
        ("serve m --blokcs 0:2", "did you mean --blocks?"),
        ("serve m --dtype=bfloat", "did you mean bfloat16?"),
        ("swarm create f m --bootstrp=x", "did you mean --bootstrap?"),
        ("swarm join --bootstrap x", "potluck swarm --help explains it"),  # `swarm create` has it
        ("serve --quixotic", "potluck serve --help explains it"),
        ("ledger", "potluck ledger --help explains it"),
        ("serve m --port x", "potluck serve --help explains it"),
    ):
        assert run(*line.split()) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert err.startswith("potluck: ")
        assert err.endswith(f"({hint})\n")
