"""`potluck join`: joins a swarm and serves it."""

from __future__ import annotations

import argparse

from potluck_control import schema
from potluck_control.places import find_places
from potluck_daemon.host.units import STARTS_WITH_MACHINE, enable_system_service

from potluck.protocol.invite import decode_invite
from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.setup import lacks_engine, make_engine
from potluck_cli.start import ensure_started

DESCRIPTION = """\
Join a swarm by its invite and serve it. If needed, this sets up the engine's environment (as `potluck setup` does) and
starts the daemon. The invite contains the swarm's key: only use one from somebody you trust."""
EXAMPLES = """\
  potluck join potluck1:..."""
RESULT = schema.Joined


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("invite", metavar="INVITE", help="the line that a member gave you")


def run(args: argparse.Namespace) -> int:
    decode_invite(args.invite)  # fails before a daemon is started
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    joined = daemon().call(schema.JOIN, schema.JoinParams(args.invite))
    lines = [f"Joined {joined.name}, which runs {joined.model}. See: potluck status"]
    if enable_system_service():
        lines.append(f"The service runs. {STARTS_WITH_MACHINE}")
    return answer(args, joined, lines)
