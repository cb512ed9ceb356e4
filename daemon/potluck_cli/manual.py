"""The manual pages and docs/commands.md, made from the parsers: `python -m potluck_cli.manual FOLDER`.

`make manual` writes them into the source tree, and a test says when that was forgotten.
"""

from __future__ import annotations

import argparse
import dataclasses
import enum
import types
import typing
from collections.abc import Iterator
from pathlib import Path

from potluck_daemon.settings.schema import entries
from potluck_daemon.settings.values import shown

from potluck_cli import main
from potluck_cli.command_tree import Command, Option, potluck, potluckd

_DATE = "2026-11-21"  # of the last release; today's would change the file by itself
_JSON_RULES = """\
With --json a command prints one JSON object, or one a line where it goes on, with the fields below. Fields may be
added; none is renamed, removed or given another type as long as the first number of the version stays. Errors are
lines on standard error, and the exit code tells what went wrong, with --json too."""


def outputs() -> dict[str, str]:
    """The generated files by their path in the source tree."""
    top, daemon = potluck(), potluckd()
    return {
        "docs/commands.md": markdown(top, daemon),
        "resources/man/potluck.1": man_page(top, 1),
        "resources/man/potluckd.8": man_page(daemon, 8),
    }


def man_page(top: Command, section: int) -> str:
    """In the man(7) language, which every man program reads."""
    name = top.path[0]
    lines = [f'.TH {name.upper()} {section} "{_DATE}" "Potluck" "Potluck manual"']
    lines += [".SH NAME", f"{name} \\- {_roff(top.summary)}"]
    lines += [".SH SYNOPSIS", *_roff_synopsis(top)]
    lines += [".SH DESCRIPTION", _roff(top.description)]
    if top.actions:
        lines += [".SH COMMANDS"]
        for command in top.walk():
            if command is not top:
                lines += _roff_command(command)
    else:
        lines += [".SH OPTIONS", *_roff_options(top)]
    lines += [".SH SETTINGS", "Changed by", ".B potluck config", "or in the file; POTLUCK_SECTION_NAME overrides it."]
    for entry in entries() if section == 1 else ():
        unit = f" [{entry.unit}]" if entry.unit else ""
        lines += [
            ".TP",
            f".B {_roff(entry.key)}",
            f"{_roff(entry.help)}{unit} (default: {_roff(shown(entry.default))})",
        ]
    lines += [".SH EXIT STATUS", _roff(_exit_codes(section)), ".SH SEE ALSO"]
    lines += [".BR potluckd (8)" if section == 1 else ".BR potluck (1)"]
    return "\n".join(lines) + "\n"


def markdown(top: Command, daemon: Command) -> str:
    lines = [
        "# Commands",
        "",
        "Made by `make manual` from the program's own parsers; do not edit. `man potluck` shows the same.",
        "",
        _exit_codes(1).replace("POTLUCK_DEBUG=1", "`POTLUCK_DEBUG=1`"),
        "",
        _JSON_RULES.replace("--json", "`--json`"),
    ]
    shapes: dict[str, type] = {}
    for command in (*top.walk(), daemon):
        if command is not top:
            lines += _markdown_command(command, shapes)
    lines += ["", "## Settings", "", "| Key | Default | Meaning |", "| --- | --- | --- |"]
    for entry in entries():
        unit = f" [{entry.unit}]" if entry.unit else ""
        lines.append(f"| `{entry.key}` | `{shown(entry.default)}` | {entry.help}{unit} |")
    lines += ["", "## JSON objects"]
    done: set[str] = set()
    while waiting := [kind for name, kind in shapes.items() if name not in done]:
        done.add(waiting[0].__name__)
        lines += _markdown_shape(waiting[0], shapes)
    return "\n".join(lines) + "\n"


def _exit_codes(section: int) -> str:
    if section == 8:
        return "0 ended as it was told to; 1 it failed; 3 another daemon of this user runs already."
    text = " ".join(main.EXIT_CODES_HELP.split())
    return text[0].upper() + text[1:]


def _roff_command(command: Command) -> list[str]:
    words = _roff(" ".join(command.path))
    if command.actions:
        return [f".SS {words}", _roff(command.description), *_roff_examples(command)]
    lines = [f".SS {words}", *_roff_synopsis(command), ".PP", _roff(command.description)]
    return lines + _roff_options(command) + _roff_examples(command)


def _roff_synopsis(command: Command) -> list[str]:
    rest = " ".join(_usage_words(command))
    return [f".B {_roff(' '.join(command.path))}", *([_roff(rest)] if rest else [])]


def _roff_options(command: Command) -> list[str]:
    lines = []
    for option in _listed(command):
        lines += [".TP", f".B {_roff(_option_words(option))}", _roff(option.help) or "\\&"]
    return lines


def _roff_examples(command: Command) -> list[str]:
    if not command.examples:
        return []
    return [".PP", "Examples:", ".PP", ".nf", *(_roff(line) for line in command.examples.splitlines()), ".fi"]


def _roff(text: str) -> str:
    """Dashes that can be copied, and nothing at the start of a line that would be taken for a request."""
    escaped = text.strip("\n").replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines())


def _markdown_command(command: Command, shapes: dict[str, type]) -> list[str]:
    level = "##" if len(command.path) <= 2 else "###"
    lines = ["", f"{level} {' '.join(command.path)}", "", command.description.strip()]
    if not command.actions:
        usage = " ".join((*command.path, *_usage_words(command)))
        lines += ["", f"    {usage}", ""]
        lines += [f"- `{_option_words(option)}`: {option.help}" for option in _listed(command)]
    if command.examples:
        lines += ["", "Examples:", "", *(f"  {line}" for line in command.examples.rstrip().splitlines())]
    for kind in _classes(command.result):
        shapes.setdefault(kind.__name__, kind)
    if command.result is not None:
        lines += ["", f"`--json`: {_type_words(command.result)}"]
    return lines


def _markdown_shape(kind: type, shapes: dict[str, type]) -> list[str]:
    lines = ["", f"### {kind.__name__}", "", (kind.__doc__ or "").strip().split("\n\n")[0].replace("\n", " "), ""]
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        lines.append(f"- `{field.name}`: {_type_words(hints[field.name])}")
        for inner in _classes(hints[field.name]):
            shapes.setdefault(inner.__name__, inner)
    return lines


def _classes(kind: typing.Any) -> Iterator[type]:
    """The dataclasses in a type hint."""
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        yield kind
    for inner in typing.get_args(kind):
        yield from _classes(inner)


def _type_words(kind: typing.Any) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return " or ".join("null" if part is type(None) else _type_words(part) for part in parts)
    if origin is tuple:
        inner = parts[:1] if parts[-1] is Ellipsis else parts
        return f"list of {' and '.join(_type_words(part) for part in inner)}"
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(f"`{item.value}`" for item in kind)
    names = {bool: "true or false", int: "whole number", float: "number", str: "text"}
    return names.get(kind, "number, text, true, false or list of texts")


def _usage_words(command: Command) -> list[str]:
    if command.actions:
        return ["COMMAND [OPTIONS]" if len(command.path) == 1 else "ACTION"]
    words = [f"[{_option_words(option, short=True)}]" for option in _listed(command) if option.flags]
    for argument in command.arguments:
        word = argument.metavar + (" ..." if argument.is_repeated else "")
        words.append(f"[{word}]" if argument.is_optional else word)
    return words


def _listed(command: Command) -> list[Option]:
    """All but --help, which every command has."""
    return [option for option in (*command.arguments, *command.options) if "--help" not in option.flags]


def _option_words(option: Option, *, short: bool = False) -> str:
    flags = option.flags[-1] if short and option.flags else ", ".join(option.flags)
    return " ".join(filter(None, (flags, option.metavar)))


def write(root: Path) -> None:
    for name, text in outputs().items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", metavar="FOLDER", type=Path, help="top of the source tree")
    write(arguments.parse_args().folder)
