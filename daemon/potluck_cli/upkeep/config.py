"""`potluck config`: shows and changes the settings.

Show and change the settings: what to serve, and when to step aside. A running daemon applies changes at once. You may
also edit the file by hand; while it has a mistake, the previous settings stay in force and `potluck status` names the
mistake. An environment variable POTLUCK_SECTION_NAME of the daemon overrides the file.

  potluck config list
  potluck config get serve.num_blocks
  potluck config set serve.num_blocks 8
  potluck config set yield.always blender,Game.exe
  potluck config unset serve.num_blocks
  potluck config edit
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potluck_control.api import schema
from potluck_control.places import find_places
from potluck_control.settings import SETTINGS_VERSION, SettingEntry, entries, value_of
from potluck_daemon.settings.store import SettingsStore, load_settings, parse_settings
from potluck_daemon.settings.values import entry_of, shown

from potluck.errors import UsageError
from potluck.sentences import Sentence
from potluck_cli.daemon_access import daemon, hello_or_none
from potluck_cli.options import print_result, require_folders
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.terminal import Terminal, say


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """One setting; `value` and `default` are numbers, texts, booleans or lists of texts."""

    key: str
    value: Any
    default: Any
    unit: str
    help: str


@dataclass(frozen=True, slots=True)
class ConfigPage:
    """All settings, or one. `problems`: mistakes in the file, because of which earlier settings stay in force."""

    file: str
    settings: tuple[ConfigSetting, ...]
    problems: tuple[Sentence, ...]


def _list(args: argparse.Namespace) -> int:
    """List all settings with their values."""
    return _print_settings(args, entries())


def _get(args: argparse.Namespace) -> int:
    """Print the value of one setting."""
    return _print_settings(args, (entry_of(args.key),), only_value=True)


def _set(args: argparse.Namespace) -> int:
    """Change one setting."""
    value = _typed(args.key, args.value)
    require_folders(entry_of(args.key), value)
    return _change(args, value)


def _unset(args: argparse.Namespace) -> int:
    """Return one setting to its default."""
    return _change(args, None)


def _edit(args: argparse.Namespace) -> int:
    """Open the file in your editor; it is checked before it is used."""
    _edit_file(find_places().settings_file)
    return _print_settings(args, ())


def _change(args: argparse.Namespace, value: str | None) -> int:
    SettingsStore(find_places(), {}).change({args.key: value})
    _reload()
    return _print_settings(args, (entry_of(args.key),))


def _print_settings(args: argparse.Namespace, chosen: Iterable[SettingEntry], *, only_value: bool = False) -> int:
    """Print settings as they are in the file now, and its mistakes."""
    path = find_places().settings_file
    loaded = load_settings(path)
    found = tuple(
        ConfigSetting(entry.key, value_of(loaded.settings, entry), entry.default, entry.unit, entry.help)
        for entry in chosen
    )
    lines = [line for item in found for line in ([shown(item.value)] if only_value else _lines(item))]
    print_result(args, ConfigPage(str(path), found, loaded.problems), lines)
    if not args.json:
        for words in loaded.problems + loaded.notices:
            say(f"potluck: {words}", file=sys.stderr)
    return 0


def _lines(item: ConfigSetting) -> list[str]:
    terminal = Terminal()
    changed = "" if item.value == item.default else f"  (default: {shown(item.default)})"
    unit = f" [{item.unit}]" if item.unit else ""
    return [f"{item.key} = {shown(item.value)}{terminal.faint(changed)}", terminal.faint(f"    {item.help}{unit}")]


def _reload() -> None:
    """Let a running daemon read the changed file."""
    if hello_or_none() is not None:
        daemon().call(schema.RELOAD)


def _edit_file(path: Path) -> None:
    """Edit a copy, which replaces the file once it has no mistake, as visudo does. Raises UsageError."""
    content = path.read_bytes() if path.exists() else b""
    store = SettingsStore(find_places(), {})
    in_force = store.in_force() if not content.strip() else b""
    content = content if content.strip() else template().encode()
    data = in_force if in_force.strip() else content
    with tempfile.TemporaryDirectory(prefix="potluck-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(data)
        while True:
            _open_editor(copy)
            loaded = parse_settings(copy.read_bytes(), path.name, {})
            if loaded.is_valid:
                break
            say(*loaded.problems, sep="\n", file=sys.stderr)
            if not sys.stdin.isatty() or input("Edit again? [Y/n] ").strip().lower().startswith("n"):
                raise UsageError(f"{path} is as it was", hint="nothing was changed because of the mistakes above")
        if loaded.data != content:
            store.replace(loaded.data)
            _reload()


def template() -> str:
    """Return a file with all settings, their defaults and help, commented out."""
    lines = ["# Settings of Potluck. Lines with # are ignored. A running daemon notices changes.", ""]
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


def _typed(key: str, words: list[str]) -> str:
    """Return a value: one word, or a number with its unit. Raises UsageError."""
    if len(words) > 1 and not isinstance(entry_of(key).default, int | float):
        raise UsageError(
            f"{key} takes one value", hint="separate several texts by commas, and put quotes around spaces"
        )
    return " ".join(words)


_KEY = argument("key", metavar="KEY", help="such as serve.num_blocks")
_VALUE = argument(
    "value",
    metavar="VALUE",
    nargs="+",
    help="separate several texts by commas; numbers may have a unit: 6GB, 80 °C, 20 Mbit/s",
)
_ACTIONS = {
    "list": Subcommand(_list, ConfigPage),
    "get": Subcommand(_get, ConfigPage, _KEY),
    "set": Subcommand(_set, ConfigPage, _KEY, _VALUE),
    "unset": Subcommand(_unset, ConfigPage, _KEY),
    "edit": Subcommand(_edit, ConfigPage),
}
COMMANDS = {"config": CommandGroup(__doc__, _ACTIONS)}
