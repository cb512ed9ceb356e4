"""`potluck config`: show and change the settings."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potluck_control import schema
from potluck_control.places import find_places
from potluck_daemon.settings.accepted import accepted_data
from potluck_daemon.settings.schema import SETTINGS_VERSION, SettingEntry, entries
from potluck_daemon.settings.store import Loaded, change, load, parse, write
from potluck_daemon.settings.values import entry_of, shown, value_of

from potluck.errors import PotluckError, UsageError
from potluck_cli.connect import daemon, hello_or_none
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Style, Terminal

DESCRIPTION = """\
Show and change the settings: what is served, when the machine is given back. A running daemon obeys at once. The file
may be edited by hand as well; while it has a mistake, the settings before it stay in force and `potluck status` names
the mistake. An environment variable named POTLUCK_SECTION_NAME overrides the file for the daemon that has it."""
EXAMPLES = """\
  potluck config list
  potluck config get serve.num_blocks
  potluck config set serve.num_blocks 8
  potluck config set yield.always blender,Game.exe
  potluck config unset serve.num_blocks
  potluck config edit"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; `value` and `default` are numbers, texts, booleans or lists of texts."""

    key: str
    value: Any
    default: Any
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """What `list` prints, and the others for their own setting."""

    file: str
    settings: tuple[Setting, ...]
    problems: tuple[str, ...]  # mistakes in the file; while there are any, a daemon obeys the settings before them


RESULT = SettingsPage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, act, summary in (
        ("list", _list, "all settings with their values"),
        ("get", _get, "the value of one setting"),
        ("set", _set, "change one setting"),
        ("unset", _unset, "let the default of one setting hold again"),
        ("edit", _edit, "open the file in your editor; it is checked before it is used"),
    ):
        action = actions.add_parser(name, help=summary)
        action.set_defaults(act=act)
        if name not in ("list", "edit"):
            action.add_argument("key", metavar="KEY", help="such as serve.num_blocks")
        if name == "set":
            action.add_argument("value", metavar="VALUE", help="several texts are separated by commas")
        add_json(action, "the settings")


def run(args: argparse.Namespace) -> int:
    path = find_places().settings_file
    chosen = args.act(args, path)
    loaded = load(path)
    if args.json:
        print_json(SettingsPage(str(path), tuple(_setting(loaded, entry) for entry in chosen), loaded.problems))
        return 0
    terminal = Terminal(sys.stdout)
    for entry in chosen:
        if args.action == "get":
            terminal.line(shown(value_of(loaded.settings, entry)))
        else:
            _show(loaded, entry, terminal)
    for words in loaded.problems + loaded.notices:
        print(f"potluck: {words}", file=sys.stderr)
    return 0


def _list(_: argparse.Namespace, path: Path) -> list[SettingEntry]:
    return list(entries())


def _get(args: argparse.Namespace, path: Path) -> list[SettingEntry]:
    return [entry_of(args.key)]


def _set(args: argparse.Namespace, path: Path) -> list[SettingEntry]:
    _change(path, args.key, args.value)
    return [entry_of(args.key)]


def _unset(args: argparse.Namespace, path: Path) -> list[SettingEntry]:
    _change(path, args.key, None)
    return [entry_of(args.key)]


def _change(path: Path, key: str, value: str | None) -> None:
    try:
        change(path, {key: value}, earlier=accepted_data(find_places()))
    except OSError as error:
        raise PotluckError(f"cannot write {path}: {error.strerror}", hint=_write_hint(error)) from error
    _tell_daemon()


def _edit(_: argparse.Namespace, path: Path) -> list[SettingEntry]:
    """As visudo does: the editor gets a copy, which replaces the file once it has no mistake.

    Raises:
        UsageError: no editor, or a mistake that nobody is there to correct; the file is as it was.
    """
    there = path.read_bytes() if path.exists() else b""
    in_force = accepted_data(find_places()) if not there.strip() else b""
    there = there if there.strip() else template().encode()
    data = in_force if in_force.strip() else there
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(data)
        while True:
            _open_editor(copy)
            loaded = parse(copy.read_bytes(), path.name, {})
            if loaded.is_valid:
                break
            print(*loaded.problems, sep="\n", file=sys.stderr)
            if not sys.stdin.isatty() or input("Edit again? [Y/n] ").strip().lower().startswith("n"):
                raise UsageError(f"{path} is as it was", hint="nothing was changed because of the mistakes above")
        if loaded.data != there:
            try:
                write(path, loaded.data)
            except OSError as error:
                raise PotluckError(f"cannot write {path}: {error.strerror}", hint=_write_hint(error)) from error
            _tell_daemon()
    return []


def template() -> str:
    """All settings with their defaults and help, commented out."""
    lines = ["# Settings of Potluck. Lines without # are obeyed; a running daemon notices changes.", ""]
    lines += [f"version = {SETTINGS_VERSION}"]
    section = ""
    for entry in entries():
        if entry.section != section:
            section = entry.section
            lines += ["", f"[{section}]"]
        lines += [f"# {entry.help}{entry.unit and f' [{entry.unit}]'}", f"#{entry.name} = {_toml(entry.default)}"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    import tomlkit

    return str(tomlkit.item(list(value) if isinstance(value, tuple) else value).as_string())


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        done = subprocess.run([*shlex.split(editor), path], check=False)
    except OSError as error:
        raise UsageError(f"cannot run the editor {editor!r}: {error.strerror}", hint="name one in EDITOR") from None
    if done.returncode != 0:
        raise UsageError(f"the editor {editor!r} ended with code {done.returncode}", hint="nothing was changed")


def _tell_daemon() -> None:
    if hello_or_none() is not None:
        daemon().call(schema.RELOAD)


def _write_hint(error: OSError) -> str:
    return "the system service's settings belong to root" if isinstance(error, PermissionError) else "is the disk full?"


def _setting(loaded: Loaded, entry: SettingEntry) -> Setting:
    value = value_of(loaded.settings, entry)
    return Setting(entry.key, value, entry.default, entry.unit, entry.help)


def _show(loaded: Loaded, entry: SettingEntry, terminal: Terminal) -> None:
    value = value_of(loaded.settings, entry)
    changed = "" if value == entry.default else f"  (default: {shown(entry.default)})"
    terminal.line(f"{entry.key} = {shown(value)}{terminal.styled(changed, Style.FAINT)}")
    terminal.line(terminal.styled(f"    {entry.help}{entry.unit and f' [{entry.unit}]'}", Style.FAINT))
