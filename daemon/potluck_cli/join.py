"""`potluck join`: join a swarm and serve it."""

from __future__ import annotations

import argparse
import sys

from potluck_control import schema
from potluck_control.places import find_places
from potluck_daemon.host.units import STARTS_WITH_MACHINE, enable_system_service

from potluck.protocol.invite import decode_invite
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.setup import lacks_engine, make_engine
from potluck_cli.start import ensure_started
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Join the swarm of an invite and serve it: makes the engine's environment if there is none (as `potluck setup` does),
and starts the daemon if it does not run. The invite holds the swarm's key; only use one that somebody you trust gave
you."""
EXAMPLES = """\
  potluck join potluck1:..."""
RESULT = schema.Joined


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("invite", metavar="INVITE", help="the line that a member gave you")
    add_json(parser, "name and model")


def run(args: argparse.Namespace) -> int:
    decode_invite(args.invite)  # a broken one is told before a daemon is started
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    joined = daemon().call(schema.JOIN, schema.JoinParams(args.invite))
    is_enabled_now = enable_system_service()
    if args.json:
        print_json(joined)
        return 0
    terminal = Terminal(sys.stdout)
    terminal.line(f"Joined {joined.name}, which runs {joined.model}. See: potluck status")
    if is_enabled_now:
        terminal.line(f"The service runs. {STARTS_WITH_MACHINE}")
    return 0
