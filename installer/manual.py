"""Generates the manual pages, docs/commands.md and the completion scripts: `python -m installer.manual FOLDER`.

All of them come from the parsers that run, so they cannot differ from what the program accepts. `make manual` writes
them into the source tree, and a test says when that was forgotten. Needs shtab, which only developers install.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import types
import typing
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
import shtab
from potluck_cli import daemon, main
from potluck_cli.parser import CommandGroup, HelpText, Parser, actions_of
from potluck_control.settings import entries
from potluck_daemon.settings.values import shown

_DATE = "2026-11-21"  # of the last release; today's date would change the files every day
_WIDTH = 80  # of the help texts, in columns
_SUMMARY = "share this machine's computing with a swarm, and use the swarm's"
_FILES = ("DIR", "FILE", "MODEL")  # values that are completed as paths
_NAMES = {"SWARM": "swarms", "PERSON": "people"}  # values that are completed by `potluck completions`
_EXIT_CODES = " ".join(main.EXIT_CODES_HELP.split()).removeprefix("exit codes: ")
_DAEMON_EXIT_CODES = "0 ended as asked; 1 it failed; 3 another daemon of this user is already running."
_SETTINGS = "Change settings with `potluck config` or in the file. POTLUCK_SECTION_NAME overrides a setting."
_JSON_RULES = """\
With `--json`, a command prints one JSON object, or one per line if it keeps running. The fields are listed below.
New fields may be added. None is renamed, removed or given another type while the first number of the version stays
the same. A text for people is a [Sentence](#sentence): `text` in English, and the `id` and `arguments` from which a
program can write it in another language. Errors still go to standard error, and the exit code still tells what went
wrong."""


def outputs() -> dict[str, str]:
    """Return the generated files by their path in the source tree."""
    scripts = {shell: shtab.complete(completed_parser(), shell) for shell in ("bash", "zsh", "fish")}
    return {
        "docs/commands.md": _markdown(),
        "resources/man/potluck.1": _man_page("potluck", 1, _SUMMARY, commands(), _EXIT_CODES),
        "resources/man/potluckd.8": _man_page(
            "potluckd", 8, "Potluck's daemon in the foreground", [daemon.parser()], _DAEMON_EXIT_CODES
        ),
        **{f"resources/completions/potluck.{shell}": script.rstrip() + "\n" for shell, script in scripts.items()},
    }


def commands() -> Iterator[argparse.ArgumentParser]:
    """Yield the parser of each command, each followed by the parsers of its actions."""
    for name in main.COMMANDS:
        parser = main.parser_of(name, main.load(name))
        yield from (parser, *actions_of(parser).values())


def completed_parser() -> Parser:
    """Return one parser of everything, marked with what the shells complete."""
    top = main.top_parser()
    top._actions[-2:] = []  # the name of a command, which subparsers replace, and --version
    names = top.add_subparsers()
    for name, summary in main.COMMANDS.items():
        main.parser_of(name, main.load(name), partial(names.add_parser, name, help=summary))
    _mark(top)
    return top


def _mark(parser: argparse.ArgumentParser) -> None:
    for action in parser._actions:
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in _NAMES or (parser.prog, action.dest) == ("potluck models delete", "name"):
            names = _NAMES.get(str(action.metavar), "models")
            action.complete = shtab.cmd(f"potluck completions {names} 2>/dev/null")  # type: ignore[attr-defined]
        elif action.metavar == "KEY":
            action.choices = [entry.key for entry in entries()]
    for inner in actions_of(parser).values():
        _mark(inner)


def _man_page(
    name: str, section: int, summary: str, parsers: typing.Iterable[argparse.ArgumentParser], exit_codes: str
) -> str:
    """Write a page in the man(7) language with the help texts as they are."""
    other = "potluckd (8)" if section == 1 else "potluck (1)"
    lines = [f'.TH {name.upper()} {section} "{_DATE}" "Potluck" "Potluck manual"']
    lines += [".SH NAME", f"{name} \\- {_roff(summary)}", ".SH COMMANDS"]
    for parser in parsers:
        lines += [f".SS {_roff(parser.prog)}", ".nf", _roff(_help(parser)), ".fi"]
    lines += [".SH SETTINGS", _roff(_SETTINGS)]
    for entry in entries() if section == 1 else ():
        unit = f" [{entry.unit}]" if entry.unit else ""
        default = f"{unit} (default: {shown(entry.default)})"
        lines += [".TP", f".B {_roff(entry.key)}", _roff(f"{entry.help}{default}")]
    return "\n".join([*lines, ".SH EXIT STATUS", _roff(exit_codes), ".SH SEE ALSO", f".BR {other}"]) + "\n"


def _roff(text: str) -> str:
    """Keep dashes that can be copied, and let no line start with what roff takes for a request."""
    escaped = text.strip("\n").replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())


def _help(parser: argparse.ArgumentParser) -> str:
    parser.formatter_class = partial(HelpText, width=_WIDTH)
    return parser.format_help().rstrip()


def _markdown() -> str:
    lines = ["# Commands", "", "Generated by `make manual`; do not edit. `man potluck` shows the same.", ""]
    lines += [f"Exit codes: {_EXIT_CODES.replace('POTLUCK_DEBUG=1', '`POTLUCK_DEBUG=1`')}", "", _JSON_RULES]
    shapes: list[type] = []
    for parser in (*commands(), daemon.parser()):
        words = parser.prog.split()
        lines += ["", f"{'#' * min(len(words), 3):#<2} {parser.prog}", "", "```", _help(parser), "```"]
        result = result_of(words)
        if result is not None and not actions_of(parser):
            lines += ["", f"`--json`: {_type_words(result)}"]
            shapes += _classes(result)
    lines += ["", "## Settings", "", _SETTINGS, "", "| Key | Default | Meaning |", "| --- | --- | --- |"]
    for entry in entries():
        unit = f" [{entry.unit}]" if entry.unit else ""
        lines.append(f"| `{entry.key}` | `{shown(entry.default)}` | {entry.help}{unit} |")
    lines += ["", "## JSON objects"]
    for kind in _with_inner(shapes):
        lines += _markdown_shape(kind)
    return "\n".join(lines) + "\n"


def result_of(words: list[str]) -> typing.Any:
    """Return what `--json` of a command prints: a class, or several; None if it has no `--json`."""
    if len(words) == 1:
        return None
    command = main.load(words[1])
    if isinstance(command, CommandGroup):
        return command.actions[words[2]].result if len(words) > 2 else None
    return command.result or None


def _with_inner(shapes: list[type]) -> Iterator[type]:
    """Yield each class once, and those in its fields."""
    done = set()
    for kind in shapes:  # grows while it is read
        if kind not in done:
            done.add(kind)
            shapes += [inner for hint in typing.get_type_hints(kind).values() for inner in _classes(hint)]
            yield kind


def _markdown_shape(kind: type) -> list[str]:
    hints = typing.get_type_hints(kind)
    about = " ".join((kind.__doc__ or "").partition("Attributes:")[0].split())
    is_struct = issubclass(kind, msgspec.Struct)
    names = kind.__struct_fields__ if is_struct else [item.name for item in dataclasses.fields(kind)]
    head = ["", f"### {kind.__name__}", "", *([about, ""] if about else [])]
    return [*head, *(f"- `{name}`: {_type_words(hints[name])}" for name in names)]


def _is_shape(kind: typing.Any) -> typing.TypeGuard[type]:
    """Return whether it is a class with fields: a message, or a plain dataclass."""
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind))


def _classes(kind: typing.Any) -> Iterator[type]:
    """Yield the classes with fields in a type hint."""
    if _is_shape(kind):
        yield kind
    for inner in kind if isinstance(kind, tuple) else typing.get_args(kind):
        yield from _classes(inner)


def _type_words(kind: typing.Any) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, tuple) or origin in (typing.Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _type_words(part) for part in parts or kind)
    if origin is tuple:
        inner = parts[:1] if parts[-1] is Ellipsis else parts
        return f"list of {' and '.join(_type_words(part) for part in inner)}"
    if origin is dict:
        return f"object, name to {_type_words(parts[1])}"
    if _is_shape(kind):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(f"`{item.value}`" for item in kind)
    names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return names.get(kind, "number, text, true, false or list of texts")


def write(root: Path) -> None:
    """Write all generated files below `root`."""
    for name, text in outputs().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", metavar="FOLDER", type=Path, help="top of the source tree")
    write(arguments.parse_args().folder)
