"""`potluck members`, and the commands of docs/founders.md."""

from __future__ import annotations

import shlex

import pytest
from helpers.documents import commands
from potluck_cli.main import load, parser_of


@pytest.mark.parametrize("line", sorted(set(commands("founders"))))
def test_what_the_page_for_founders_says_is_a_command(line: str) -> None:
    program, name, *options = shlex.split(line)
    assert program == "potluck"
    parser_of(name, load(name)).parse_args(options)
