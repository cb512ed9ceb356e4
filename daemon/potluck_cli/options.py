"""Options that several commands share, how times are written, and how every command prints its result.

The options of `potluck serve` for settings are made from the declarations of these settings.
"""

from __future__ import annotations

import argparse
import ipaddress
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TextIO, TypeVar

from potluck_control.logs import RedactingFormatter
from potluck_control.resources import bundled_checkpoint
from potluck_control.settings import Option, SettingEntry, Settings, entries, with_value
from potluck_daemon.settings.values import convert, shown

from potluck.errors import UsageError
from potluck.model_files import downloaded, hub_cache
from potluck.p2p.listening import check_announced_address, everywhere
from potluck.protocol.codec import printed
from potluck.protocol.swarm import LOCAL_REVISION, Swarm
from potluck.sentences import sentence
from potluck_cli.daemon_access import own_settings
from potluck_cli.terminal import Terminal, say

T = TypeVar("T")

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Return the seconds of `90s`, `30m`, `1h30m`, `2 d`. Raises UsageError."""
    written = "".join(text.lower().split())
    parts = _PART.findall(written)
    if not parts or "".join(number + unit for number, unit in parts) != written:
        raise UsageError(f"expected a time such as 30m, 1h or 2d, not {text!r}", hint="1h30m is an hour and a half")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def seconds_until(text: str, now: float) -> float:
    """Return the seconds from `now` (Unix) until the local time is `18:00` again. Raises UsageError."""
    if (found := _CLOCK.fullmatch(text)) is None:
        raise UsageError(f"expected a time of day such as 18:00, not {text!r}", hint="or a duration: for 2h")
    today = time.localtime(now)
    hour, minute = int(found[1]), int(found[2])
    for days in (0, 1):  # mktime knows when summer time begins and ends
        at = time.mktime((today.tm_year, today.tm_mon, today.tm_mday + days, hour, minute, 0, 0, 0, -1))
        if at > now:
            break
    return at - now


def clock(at: float, now: float) -> str:
    """Return the local time of day, with the date if it is not today."""
    same_day = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M" if same_day else "%a %d %b %H:%M", time.localtime(at))


def print_json(value: object, file: TextIO | None = None) -> None:
    """Print a value as one line of JSON."""
    say(printed(value), file=file, flush=True)


def add_max_wait(parser: argparse.ArgumentParser) -> None:
    """Add the option for the longest wait."""
    parser.add_argument(
        "--max-wait",
        metavar="TIME",
        default="2m",
        help="for layers that nobody serves, and a member that answers (default: %(default)s)",
    )


def show_wait(sentence: str) -> None:
    """Print on standard error why no words come, on a line of its own even within an answer."""
    say(f"\n{sentence}", file=sys.stderr, flush=True)


def print_result(args: argparse.Namespace, result: T, lines: Iterable[str] | Callable[[T], Iterable[str]]) -> int:
    """Print `result` as JSON with --json, else the lines for people, and return exit code 0."""
    if args.json:
        print_json(result)
    else:
        terminal = Terminal()
        for line in lines(result) if callable(lines) else lines:
            terminal.line(line)
    return 0


def add_node(parser: argparse.ArgumentParser, *, port: int) -> None:
    """Add the options of a process that others connect to."""
    parser.add_argument(
        "--port", type=port_number, default=port, help="TCP port to listen on; 0: any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--host",
        type=ip_address,
        metavar="IP",
        help="to listen on; 127.0.0.1: this machine only (default: all IPs of this machine)",
    )
    parser.add_argument(
        "--announce",
        action="append",
        type=_announced_address,
        default=[],
        metavar="MULTIADDR",
        help="address to tell others, instead of all addresses of this machine; repeatable",
    )
    parser.add_argument("--verbose", action="store_true", help="log to standard error")


def folder_or_name(given: str) -> str:
    """Return the absolute path of a folder, or a hub name as it is. Raises UsageError for a folder that is missing."""
    folder = Path(given).expanduser()
    if folder.is_dir():
        return str(folder.absolute())
    if given.startswith(("/", ".", "~")):
        raise UsageError(
            sentence("there is no folder {path}", path=given), hint="name the folder of your copy, or one on the hub"
        )
    return given


def model_of(given: str | None, swarm: Swarm) -> str:
    """Return the folder or hub name of the swarm's model. Raises UsageError if it is not there."""
    if given is not None:
        return folder_or_name(given)
    own = Path(own_settings().serve.checkpoint)
    if own.name == swarm.model.rpartition("/")[2] and own.is_dir():  # the settings may be for another swarm
        return str(own)
    if (fetched := downloaded(swarm, hub_cache())) is not None:
        return str(fetched)
    if (bundled := bundled_checkpoint(swarm.model)) is not None:
        return str(bundled)
    if swarm.revision == LOCAL_REVISION and not swarm.weights:
        raise UsageError(f"{swarm.name} serves {swarm.model}, which is on no hub", hint="give the folder of your copy")
    return swarm.model


def ip_address(text: str) -> str:
    """Read an IP address for argparse."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected an IP address such as 127.0.0.1, not {text!r}") from None


def _announced_address(text: str) -> str:
    try:
        return check_announced_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a function that reads a whole number from `least` to `most` for argparse. None: of any size."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            which = f"of {least} or more" if most is None else f"from {least} to {most}"
            raise argparse.ArgumentTypeError(f"expected a whole number {which}, not {text!r}")
        return int(text)

    return read


positive = whole_number(1)
port_number = whole_number(0, 65_535)


def listen_addresses(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the multiaddrs at which a process with the options of `add_node` listens."""
    if args.host is None:
        return everywhere(args.port)
    return (f"/{'ip6' if ':' in args.host else 'ip4'}/{args.host}/tcp/{args.port}",)


def log_to_stderr(verbose: bool) -> None:
    """Log warnings, and with `verbose` everything, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


def add_setting_options(parser: argparse.ArgumentParser) -> dict[str, argparse._MutuallyExclusiveGroup]:
    """Add an option for each setting that declares one, and return the groups of options that exclude each other."""
    groups: dict[str, argparse._MutuallyExclusiveGroup] = {}
    for entry, option in _settings_with_option():
        if option.group and option.group not in groups:
            groups[option.group] = parser.add_mutually_exclusive_group()
        (groups[option.group] if option.group else parser).add_argument(
            *(f"--{name.replace('_', '-')}" for name in (option.name or entry.name, option.alias) if name),
            dest=entry.key,
            action="extend" if isinstance(entry.default, tuple) else "store",
            type=setting_reader(entry),
            choices=entry.choices or None,
            metavar=None if entry.choices else option.metavar or (entry.unit or entry.name).upper(),
            help=_option_help(entry, option),
        )
    return groups


def settings_with_options(args: argparse.Namespace, settings: Settings) -> Settings:
    """Return `settings` with the values of the options, or the options' defaults."""
    for entry, option in _settings_with_option():
        given = getattr(args, entry.key)
        value = _option_default(entry, option) if given is None else given
        settings = with_value(settings, entry, tuple(value) if isinstance(value, list) else value)
    return settings


def setting_reader(entry: SettingEntry) -> Callable[[str], Any]:
    """Return a function with which argparse reads a value of the setting."""

    def read(text: str) -> Any:
        try:
            value = convert(entry, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None
        require_folders(entry, text)
        return value

    return read


def require_folders(entry: SettingEntry, text: str) -> None:
    """Raise UsageError if a value names a folder that is not there. It may come and go later, as disks do."""
    if entry.is_folder_or_name:
        for item in text.split(","):
            folder_or_name(item.strip())


def _settings_with_option() -> list[tuple[SettingEntry, Option]]:
    return [(entry, entry.option) for entry in entries() if entry.option is not None]


def _option_default(entry: SettingEntry, option: Option) -> Any:
    return entry.default if option.default is None else option.default


def _option_help(entry: SettingEntry, option: Option) -> str:
    default, words = _option_default(entry, option), entry.help.replace("%", "%%")
    more = "; repeatable" if isinstance(default, tuple) else f" (default: {shown(default)})" if default else ""
    return f"{words}{more}"
