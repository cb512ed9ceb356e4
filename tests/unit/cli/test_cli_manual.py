"""The manual says what the parsers say, in a form that man programs read without complaint."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from helpers.documents import DOCS
from helpers.documents import commands as commands_of
from potluck_cli import daemon, main
from potluck_cli.parser import actions_of

from installer.manual import commands, outputs, result_of

ROOT = Path(__file__).parents[3]
WITHOUT_JSON = {"completions", "control"}  # a script; bytes of the control API
PARSERS = {parser.prog: parser for parser in (*commands(), daemon.parser())}
LEAVES = [name for name, parser in PARSERS.items() if name != "potluckd" and not actions_of(parser)]


def test_the_files_in_the_tree_are_what_the_parsers_say_now() -> None:
    for name, text in outputs().items():
        assert (ROOT / name).read_text() == text, "run: make manual"


def test_every_command_takes_json_and_says_what_it_prints() -> None:
    for name in LEAVES:
        has_json = name.split()[1] not in WITHOUT_JSON
        assert ("--json" in PARSERS[name].format_usage()) is has_json
        assert (result_of(name.split()) is not None) is has_json


def test_every_option_and_argument_explains_itself() -> None:
    for name in PARSERS:
        for action in PARSERS[name]._actions:
            assert action.help or actions_of(PARSERS[name]), action


@pytest.mark.manuals
@pytest.mark.parametrize("page", ["potluck.1", "potluckd.8"])
@pytest.mark.parametrize("command", ["mandoc -T lint -W warning", "groff -man -T utf8 -ww"])
def test_programs_that_show_manuals_have_no_complaint(command: str, page: str) -> None:
    program, *options = command.split()
    path = ROOT / "resources" / "man" / page
    done = subprocess.run([program, *options, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.sub("\x1b\\[[0-9;]*m", "", done.stdout)
    assert "--system" in shown if program == "groff" else shown == "", "dashes can be copied"


def documented() -> list[str]:
    """Every command line that a command's help and the pages for users show."""
    examples = [line.strip() for name in main.COMMANDS for line in main.help_of(main.load(name))[1].splitlines()]
    typed = [line for page in sorted(DOCS.rglob("*.md")) for line in commands_of(str(page.relative_to(DOCS))[:-3])]
    shown = (re.match(r"(?:sudo )?(?:[A-Z_]+=\S+ )?(potluck [^-].*)", line) for line in (*examples, *typed))
    lines = {re.split(r"\s{2,}|\s[|>&#;<]|\s\(", match[1])[0] for match in shown if match}
    return sorted(line for line in lines if not re.search(r" \[|ACTION|COMMAND", line))


def test_every_command_line_that_is_shown_to_people_is_understood() -> None:
    for line in documented():
        name, *words = shlex.split(line)[1:]
        if words or not actions_of(PARSERS[f"potluck {name}"]):  # or it is about the command as a whole
            PARSERS[f"potluck {name}"].parse_args(words)
