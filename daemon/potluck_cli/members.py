"""`potluck members`: lists the people of a swarm, and removes, promotes and recovers."""

from __future__ import annotations

import argparse
import getpass
import sys
import time

from potluck_control.methods import members as methods

from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Show who belongs to a swarm, with their computers and open invites. The founder and admins can remove people: their
servers then serve nobody, and everybody refuses them within a minute. You can remove a computer of your own, such as a
lost laptop."""
EXAMPLES = """\
  potluck members
  potluck members remove Bob
  potluck members remove Ana --machine "old laptop"
  potluck members promote Bob
  potluck members withdraw 3fa9
  potluck members recovery-code"""
RESULT = {
    "list": methods.MembersList,
    "remove": methods.MembersChanged,
    "promote": methods.MembersChanged,
    "demote": methods.MembersChanged,
    "withdraw": methods.MembersChanged,
    "recovery-code": methods.RecoveryCode,
    "recover": methods.MembersChanged,
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

    promoted = actions.add_parser("promote", help="let a person invite and remove others")
    _add_person(promoted)
    promoted.set_defaults(act=_promote, is_admin=True)

    demoted = actions.add_parser("demote", help="make an admin an ordinary member")
    _add_person(demoted)
    demoted.set_defaults(act=_promote, is_admin=False)

    withdrawn = actions.add_parser("withdraw", help="end an invite")
    withdrawn.add_argument("invite", metavar="ID", help="as the list shows it")
    withdrawn.set_defaults(act=_withdraw)

    code = actions.add_parser("recovery-code", help="show the code that brings the founder's key to another computer")
    code.set_defaults(act=_recovery_code)

    recovered = actions.add_parser("recover", help="become the founder again, with the recovery code")
    recovered.set_defaults(act=_recover)

    for action in (listed, removed, promoted, demoted, withdrawn, code, recovered):
        action.add_argument(
            "--swarm", default="", metavar="NAME", help="a swarm you joined (default: the one you serve)"
        )


def run(args: argparse.Namespace) -> int:
    code: int = args.act(args)
    return code


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the person's name or id, as the list shows it")


def _list(args: argparse.Namespace) -> int:
    found, now = daemon().call(methods.LIST, methods.SwarmParams(args.swarm)), time.time()
    if found.is_open:
        return answer(args, found, [f"{found.swarm} is open to everybody, so it has no members."])
    people = [
        (
            f"{member.name} (you)" if member.is_you else member.name,
            member.id,
            "on probation" if member.is_on_probation else member.rank,
            _day(member.joined_at),
            f"{member.invite} by {member.invited_by}" if member.invited_by else member.invite,
            ", ".join(machine.name for machine in member.machines),
        )
        for member in found.members
    ]
    lines = Terminal().table(("NAME", "ID", "RANK", "JOINED", "INVITE", "COMPUTERS"), people)
    open_ones = [invite for invite in found.invites if invite.expires_at > now and invite.used < invite.people]
    if open_ones:
        rows = [
            (
                invite.id,
                f"{invite.used} of {invite.people}",
                time.strftime("%d %b %Y", time.localtime(invite.expires_at)),
            )
            for invite in open_ones
        ]
        lines = [*lines, "", *Terminal().table(("OPEN INVITE", "USED", "EXPIRES"), rows)]
    return answer(args, found, lines)


def _day(at: float) -> str:
    return time.strftime("%d %b %Y", time.localtime(at))


def _remove(args: argparse.Namespace) -> int:
    return _changed(args, daemon().call(methods.REMOVE, methods.MemberParams(args.name, args.machine, args.swarm)))


def _promote(args: argparse.Namespace) -> int:
    return _changed(args, daemon().call(methods.PROMOTE, methods.PromoteParams(args.name, args.is_admin, args.swarm)))


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
