"""`potluck join`: joins a swarm and serves it."""

from __future__ import annotations

import argparse
import sys

from potluck_control import schema
from potluck_control.methods import computers
from potluck_control.places import find_places
from potluck_control.states import Reason, State
from potluck_daemon.host.units import STARTS_WITH_MACHINE, enable_system_service

from potluck.errors import UsageError
from potluck.membership.invite import decode_invite
from potluck.membership.pairing import PairingCode
from potluck.membership.presentation import WORKING
from potluck_cli.connect import daemon, follow
from potluck_cli.invites import add_invite, read_invite
from potluck_cli.options import answer
from potluck_cli.setup import lacks_engine, make_engine
from potluck_cli.start import ensure_started
from potluck_cli.terminal import say

DESCRIPTION = """\
Join a swarm and serve it. The command asks for the invite, the line that a member gave you; where it can't ask, it
reads standard input. A member has to be online to let you in. The invite of a public swarm costs your computer about
a minute of work, which the command shows. The people of a swarm can read what you send through it,
so only use an invite from somebody you trust. If needed, this sets up the engine's environment (as `potluck setup`
does) and starts the daemon."""
EXAMPLES = """\
  potluck join
  potluck join --file ./invite
  potluck join --code    (your second computer; `potluck members add-computer` shows the code on the first)"""
RESULT = schema.Joined


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_invite(parser)
    parser.add_argument(
        "--code",
        action="store_true",
        help="ask for the code that `potluck members add-computer` shows",
    )


def run(args: argparse.Namespace) -> int:
    if args.code and (args.file or args.invite):
        raise UsageError("give either an invite or --code")
    secret = _read_code() if args.code else read_invite(args)  # fails before a daemon is started
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    if args.code:
        added = daemon().call(computers.JOIN, computers.CodeParams(secret))
        joined = schema.Joined(added.swarm, added.model)
    else:
        joined = daemon().call(schema.JOIN, schema.JoinParams(secret))
        if decode_invite(secret).is_public and not args.json:
            _watch_work(joined)
    lines = [f"Joined {joined.name}, which runs {joined.model}. See: potluck status"]
    if enable_system_service():
        lines.append(f"The service runs. {STARTS_WITH_MACHINE}")
    return answer(args, joined, lines)


def _watch_work(joined: schema.Joined) -> None:
    """Show how the daemon's engine does the work that joining a public swarm costs."""
    has_begun = False

    def step(status: schema.Status) -> str | None:
        nonlocal has_begun
        is_working = status.text.lower().startswith(WORKING)
        has_ended, has_begun = has_begun and not is_working, has_begun or is_working
        is_joining = status.state in (State.STARTING, State.JOINING) or status.reason is Reason.NO_SWARM
        return status.text if is_joining and not has_ended else None

    try:
        follow(daemon(), schema.STATUS, daemon().call(schema.STATUS), step, shows=True)
    except KeyboardInterrupt:
        say(f"Joining goes on in the background. To give up: potluck swarm leave {joined.name}", file=sys.stderr)
        raise


def _read_code() -> str:
    text = input("Code: ") if sys.stdin.isatty() else sys.stdin.readline()
    return str(PairingCode.read(text))
