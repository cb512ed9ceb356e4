"""Makes options of a command line from the declarations of settings, and reads the settings that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from potluck_control.settings import Option, SettingEntry, Settings, entries, with_value
from potluck_daemon.settings.values import convert, shown

from potluck_cli.options import folder_or_name


def add_setting_options(parser: argparse.ArgumentParser) -> dict[str, argparse._MutuallyExclusiveGroup]:
    """Add an option for each setting that declares one; return the groups of those that exclude each other."""
    groups: dict[str, argparse._MutuallyExclusiveGroup] = {}
    for entry, option in _declared():
        if option.group and option.group not in groups:
            groups[option.group] = parser.add_mutually_exclusive_group()
        (groups[option.group] if option.group else parser).add_argument(
            *(f"--{name.replace('_', '-')}" for name in (option.name or entry.name, option.alias) if name),
            dest=entry.key,
            action="extend" if isinstance(entry.default, tuple) else "store",
            type=reader(entry),
            choices=entry.choices or None,
            metavar=None if entry.choices else option.metavar or (entry.unit or entry.name).upper(),
            help=_help(entry, option),
        )
    return groups


def settings_of(args: argparse.Namespace, settings: Settings) -> Settings:
    """Return `settings` with those that have an option as the command line says, or as the option leaves them."""
    for entry, option in _declared():
        given = getattr(args, entry.key)
        value = _default(entry, option) if given is None else given
        settings = with_value(settings, entry, tuple(value) if isinstance(value, list) else value)
    return settings


def reader(entry: SettingEntry) -> Callable[[str], Any]:
    """Return a function with which argparse reads a value of the setting."""

    def read(text: str) -> Any:
        try:
            value = convert(entry, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        look_for(entry, text)
        return value

    return read


def look_for(entry: SettingEntry, text: str) -> None:
    """Raise UsageError if a value names a folder that is not there. It may come and go later, as disks do."""
    if entry.is_folder_or_name:
        for item in text.split(","):
            folder_or_name(item.strip())


def _declared() -> list[tuple[SettingEntry, Option]]:
    return [(entry, entry.option) for entry in entries() if entry.option is not None]


def _default(entry: SettingEntry, option: Option) -> Any:
    return entry.default if option.default is None else option.default


def _help(entry: SettingEntry, option: Option) -> str:
    default, words = _default(entry, option), entry.help.replace("%", "%%")
    more = "; repeatable" if isinstance(default, tuple) else f" (default: {shown(default)})" if default else ""
    return f"{words}{more}"
