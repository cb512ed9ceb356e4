"""The completion scripts, in the real shells."""

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from potluck_cli import main
from potluck_cli.programs import interfaces
from potluck_control.methods.members import Member, MembersList
from potluck_control.resources import resource

from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import new_swarm

TYPED = {  # what stands on the line: what is offered for its last word, and what is not
    "": (set(main.COMMANDS), {"--blocks"}),
    "sw": ({"swarm"}, {"serve"}),
    "swarm ": ({"create", "join", "show", "invite"}, {"leave", "start"}),
    "swarm create --boot": ({"--bootstrap"}, {"--open"}),
    "serve --dtype b": ({"bfloat16"}, {"float32"}),
    "serve --dtype bfloat16 --thr": ({"--threads"}, set()),
    "config get serve.": ({"serve.listen", "serve.blocks"}, {"yield.always"}),
    "serve --identity here-": ({"here-is-a-file"}, set()),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here-is-a-file").touch()


def offers(shell: str, line: str) -> set[str]:
    script = f"source {resource(f'completions/potluck.{shell}')}\n"
    if shell == "bash":
        words = " ".join(f"'{word}'" for word in ["potluck", *line.split(" ")])
        script += f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _shtab_potluck\n"
        script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    else:
        script += f"complete -C 'potluck {line}'"
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return {item.split("\t")[0] for item in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", ["bash", pytest.param("fish", marks=pytest.mark.shells)])
@pytest.mark.parametrize("line", TYPED)
def test_a_shell_offers_what_fits(shell: str, line: str) -> None:
    offered, others = TYPED[line]
    found = offers(shell, line)
    assert offered <= found
    assert not others & found


@pytest.mark.shells
def test_zsh_takes_the_script_as_an_autoloaded_function_and_by_eval(tmp_path: Path) -> None:
    script = shutil.copy(resource("completions/potluck.zsh"), tmp_path / "_potluck")
    for way in (f'compinit -u -D; eval "$(cat {script})"', f"fpath=({tmp_path} $fpath); compinit -u -D"):
        command = f"autoload -U compinit; {way}; print $_comps[potluck]"
        done = subprocess.run(["zsh", "-f", "-c", command], capture_output=True, text=True)
        assert (done.stdout.strip() != "", done.stderr) == (True, "")


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completions", "fish"]) == 0
    assert capsys.readouterr().out == resource("completions/potluck.fish").read_text()


@pytest.fixture
def _names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `potluck` on the path that tells these names."""
    program = tmp_path / "bin" / "potluck"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$2-one\n$2-two"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


@pytest.mark.usefixtures("_names")
@pytest.mark.parametrize("shell", ["bash", pytest.param("fish", marks=pytest.mark.shells)])
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("generate --swarm s", "swarms"),
        ("leave s", "swarms"),
        ("members remove p", "people"),
        ("models delete m", "models"),
    ],
)
def test_a_shell_offers_the_names_that_the_command_tells(shell: str, line: str, kind: str) -> None:
    assert {f"{kind}-one", f"{kind}-two"} <= offers(shell, line)


def test_names_that_a_shell_would_expand_are_never_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("Ana", "Ana Maria", "$(reboot)", "`reboot`", "-x", "Zoë", "a;b", "")
    people = tuple(Member(name, "b2f4", "member", 0.0, "", False, False, ()) for name in names)
    found = MembersList("home", people, (), may_lead=False, is_founder=False)
    monkeypatch.setattr(interfaces, "daemon", lambda: SimpleNamespace(call=lambda *_: found))
    assert main.main(["completions", "people"]) == 0
    assert capsys.readouterr().out.split("\n") == ["Ana", "Zoë", "b2f4", ""]


def test_the_joined_swarms_are_told_and_without_a_daemon_no_other_names_nor_a_complaint(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, os.environ["HOME"])
    JoinedSwarms().create(new_swarm("friends", "demo-model", 4), is_open=True)
    assert [main.main(["completions", kind]) for kind in ("models", "swarms")] == [0, 0]
    assert capfd.readouterr() == ("friends\n", "")
