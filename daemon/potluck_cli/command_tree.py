"""All commands with their actions, options and arguments as plain values, read from the very parsers that run.

The manual and the completions of shells are made from this, so neither can differ from what the program takes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from potluck_daemon.settings.schema import entries

from potluck_cli import main
from potluck_cli.daemon import parser as daemon_parser
from potluck_cli.parser import actions_of

_FILES = ("FILE", "OUT", "SOURCE", "MODEL")
_KEYS = "KEY"


@dataclass(frozen=True, slots=True)
class Option:
    """`flags` empty: an argument that is known by its place."""

    flags: tuple[str, ...]
    metavar: str  # of its value; empty: it takes none
    help: str
    choices: tuple[str, ...] = ()  # values it may have, if they are few and known
    takes_file: bool = False
    is_optional: bool = True
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """`path`: the words that call it, the program's name first."""

    path: tuple[str, ...]
    summary: str
    description: str = ""
    examples: str = ""
    options: tuple[Option, ...] = ()
    arguments: tuple[Option, ...] = ()
    actions: tuple[Command, ...] = ()
    result: object = None  # class of what --json prints, or several by action

    def walk(self) -> Iterator[Command]:
        yield self
        for action in self.actions:
            yield from action.walk()


def potluck() -> Command:
    """The command `potluck` and all below it."""
    children = []
    for name, summary in main.COMMANDS.items():
        module = main.load(name)
        made = _command(("potluck", name), summary, main.parser_of(name, module), getattr(module, "RESULT", None))
        children.append(made)
    top = _command(("potluck",), "share this machine's computing with a swarm, and use the swarm's", main.top_parser())
    return Command(top.path, top.summary, main.ABOUT, "", top.options, (), tuple(children))


def potluckd() -> Command:
    return _command(("potluckd",), "Potluck's daemon in the foreground", daemon_parser())


def _command(path: tuple[str, ...], summary: str, parser: argparse.ArgumentParser, result: object = None) -> Command:
    helps = _action_helps(parser)
    children = []
    for name, inner in actions_of(parser).items():
        part = result.get(name) if isinstance(result, dict) else result
        children.append(_command((*path, name), helps.get(name, ""), inner, part))
    plain = [item for item in parser._actions if not isinstance(item, argparse._SubParsersAction)]
    options = tuple(_option(item, parser) for item in plain)
    return Command(
        path,
        summary,
        parser.description or f"{summary[:1].upper()}{summary[1:]}.",
        (parser.epilog or "").removeprefix("examples:\n"),
        tuple(item for item in options if item.flags),
        tuple(item for item in options if not item.flags and item.help != argparse.SUPPRESS),
        tuple(children),
        None if children else result,
    )


def _action_helps(parser: argparse.ArgumentParser) -> dict[str, str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return {item.dest: item.help or "" for item in action._choices_actions}
    return {}


def _option(action: argparse.Action, parser: argparse.ArgumentParser) -> Option:
    takes_value = action.nargs != 0
    choices = tuple(map(str, action.choices or ()))
    metavar = str(action.metavar or ("|".join(choices) if choices else action.dest.upper())) if takes_value else ""
    if metavar == _KEYS:
        choices = tuple(entry.key for entry in entries())
    return Option(
        flags=tuple(action.option_strings),
        metavar=metavar,
        help=_help(action, parser),
        choices=choices,
        takes_file=metavar in _FILES,
        is_optional=bool(action.option_strings) or action.nargs in ("?", "*"),
        is_repeated=action.nargs in ("*", "+") or isinstance(action, argparse._AppendAction),
    )


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    if action.help in (None, argparse.SUPPRESS):
        return action.help or ""
    return parser._get_formatter()._expand_help(action)
