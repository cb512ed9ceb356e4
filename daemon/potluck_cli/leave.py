"""`potluck leave`: stops serving a swarm for good."""

from __future__ import annotations

import argparse

from potluck_control.methods import swarms
from potluck_control.methods.swarms import LeaveParams, Left

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.moving import served_swarm
from potluck_cli.options import answer

DESCRIPTION = """\
Leave a swarm and forget your key in it; only a new invite brings you back. If you joined another swarm, it is served
next. Your ledger keeps what you earned. A founder who leaves loses the founder's key as well; `potluck members
recovery-code` shows what brings it back. To stop for a while, use `potluck pause`."""
EXAMPLES = """\
  potluck leave
  potluck leave friends"""
RESULT = Left


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="SWARM", nargs="?", help="a swarm you joined (default: the one you serve)")
    parser.add_argument("--yes", action="store_true", help="even if the founder's key is lost by it")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    name = args.name or served_swarm(client)
    if name is None:
        raise UsageError("you serve no swarm", hint="potluck join")
    left = client.call(swarms.LEAVE, LeaveParams(name, is_sure=args.yes))
    now = served_swarm(client)
    return answer(args, left, [f"Left {name}." + (f" {now} is served now." if now is not None else "")])
