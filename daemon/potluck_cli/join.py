"""`potluck join`: joins a swarm and serves it."""

from __future__ import annotations

import argparse

from potluck_control import schema
from potluck_control.places import find_places
from potluck_daemon.host.units import STARTS_WITH_MACHINE, enable_system_service

from potluck_cli.connect import daemon
from potluck_cli.invites import add_invite, read_invite
from potluck_cli.options import answer
from potluck_cli.setup import lacks_engine, make_engine
from potluck_cli.start import ensure_started

DESCRIPTION = """\
Join a swarm and serve it. The command asks for the invite, the line that a member gave you; where it can't ask, it
reads standard input. A member has to be online to let you in. The people of a swarm can read what you send through it,
so only use an invite from somebody you trust. If needed, this sets up the engine's environment (as `potluck setup`
does) and starts the daemon."""
EXAMPLES = """\
  potluck join
  potluck join --file ./invite"""
RESULT = schema.Joined


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_invite(parser)


def run(args: argparse.Namespace) -> int:
    invite = read_invite(args)  # fails before a daemon is started
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    joined = daemon().call(schema.JOIN, schema.JoinParams(invite))
    lines = [f"Joined {joined.name}, which runs {joined.model}. See: potluck status"]
    if enable_system_service():
        lines.append(f"The service runs. {STARTS_WITH_MACHINE}")
    return answer(args, joined, lines)
