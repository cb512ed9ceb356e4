"""`potluck leave`: stop serving a swarm for good."""

from __future__ import annotations

import argparse
import sys

from potluck_control.methods import swarms
from potluck_control.methods.swarms import LeaveParams, Left

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Leave a swarm that the daemon knows: tell the others, forget its key. Only a new invite brings you back. Another swarm
that was joined is served from then on. What you earned stays in your ledger. `potluck pause` is for a while."""
EXAMPLES = """\
  potluck leave
  potluck leave friends"""
RESULT = Left


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", nargs="?", help="a swarm you joined (default: the one you serve)")
    add_json(parser, "the name")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    known = client.call(swarms.LIST).swarms
    name = args.name or next((swarm.name for swarm in known if swarm.is_served), None)
    if name is None:
        raise UsageError("no swarm is served", hint="potluck join INVITE")
    left = client.call(swarms.LEAVE, LeaveParams(name))
    if args.json:
        print_json(left)
        return 0
    next_one = next((swarm.name for swarm in client.call(swarms.LIST).swarms if swarm.is_served), None)
    served = f" {next_one} is served now." if next_one is not None else ""
    Terminal(sys.stdout).line(f"Left {name}.{served}")
    return 0
