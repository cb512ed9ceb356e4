"""The completion scripts, in the real shells."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from potluck_cli import main
from potluck_cli.command_tree import potluck
from potluck_cli.completions import bash, fish, zsh
from potluck_daemon.settings.schema import entries

KEYS = {entry.key for entry in entries()}
TYPED = [  # what stands on the line, and what must and must not be offered for its last word
    ("", set(main.COMMANDS), {"--blocks"}),
    ("sw", {"swarm"}, {"serve"}),
    ("swarm ", {"create", "join", "show", "invite", "leave"}, {"start"}),
    ("swarm create --boot", {"--bootstrap"}, {"--open"}),
    ("serve --dty", {"--dtype"}, {"--device"}),
    ("serve --dtype b", {"bfloat16"}, {"float32"}),
    ("serve --dtype bfloat16 --thr", {"--threads"}, set()),
    ("config get serve.", {key for key in KEYS if key.startswith("serve.")}, {"yield.always"}),
    ("config set yield.al", {"yield.always"}, set()),
    ("completions ", {"bash", "zsh", "fish"}, set()),
    ("convert here-", {"here-is-a-file"}, set()),
    ("serve --identity here-", {"here-is-a-file"}, set()),
]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "here-is-a-file").touch()


def bash_offers(line: str) -> set[str]:
    words = " ".join(f"'{word}'" for word in ["potluck", *line.split(" ")])
    script = f"{bash(potluck())}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _potluck\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-u", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return set(done.stdout.split())


def fish_offers(line: str) -> set[str]:
    script = f"{fish(potluck())}\ncomplete -C 'potluck {line}'"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return {item.split("\t")[0] for item in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("line", "offered", "others"), TYPED)
def test_bash_offers_what_fits(line: str, offered: set[str], others: set[str]) -> None:
    found = bash_offers(line)
    assert offered <= found
    assert not others & found


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("line", "offered", "others"), TYPED)
def test_fish_offers_what_fits(line: str, offered: set[str], others: set[str]) -> None:
    found = fish_offers(line)
    assert offered <= found
    assert not others & found


def zsh_offers(line: str) -> set[str]:
    """Completion needs a terminal, which only its two last functions use; here they print what they are given."""
    words = " ".join(f"'{word}'" for word in ["potluck", *line.split(" ")])
    last = line.rpartition(" ")[2]
    script = f"""
compdef() {{ }}
_describe() {{ print -rl -- ${{(P)2}} }}
_files() {{ print -rl -- * }}
{zsh(potluck())}
words=({words}); CURRENT=$#words
_potluck
"""
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    return {item.split(":")[0] for item in done.stdout.splitlines() if item.startswith(last)}


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
@pytest.mark.parametrize(("line", "offered", "others"), TYPED)
def test_zsh_offers_what_fits(line: str, offered: set[str], others: set[str]) -> None:
    found = zsh_offers(line)
    assert offered <= found
    assert not others & found


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_takes_the_script_as_an_autoloaded_function_and_by_source(tmp_path: Path) -> None:
    (tmp_path / "_potluck").write_text(zsh(potluck()))
    for way in ("source ./_potluck", f"fpath=({tmp_path} $fpath); compinit -u -D"):
        done = subprocess.run(
            ["zsh", "-f", "-c", f"autoload -U compinit; compinit -u -D; {way}; print $_comps[potluck]"],
            capture_output=True,
            text=True,
        )
        assert (done.stdout, done.stderr) == ("_potluck\n", "")
