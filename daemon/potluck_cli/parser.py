"""How command lines are read: argparse, whose complaints become errors of one line with advice like all others."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NoReturn

from potluck.errors import UsageError

_QUOTED = re.compile(r"'([^']*)'")
_REPLACED = {"service": "autostart"}  # names of earlier versions


class HelpText(argparse.HelpFormatter):
    """Fits paragraphs to the width of the terminal and keeps tables and examples, which are indented, as written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in parts)


Argument = Callable[[argparse.ArgumentParser], object]
"""Adds arguments to a parser."""


class Subcommand:
    """One action of a command, such as `create` of `potluck swarm`.

    Attributes:
        run: runs it and returns the exit code.
        result: what it prints with --json.
        arguments: what it takes.
        help: what it does, for people; empty: the first line of the docstring of `run`.
    """

    def __init__(
        self, run: Callable[[argparse.Namespace], int], result: type, *arguments: Argument, help: str = ""
    ) -> None:
        said = (run.__doc__ or "").partition("\n")[0].rstrip(".")
        self.run = run
        self.help = help or said[:1].lower() + said[1:]
        self.result = result
        self.arguments = arguments


def argument(*names: str, **options: Any) -> Argument:
    """Return what adds one argument, with the parameters of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **options)


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations whose errors `main` prints. Parsers of actions are of this class too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=HelpText, allow_abbrev=False, **options)

    def add_actions(self, actions: Mapping[str, Subcommand]) -> None:
        """Take the name of one of the actions, and its arguments."""
        parsers = self.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, action in actions.items():
            parser = parsers.add_parser(name, help=action.help)
            for add in action.arguments:
                add(parser)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Raises OSError if the help cannot be written, for `main` to tell."""
        sys.stdout.flush()
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        """Raises UsageError."""
        wrong = _wrong_word(message)
        known = [word for word in _known_words(self) if word != wrong]  # wrong here, right elsewhere
        alike = get_close_matches(_REPLACED.get(wrong, wrong), known, 1, 0.6) if wrong else []
        hint = f"did you mean {alike[0]}?" if alike else f"{self.prog} --help explains it"
        raise UsageError(re.sub(r" \(choose from .*\)$", "", message), hint=hint)


def actions_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of `create`, `join`, ... of a command that has such; argparse offers no public way."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _wrong_word(message: str) -> str:
    if message.startswith("unrecognized arguments: "):
        return message.removeprefix("unrecognized arguments: ").split()[0].partition("=")[0]
    found = _QUOTED.search(message)
    return found[1] if found else ""


def _known_words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
    for inner in actions_of(parser).values():
        yield from _known_words(inner)
