"""Shows what the daemon did and logged: `potluck history` and `potluck logs`."""

from __future__ import annotations

import argparse
import time

from potluck_control.api import schema
from potluck_control.logs import log_tail
from potluck_control.places import find_places
from potluck_control.states import State

from potluck_cli.daemon_access import daemon, hello_or_none
from potluck_cli.options import parse_duration, positive, print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.terminal import Terminal


def history(args: argparse.Namespace) -> int:
    """List what the daemon did, when and why.

    List every change of state with its reason, newest last: when Potluck served, when it stepped aside, and for
    what.

      potluck history
      potluck history --since 12h --state yielded
      potluck history --words blender
      potluck history -n 200 --json
    """
    params = schema.HistoryParams(
        limit=min(args.limit, 1000),
        since=time.time() - args.since if args.since is not None else None,
        states=tuple(map(State, args.state)),
        words=args.words[:200],
    )
    found = daemon().call(schema.HISTORY, params).transitions
    rows = [(time.strftime("%a %d %b %H:%M:%S", time.localtime(item.at)), item.state, str(item.text)) for item in found]
    return print_result(args, schema.HistoryPage(found), Terminal().table(("WHEN", "STATE", "WHY"), rows))


def logs(args: argparse.Namespace) -> int:
    """Print the daemon's log, also while the daemon is down.

    Print the newest lines of the daemon's log, which includes the engine's output. Prompts, tokens and keys are
    never logged.

      potluck logs
      potluck logs -n 1000
    """
    lines = _lines(min(args.lines, 2000))
    return print_result(args, schema.Logs(str(find_places().log_file), lines), lines)


def _lines(count: int) -> tuple[str, ...]:
    if hello_or_none() is None:
        return log_tail(find_places().log_file, count)
    return daemon().call(schema.LOGS, schema.LogsParams(count)).lines


COMMANDS = {
    "history": Subcommand(
        history,
        schema.HistoryPage,
        argument("-n", type=positive, default=20, metavar="N", dest="limit", help="how many (default: 20)"),
        argument("--since", metavar="TIME", type=parse_duration, help="only the last 30m, 12h, 2d, ..."),
        argument(
            "--state",
            action="append",
            choices=[str(state) for state in State if state is not State.UNKNOWN],
            default=[],
            help="only changes to this state; repeatable",
        ),
        argument("--words", default="", help="only lines that contain all of these words"),
    ),
    "logs": Subcommand(
        logs,
        schema.Logs,
        argument("-n", type=positive, default=100, metavar="N", dest="lines", help="how many (default: 100)"),
    ),
}
