"""`potluck top`: what this machine does, live."""

from __future__ import annotations

import argparse
import shutil
import sys
import time

from potluck_daemon.cli.connect import daemon
from potluck_daemon.cli.options import add_json, positive, print_json
from potluck_daemon.cli.status import page
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.control.schema import Status

DESCRIPTION = """\
The page of `potluck status`, kept up to date until Ctrl-C, with the speed of the last minutes as a line. Where the
terminal cannot move its cursor, and in a pipe, each change is one line."""
EXAMPLES = """\
  potluck top
  potluck top -n 10 --json              ten statuses, one a line"""
RESULT = Status

_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"  # another screen without cursor, and back
_LEVELS = "▁▂▃▄▅▆▇█"
_KEPT = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=positive, metavar="N", dest="count", help="end after so many statuses")
    add_json(parser, "one status a line")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    client = daemon()
    shows_page = terminal.can_move and not args.json
    if shows_page:
        terminal.write(_ENTER)
    try:
        speeds: list[float] = []
        seen = 0
        for event in client.events():
            if not isinstance(event, Status):
                continue
            speeds = [*speeds, event.tokens_per_s][-_KEPT:]
            if args.json:
                print_json(event)
            elif shows_page:
                _paint(event, speeds, terminal)
            else:
                terminal.line(one_line(event, time.time()))
            seen += 1
            if seen == args.count:
                break
    finally:
        if shows_page:
            terminal.write(_LEAVE)
    return 0


def one_line(status: Status, now: float) -> str:
    """For terminals that only append."""
    load = status.load
    gpu = f"  gpu {load.gpu_percent:.0f} %" if load.gpu_percent is not None else ""
    when = time.strftime("%H:%M:%S", time.localtime(now))
    used = f"{load.memory_used_bytes / 2**30:.2f} GiB"
    counts = f"{status.sessions} sessions  {status.tokens_per_s:.1f} tokens/s"
    return f"{when}  {status.state}  {counts}  cpu {load.cpu_percent:.0f} %{gpu}  {used}  {status.text}"


def sparkline(values: list[float]) -> str:
    """One letter a value, as high as its share of the largest."""
    top = max(values, default=0.0)
    if top <= 0:
        return _LEVELS[0] * len(values)
    return "".join(_LEVELS[round(value / top * (len(_LEVELS) - 1))] for value in values)


def _paint(status: Status, speeds: list[float], terminal: Terminal) -> None:
    """Over the old page line by line, so that nothing flickers; never more lines than there are."""
    height = shutil.get_terminal_size().lines
    lines = [*page(status, terminal, time.time()), "", f"  tokens/s  {sparkline(speeds)}"][: max(height - 1, 1)]
    terminal.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW)
