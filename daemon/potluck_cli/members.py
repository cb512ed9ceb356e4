"""`potluck members`: lists the people of a swarm, removes and promotes them, and keeps one's own computers and keys."""

from __future__ import annotations

import argparse
import base64
import getpass
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from potluck_control.methods import computers
from potluck_control.methods import members as methods
from potluck_control.places import find_places

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.setup import lacks_engine, make_engine
from potluck_cli.start import ensure_started
from potluck_cli.terminal import Terminal, say

_LOOK_S = 1.0
_MAX_FILE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Written:
    """The backup was written."""

    file: str


DESCRIPTION = """\
Show who belongs to a swarm, with their computers, the blocks that these serve now, and open invites. The founder and
admins can remove people: their servers then serve nobody, and everybody refuses them within a minute. You can remove a
computer of your own, such as a lost laptop, and add another one with a short code. A backup of your keys, encrypted
with a password, makes any computer yours."""
EXAMPLES = """\
  potluck members
  potluck members remove Bob
  potluck members remove Ana --machine "old laptop"
  potluck members promote Bob
  potluck members withdraw 3fa9
  potluck members recovery-code
  potluck members add-computer    (then, on the other computer: potluck join --code)
  potluck members backup ./potluck-keys
  potluck members restore ./potluck-keys"""
RESULT = {
    "list": methods.MembersList,
    "remove": methods.MembersChanged,
    "promote": methods.MembersChanged,
    "demote": methods.MembersChanged,
    "withdraw": methods.MembersChanged,
    "recovery-code": methods.RecoveryCode,
    "recover": methods.MembersChanged,
    "add-computer": computers.Adding,
    "backup": Written,
    "restore": computers.Restored,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(act=_list, swarm="")

    listed = actions.add_parser("list", help="show the people, their computers and open invites (the default)")
    listed.set_defaults(act=_list)

    removed = actions.add_parser("remove", help="remove a person, or one of their computers")
    _add_person(removed)
    removed.add_argument("--machine", default="", metavar="NAME", help="remove only this computer")
    removed.set_defaults(act=_remove)

    promoted = actions.add_parser("promote", help="let a person invite and remove others, or enrol newcomers")
    _add_person(promoted)
    promoted.add_argument(
        "--enroller", action="store_true", help="only let this person's computers enrol newcomers of a public swarm"
    )
    promoted.set_defaults(act=_promote, is_admin=True)

    demoted = actions.add_parser("demote", help="make an admin or enroller an ordinary member")
    _add_person(demoted)
    demoted.set_defaults(act=_promote, is_admin=False, enroller=False)

    withdrawn = actions.add_parser("withdraw", help="end an invite")
    withdrawn.add_argument("invite", metavar="ID", help="as the list shows it")
    withdrawn.set_defaults(act=_withdraw)

    code = actions.add_parser("recovery-code", help="show the code that brings the founder's key to another computer")
    code.set_defaults(act=_recovery_code)

    recovered = actions.add_parser("recover", help="become the founder again, with the recovery code")
    recovered.set_defaults(act=_recover)

    added = actions.add_parser("add-computer", help="show a code with which another computer becomes yours")
    added.add_argument(
        "--address", default="", metavar="IPV4", help="this computer's address for the other one (default: the usual)"
    )
    added.set_defaults(act=_add_computer)

    backup = actions.add_parser("backup", help="write your keys to a file, encrypted with a password")
    backup.add_argument("file", type=Path, metavar="FILE", help="must not exist")
    backup.set_defaults(act=_backup)

    restored = actions.add_parser("restore", help="bring your keys to this computer from a backup")
    restored.add_argument("file", type=Path, metavar="FILE", help="that `potluck members backup` wrote")
    restored.set_defaults(act=_restore)

    for action in (added, listed, removed, promoted, demoted, withdrawn, code, recovered):
        action.add_argument(
            "--swarm", default="", metavar="SWARM", help="a swarm you joined (default: the one you serve)"
        )


def run(args: argparse.Namespace) -> int:
    code: int = args.act(args)
    return code


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="PERSON", help="the person's name or id, as the list shows it")


def _list(args: argparse.Namespace) -> int:
    found, now = daemon().call(methods.LIST, methods.SwarmParams(args.swarm)), time.time()
    if found.is_open:
        return answer(args, found, [f"{found.swarm} is open to everybody, so it has no members."])
    serving = {server.peer_id: f" {server.start}:{server.end}" for server in found.servers if server.state == "online"}
    people = [
        (
            f"{member.name} (you)" if member.is_you else member.name,
            member.id,
            _rank(member, now),
            _day(member.joined_at),
            f"{member.invite} by {member.invited_by}" if member.invited_by else member.invite,
            ", ".join(f"{machine.name}{serving.get(machine.peer_id, '')}" for machine in member.machines),
        )
        for member in found.members
    ]
    lines = Terminal().table(("NAME", "ID", "RANK", "JOINED", "INVITE", "COMPUTERS"), people)
    open_ones = [invite for invite in found.invites if invite.expires_at > now and invite.used < invite.people]
    if open_ones:
        rows = [
            (
                f"{invite.id} (public)" if invite.is_public else invite.id,
                f"{invite.used} of {invite.people}",
                time.strftime("%d %b %Y", time.localtime(invite.expires_at)),
            )
            for invite in open_ones
        ]
        lines = [*lines, "", *Terminal().table(("OPEN INVITE", "USED", "EXPIRES"), rows)]
    return answer(args, found, lines)


def _rank(member: methods.Member, now: float) -> str:
    if member.excluded_until > now:
        return f"not used until {_day(member.excluded_until)}: answered wrongly"
    if member.unpaid_until > now:
        return f"comes last until {_day(member.unpaid_until)}: accused falsely"
    return "on probation" if member.is_on_probation else member.rank


def _day(at: float) -> str:
    return time.strftime("%d %b %Y", time.localtime(at))


def _remove(args: argparse.Namespace) -> int:
    return _changed(args, daemon().call(methods.REMOVE, methods.MemberParams(args.name, args.machine, args.swarm)))


def _promote(args: argparse.Namespace) -> int:
    is_admin = args.is_admin and not args.enroller
    params = methods.PromoteParams(args.name, is_admin, args.swarm, args.enroller)
    return _changed(args, daemon().call(methods.PROMOTE, params))


def _withdraw(args: argparse.Namespace) -> int:
    return _changed(args, daemon().call(methods.WITHDRAW, methods.WithdrawParams(args.invite, args.swarm)))


def _recovery_code(args: argparse.Namespace) -> int:
    found = daemon().call(methods.RECOVERY_CODE, methods.SwarmParams(args.swarm))
    lines = [found.code, f"Write it down and keep it safe: whoever has it is the founder of {found.swarm}."]
    return answer(args, found, lines)


def _recover(args: argparse.Namespace) -> int:
    code = getpass.getpass("Recovery code (it stays hidden): ") if sys.stdin.isatty() else sys.stdin.readline()
    return _changed(args, daemon().call(methods.RECOVER, methods.RecoverParams(code.strip(), args.swarm)))


def _changed(args: argparse.Namespace, changed: methods.MembersChanged) -> int:
    lines = [f"{changed.done[0].upper()}{changed.done[1:]}."]
    if not changed.is_known:
        lines.append("The others learn of it when this computer serves the swarm again.")
    return answer(args, changed, lines)


def _add_computer(args: argparse.Namespace) -> int:
    """Show the code, and wait until it is used or has ended; Ctrl-C ends it."""
    client = daemon()
    shown = client.call(computers.ADD, computers.AddParams(args.swarm, args.address))
    until = time.strftime("%H:%M", time.localtime(shown.expires_at))
    said = (
        f"On the other computer, run `potluck join --code` and enter:\n\n  {shown.code}",
        f"It works once, until {until}.",
    )
    say(*said, sep="\n\n", file=sys.stderr if args.json else sys.stdout, flush=True)
    try:
        while not shown.added and not shown.problem:
            time.sleep(_LOOK_S)
            shown = client.call(computers.ADDING)
    finally:
        client.call(computers.CANCEL)
    if not shown.added:
        raise UsageError(
            f"no computer was added: {shown.problem}", hint="make a new code: potluck members add-computer"
        )
    return answer(args, shown, [f"Added {shown.added}. It is one of your computers in {shown.swarm} now."])


def _backup(args: argparse.Namespace) -> int:
    if args.file.exists():
        raise UsageError(f"{args.file} exists already", hint="name another file")
    password = _password("Password for the backup (it stays hidden): ")
    if sys.stdin.isatty() and getpass.getpass("Once more: ") != password:
        raise UsageError("the two passwords differ")
    made = daemon().call(computers.BACK_UP, computers.BackupParams(password))
    try:
        handle = os.open(args.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(base64.b64decode(made.data))
    except OSError as error:
        raise UsageError(f"cannot write {args.file}: {error.strerror}") from error
    lines = [f"Your keys are in {args.file}. Keep it and the password apart: whoever has both can act as you."]
    return answer(args, Written(str(args.file)), lines)


def _restore(args: argparse.Namespace) -> int:
    try:
        with args.file.open("rb") as file:
            data = file.read(_MAX_FILE_BYTES)
    except OSError as error:
        raise UsageError(f"cannot read {args.file}: {error.strerror}") from error
    password = _password("Password of the backup (it stays hidden): ")
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    given = base64.b64encode(data).decode()
    restored = daemon().call(computers.RESTORE, computers.RestoreParams(given, password))
    return answer(args, restored, [f"This computer is yours in {', '.join(restored.swarms)}. See: potluck status"])


def _password(prompt: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(prompt)
    return sys.stdin.readline().rstrip("\n")
