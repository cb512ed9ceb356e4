"""Joins a swarm, and leaves one: `potluck join` and `potluck leave`."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from potluck_control.api import schema
from potluck_control.api.client import ControlClient
from potluck_control.methods import members, swarms
from potluck_control.methods.swarms import LeaveParams, Left
from potluck_control.places import find_places
from potluck_control.states import Reason, State
from potluck_daemon.host.systemd import STARTS_WITH_MACHINE, enable_system_service

from potluck.errors import PotluckError, UsageError
from potluck.membership.invite import TICKET_LIVES_S, decode_invite
from potluck_cli.daemon_access import daemon, poll_until_done
from potluck_cli.everyday.start_stop import ensure_started
from potluck_cli.options import print_result
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm_choice import add_invite, add_move, move_or_stay, own_names, read_invite, served_swarm
from potluck_cli.terminal import agrees, say
from potluck_cli.upkeep.setup import lacks_engine, make_engine

_PATIENCE_S = 30.0  # time for members to come online
_SETTLE_S = 5.0  # time for the daemon to turn to another swarm
_CONFIRM_S = 10.0  # time for an online leader's computer


@dataclass(frozen=True, slots=True)
class JoinProgress:
    """The state of joining a swarm.

    `is_joined`: somebody let this computer in; otherwise joining goes on. `is_confirmed`: a leader confirmed you.
    """

    name: str
    model: str
    is_joined: bool
    is_confirmed: bool


def join(args: argparse.Namespace) -> int:
    """Join a swarm and serve it.

    Join a swarm and serve it. The command asks for the invite, the line that a member gave you; where it can't ask,
    it reads standard input. A member has to be online to let you in, and a computer of the founder or of an admin
    to confirm you; both happen by themselves, also later. With an invite for one machine this computer becomes one
    of yours, once you have confirmed its name on the other one. The people of a swarm can read what you send
    through it, so only use an invite from somebody you trust. If needed, this sets up the engine's environment (as
    `potluck setup` does) and starts the daemon.

      potluck join
      potluck join --file ./invite
      potluck join    (your second computer; `potluck members add-computer` shows the invite on the first)
    """
    secret = read_invite(args)  # fails before a daemon is started
    is_own = decode_invite(secret).ticket is not None
    names = own_names(args, asks_person=not is_own)
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    params = schema.JoinParams(secret, person=names.person, computer=names.computer)
    made, patience_s = daemon().call(schema.JOIN, params), _PATIENCE_S
    if stays := move_or_stay(args, made.name):
        return print_result(args, JoinProgress(made.name, made.model, is_joined=False, is_confirmed=False), stays)
    if is_own:
        patience_s = TICKET_LIVES_S
        say(f"On your other computer, confirm the name of this one: {names.computer}", file=sys.stderr)
    joined, why = _wait_until_in(made, patience_s)
    if joined.is_joined:
        lines = [f"Joined {joined.name}, which runs {joined.model}. See: potluck status"]
        if not joined.is_confirmed:
            lines.append("You are not confirmed yet: that happens when a leader's computer is online.")
    else:
        lines = [f"Not in {joined.name} yet. {why}", "Joining goes on in the background. See: potluck status"]
    if enable_system_service():
        lines.append(f"The service runs. {STARTS_WITH_MACHINE}")
    return print_result(args, joined, lines)


def _wait_until_in(made: schema.Joined, patience_s: float) -> tuple[JoinProgress, str]:
    """Wait until a member lets this computer in and a leader confirms its person. Return also the daemon's state.

    Raises:
        PotluckError: the swarm refuses this computer, or the engine failed.
    """
    client = daemon()
    stuck_at = time.monotonic()

    def enter(status: schema.Status) -> str | None:
        nonlocal stuck_at
        now = time.monotonic()
        if status.state is State.STARTING or status.reason is Reason.START_UP:
            stuck_at = now
        has_patience = now - stuck_at < (patience_s if status.state is State.JOINING else _SETTLE_S)
        return str(status.text) if has_patience and not _is_in(client, made.name) else None

    def be_confirmed(status: schema.Status) -> str | None:
        waits = not status.is_confirmed and time.monotonic() - entered_at < _CONFIRM_S
        return "Waiting for a leader's computer to confirm you" if waits else None

    try:
        status = poll_until_done(client, schema.STATUS, client.call(schema.STATUS), enter, about_s=20)
        is_in, entered_at = _is_in(client, made.name), time.monotonic()
        if is_in:
            status = poll_until_done(client, schema.STATUS, status, be_confirmed, about_s=5)
    except KeyboardInterrupt:
        say(f"Joining goes on in the background. To give up: potluck leave {made.name}", file=sys.stderr)
        raise
    if not is_in and status.reason is Reason.INVITE_OVER:
        raise PotluckError(status.text, hint="ask for another invite, then: potluck join")
    if not is_in and status.state is State.ERROR:
        raise PotluckError(status.text, hint=f"it will be tried again; to give up: potluck leave {made.name}")
    return JoinProgress(made.name, made.model, is_in, is_in and status.is_confirmed), f"{status.text}."


def _is_in(client: ControlClient, name: str) -> bool:
    """Return whether this computer belongs to a swarm, as a guest or member."""
    found = client.call(members.LIST, members.SwarmParams(name))
    return found.is_open or any(member.is_you for member in found.members)


def leave(args: argparse.Namespace) -> int:
    """Stop serving a swarm for good.

    Leave a swarm and forget your key in it; only a new invite brings you back. If you joined another swarm, it is
    served next. Your ledger keeps what you earned. A founder who leaves loses the founder's key as well: the
    command shows the recovery code, which brings it back, and asks. Without a terminal it wants the code shown
    before (`potluck members recovery-code`), an admin, or --yes. To stop for a while, use `potluck pause`.

      potluck leave
      potluck leave friends
    """
    client = daemon()
    name = args.name or served_swarm(client)
    if name is None:
        raise UsageError("you serve no swarm", hint="potluck join")
    if not args.yes and sys.stdin.isatty() and sys.stderr.isatty() and not _founder_agrees(client, name):
        say(f"You are still in {name}.", file=sys.stderr)
        return 1
    left = client.call(swarms.LEAVE, LeaveParams(name, is_sure=args.yes))
    now = served_swarm(client)
    return print_result(args, left, [f"Left {name}." + (f" {now} is served now." if now is not None else "")])


def _founder_agrees(client: ControlClient, name: str) -> bool:
    """Show a founder the recovery code and ask. Others agree: a new invite brings back all that they lose."""
    found = client.call(members.LIST, members.SwarmParams(name))
    if not found.is_founder:
        return True
    code = client.call(members.RECOVERY_CODE, members.SwarmParams(name)).code
    lines = [
        f"You founded {name}, and this computer forgets the founder's key. Its recovery code:\n\n  {code}\n",
        "Without the code nobody can ever appoint admins again. Keep it secret: whoever has it is the founder.",
    ]
    if not any(member.rank == "admin" for member in found.members):
        lines += [
            f"{name} has no admin, so nobody can invite, confirm or remove people until you use the code.",
            "You can use it only after you have joined again, so keep an open invite as well.",
        ]
    say(*lines, sep="\n", file=sys.stderr)
    return agrees(f"Have you written it down? Leave {name}?")


COMMANDS = {
    "join": Subcommand(join, JoinProgress, add_invite, add_move),
    "leave": Subcommand(
        leave,
        Left,
        argument("name", metavar="SWARM", nargs="?", help="a swarm you joined (default: the one you serve)"),
        argument("--yes", action="store_true", help="ask nothing, even if the founder's key is lost by it"),
    ),
}
