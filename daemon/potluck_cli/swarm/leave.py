"""`potluck leave`: stops serving a swarm for good.

Leave a swarm and forget your key in it; only a new invite brings you back. If you joined another swarm, it is served
next. Your ledger keeps what you earned. A founder who leaves loses the founder's key as well: the command shows the
recovery code, which brings it back, and asks. Without a terminal it wants the code shown before (`potluck members
recovery-code`), an admin, or --yes. To stop for a while, use `potluck pause`.

  potluck leave
  potluck leave friends
"""

from __future__ import annotations

import argparse
import sys

from potluck_control.api.client import ControlClient
from potluck_control.methods import members, swarms
from potluck_control.methods.swarms import LeaveParams, Left

from potluck.errors import UsageError
from potluck_cli.daemon_access import daemon
from potluck_cli.options import print_result
from potluck_cli.swarm_choice import served_swarm
from potluck_cli.terminal import agrees, say

RESULT = Left


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="SWARM", nargs="?", help="a swarm you joined (default: the one you serve)")
    parser.add_argument("--yes", action="store_true", help="ask nothing, even if the founder's key is lost by it")


def run(args: argparse.Namespace) -> int:
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
    """Show a founder the recovery code and ask; others lose nothing that a new invite does not bring back."""
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
