"""Every command in the documents for users is one that the program takes, with settings that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from potluck_daemon.cli import main
from potluck_daemon.settings.values import convert, entry_of

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ("install", "first-hour", "friends", "headless", "troubleshooting", "costs-and-privacy", "earnings")
_STANDS_FOR = {"INVITE": "potluck1:abc", "ADDRESS": "/ip4/192.0.2.1/tcp/1", "MODEL": "owner/model", "NAME": "someone"}


def commands() -> Iterator[tuple[str, str]]:
    """Lines to type, without what a shell does with them."""
    for page in PAGES:
        for line in (DOCS / f"{page}.md").read_text().splitlines():
            found = re.match(r"    (?:sudo )?(potluck .*)", line)
            if found:
                yield page, found[1].partition("  #")[0].partition(" | ")[0]


def mentions() -> Iterator[tuple[str, str]]:
    """Commands that a sentence names."""
    for page in PAGES:
        for found in re.findall(r"`(?:sudo )?potluck ([a-z]+)[^`]*`", (DOCS / f"{page}.md").read_text()):
            yield page, found


@pytest.mark.parametrize(("page", "command"), sorted(set(commands())), ids=lambda value: value)
def test_a_command_in_the_documents_is_understood(page: str, command: str) -> None:
    words = [_STANDS_FOR.get(word, word) for word in shlex.split(command)[1:]]
    name = main.top_parser().parse_args(words[:1]).command
    args = main.parser_of(name, main.load(name)).parse_args(words[1:])
    if words[:2] == ["config", "set"]:
        convert(entry_of(args.key), args.value)


def test_what_sentences_name_are_commands() -> None:
    assert {name for _, name in mentions()} <= set(main.COMMANDS)


def test_there_are_commands_to_check() -> None:
    assert {"install", "first-hour", "friends", "headless"} <= {page for page, _ in commands()}
