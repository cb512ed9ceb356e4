"""`potluck settings`: show and change what the daemon should do."""

from __future__ import annotations

import argparse
import sys

from potluck.errors import UsageError
from potluck_daemon.cli.connect import daemon, hello_or_none
from potluck_daemon.cli.terminal import Style, Terminal
from potluck_daemon.control import schema
from potluck_daemon.settings.places import user_places
from potluck_daemon.settings.schema import Entry, Settings, entries
from potluck_daemon.settings.store import change, load

DESCRIPTION = """\
Without arguments, all settings with their values; with a KEY, that one; with a VALUE, change it. A running daemon obeys
at once. The file may be edited by hand as well; an environment variable named POTLUCK_SECTION_NAME overrides it."""
EXAMPLES = """\
  potluck settings
  potluck settings yield.always blender,Game.exe
  potluck settings serve.num_blocks 8"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("key", metavar="KEY", nargs="?", help="such as serve.num_blocks")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="several texts are separated by commas")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    path = user_places().settings_file
    if args.value is not None:
        change(path, args.key, args.value)
        if hello_or_none() is not None:
            daemon().call(schema.RELOAD)
    loaded = load(path)
    chosen = [entry for entry in entries() if args.key in (None, entry.key)]
    if not chosen:
        raise UsageError(f"there is no setting {args.key!r}", hint="potluck settings lists them")
    for entry in chosen:
        terminal.line(f"{entry.key} = {_value(loaded.settings, entry)}")
        unit = f" [{entry.unit}]" if entry.unit else ""
        terminal.line(terminal.styled(f"    {entry.help}{unit}", Style.FAINT))
    for notice in loaded.notices:
        terminal.line(terminal.styled(notice, Style.YELLOW))
    return 0


def _value(settings: Settings, entry: Entry) -> str:
    value = getattr(getattr(settings, entry.attribute), entry.name)
    if isinstance(value, tuple):
        return ", ".join(value) or "(none)"
    return str(value).lower() if isinstance(value, bool) else str(value) or "(empty)"
