"""The manual says what the parsers say, in a form that man programs read without complaint."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from potluck_cli import daemon, main
from potluck_cli.parser import actions_of
from potluck_daemon.settings.schema import entries

from installer.manual import commands, outputs, result_of
from potluck.errors import UsageError

ROOT = Path(__file__).parents[3]
WITHOUT_JSON = {"completions", "control"}  # a script; bytes of the control API
PARSERS = {parser.prog: parser for parser in (*commands(), daemon.parser())}
LEAVES = [name for name, parser in PARSERS.items() if name != "potluckd" and not actions_of(parser)]


@pytest.mark.parametrize("name", list(outputs()))
def test_the_files_in_the_tree_are_what_the_parsers_say_now(name: str) -> None:
    assert (ROOT / name).read_text() == outputs()[name], "run: make manual"


def test_every_command_and_setting_is_in_the_manual() -> None:
    text = (ROOT / "docs" / "commands.md").read_text()
    assert all(f"# {name}\n" in text for name in PARSERS)
    assert all(f"| `{entry.key}` |" in text for entry in entries())


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_takes_json_and_says_what_it_prints(name: str) -> None:
    has_json = name.split()[1] not in WITHOUT_JSON
    assert ("--json" in PARSERS[name].format_usage()) is has_json
    assert (result_of(name.split()) is not None) is has_json


@pytest.mark.parametrize("name", PARSERS)
def test_every_option_and_argument_explains_itself(name: str) -> None:
    for action in PARSERS[name]._actions:
        assert action.help or actions_of(PARSERS[name]), action


@pytest.mark.skipif(shutil.which("mandoc") is None, reason="mandoc is not installed")
@pytest.mark.parametrize("page", ["potluck.1", "potluckd.8"])
def test_mandoc_has_no_complaint(page: str) -> None:
    command = ["mandoc", "-T", "lint", "-W", "warning", ROOT / "resources" / "man" / page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("page", ["potluck.1", "potluckd.8"])
def test_groff_has_no_complaint_and_shows_dashes_that_can_be_copied(page: str) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", ROOT / "resources" / "man" / page]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--system" in re.sub("\x1b\\[[0-9;]*m", "", done.stdout)


def documented() -> list[str]:
    """Every command line that the documents show."""
    found = set()
    found.update(
        re.split(r"\s{2,}|\s[|>&#;<]|\s\(", line.strip())[0]
        for name in main.COMMANDS
        for line in main.load(name).EXAMPLES.splitlines()
        if line.startswith("  potluck ")
    )
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")):
        for line in path.read_text().splitlines():
            shown = re.match(r"(?: {4}|\t)(?:sudo )?(?:[A-Z_]+=\S+ )?(?:\.venv/bin/)?(potluck .*)", line)
            if shown and not re.search(r" \[|ACTION|COMMAND|\|", re.split(r"\s{2,}|\s[|>&#;<]", shown[1])[0]):
                found.add(re.split(r"\s{2,}|\s[|>&#;<]|\s\(", shown[1])[0])
    found.update(re.findall(r"`(potluck [a-z][^`]*)`", (ROOT / "README.md").read_text()))
    return sorted(found)


@pytest.mark.parametrize("line", documented())
def test_every_command_line_in_the_documents_is_understood(line: str) -> None:
    words = shlex.split(line)[1:]
    if line in AS_A_WHOLE or words[0].startswith("-") or words[0] == "COMMAND":
        return
    try:
        main.parser_of(words[0], main.load(words[0])).parse_args(words[1:])
    except UsageError as error:
        pytest.fail(f"{line}: {error}")


AS_A_WHOLE = {f"potluck {name}" for name in ("service", "swarm", "config")}
