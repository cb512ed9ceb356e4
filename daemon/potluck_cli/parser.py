"""Defines commands and their actions, and reads command lines with argparse.

Complaints of argparse become errors of one line with a hint, like all others.
"""

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

Argument = Callable[[argparse.ArgumentParser], object]
"""Adds arguments to a parser."""
Run = Callable[[argparse.Namespace], int]
"""Runs a command and returns the exit code. Raises PotluckError."""


class HelpText(argparse.HelpFormatter):
    """Fits paragraphs to the width of the terminal and keeps tables and examples, which are indented, as written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in parts)


class Subcommand:
    """A command, or one action of a group, such as `create` of `potluck swarm`.

    Attributes:
        run: runs it. The docstring of `run` is the help, as `help_of` reads it.
        result: the classes that it prints with --json; none: it has no --json.
        arguments: what it takes.
        summary: what it does, in the list of a group's actions; by default the first line of `run`'s docstring.
    """

    def __init__(self, run: Run, result: type | tuple[type, ...], *arguments: Argument, summary: str = "") -> None:
        first = (run.__doc__ or "").partition("\n")[0].rstrip(".")
        self.run = run
        self.result = result
        self.arguments = arguments
        self.summary = summary or first[:1].lower() + first[1:]
        self.text = run.__doc__

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add its arguments, and --json, to a parser."""
        for add in self.arguments:
            add(parser)
        if self.result:
            parser.add_argument("--json", action="store_true", help="print JSON, for scripts")


class CommandGroup:
    """A command with actions. `text`: the help, as `help_of` reads it."""

    def __init__(self, text: str | None, actions: Mapping[str, Subcommand]) -> None:
        self.text = text
        self.actions = actions

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add a parser for each action."""
        parsers = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        for name, action in self.actions.items():
            action.add_to(parsers.add_parser(name, help=action.summary))


def help_of(command: Subcommand | CommandGroup) -> tuple[str, str]:
    """Return what people read about a command, and examples, which are indented: all but its docstring's first line."""
    text = textwrap.dedent((command.text or "").partition("\n\n")[2]).rstrip()
    description, _, examples = text.rpartition("\n\n")
    return description, examples


def argument(*names: str, **options: Any) -> Argument:
    """Return what adds one argument, with the parameters of `ArgumentParser.add_argument`."""
    return lambda parser: parser.add_argument(*names, **options)


class Parser(argparse.ArgumentParser):
    """A parser without abbreviations whose errors `main` prints. Parsers of actions are of this class too."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=HelpText, allow_abbrev=False, **options)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """End the process. Raises OSError, which `main` reports, if the help cannot be written."""
        sys.stdout.flush()
        super().exit(status, message)

    def error(self, message: str) -> NoReturn:
        """Raise UsageError with a hint, such as the word that was probably meant."""
        wrong = _wrong_word(message)
        known = [word for word in _known_words(self) if word != wrong]  # wrong here, right elsewhere
        alike = get_close_matches(_REPLACED.get(wrong, wrong), known, 1, 0.6) if wrong else []
        hint = f"did you mean {alike[0]}?" if alike else f"{self.prog} --help explains it"
        raise UsageError(re.sub(r" \(choose from .*\)$", "", message), hint=hint)


def actions_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of a group's actions; none for another command. argparse offers no public way."""
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
