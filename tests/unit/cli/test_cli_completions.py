"""The completion scripts, in the real shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from potluck_cli import main
from potluck_control.resources import resource

TYPED = {  # what stands on the line: what is offered for its last word, and what is not
    "": (set(main.COMMANDS), {"--blocks"}),
    "sw": ({"swarm"}, {"serve"}),
    "swarm ": ({"create", "join", "show", "invite", "leave"}, {"start"}),
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


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize("line", TYPED)
def test_a_shell_offers_what_fits(shell: str, line: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    offered, others = TYPED[line]
    found = offers(shell, line)
    assert offered <= found
    assert not others & found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script_as_an_autoloaded_function_and_by_eval(tmp_path: Path) -> None:
    script = shutil.copy(resource("completions/potluck.zsh"), tmp_path / "_potluck")
    for way in (f'eval "$(cat {script})"', f"fpath=({tmp_path} $fpath); compinit -u -D"):
        command = f"autoload -U compinit; compinit -u -D; {way}; print $_comps[potluck]"
        done = subprocess.run(["zsh", "-f", "-c", command], capture_output=True, text=True)
        assert (done.stdout.strip() != "", done.stderr) == (True, "")


def test_the_command_prints_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["completions", "fish"]) == 0
    assert capsys.readouterr().out == resource("completions/potluck.fish").read_text()
