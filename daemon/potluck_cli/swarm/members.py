"""`potluck members`: lists, confirms, removes and promotes the people of a swarm, and manages own computers and keys.

Show who belongs to a swarm, with their computers, the layers that these serve now, and open invites. People who joined
are not confirmed until a computer of the founder or of an admin is online, which confirms them by itself. Many at once,
and those who come after the invite's time, wait until one of these people confirms them here. The founder and admins
can remove people: their servers then serve nobody, and everybody refuses them within a minute. You can remove a
computer of your own, such as a lost laptop, and add another one with an invite for one machine. A backup of your keys,
encrypted with a password, makes any computer yours.

  potluck members
  potluck members confirm Bob
  potluck members remove Bob
  potluck members remove Ana --machine "old laptop"
  potluck members dismiss Ana --machine desktop
  potluck members promote Bob
  potluck members decisions Bob
  potluck members demote Bob --keep 4
  potluck members end-invite 3fa9
  potluck members recovery-code
  potluck members add-computer    (then, on the other computer: potluck join)
  potluck members backup ./potluck-keys
  potluck members restore ./potluck-keys
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import getpass
import io
import os
import shlex
import sys
import time
from pathlib import Path

from msgspec import structs
from potluck_control.methods import members as methods
from potluck_control.places import find_places

from potluck.errors import UsageError
from potluck.formatting import layers
from potluck.membership.backup import MAX_BACKUP_BYTES
from potluck.membership.leadership import DEFAULT_SEATS
from potluck.membership.records import MAX_PEOPLE_OF_INVITE
from potluck_cli.daemon_access import daemon
from potluck_cli.everyday.ledger import Moved
from potluck_cli.everyday.start_stop import ensure_started
from potluck_cli.options import print_result, whole_number
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.terminal import Terminal, WaitNotice, agrees, say
from potluck_cli.upkeep.setup import lacks_engine, make_engine

_POLL_S = 1.0
_MAX_NAMED = 3  # most named people who found wrong results
_MAX_NAME, _MAX_DECISIONS = 64, 1_000_000
_KINDS = {
    "confirm": "confirmed {about}",
    "remove": "removed {about}",
    "remove_machine": "removed a computer of {about}",
    "invite": "made the invite {about}",
    "end_invite": "ended the invite {about}",
    "model": "chose the model {about}",
}


def _name(text: str) -> str:
    """Read a name, or the empty default."""
    if len(text) > _MAX_NAME:
        raise argparse.ArgumentTypeError(f"names have at most {_MAX_NAME} letters")
    return text


def _person(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("expected a name")
    return _name(text)


def _list(args: argparse.Namespace) -> int:
    """Show the people, their computers and open invites (the default)."""
    found, now = daemon().call(methods.LIST, methods.SwarmParams(args.swarm)), time.time()
    if found.is_open:
        return print_result(args, found, [f"{found.swarm} is open to everybody, so it has no members."])
    serving = {
        server.peer_id: f" {layers(server.start, server.end)}" for server in found.servers if server.state == "online"
    }
    people = [
        (
            f"{member.name} (you)" if member.is_you else member.name,
            member.id,
            _rank(member),
            _day(member.heard_at),
            f"{member.invite} by {member.invited_by}" if member.invited_by else member.invite,
            ", ".join(f"{machine.name}{serving.get(machine.peer_id, '')}" for machine in member.machines),
        )
        for member in found.members
    ]
    lines = Terminal().table(("NAME", "ID", "RANK", "KNOWN SINCE", "INVITE", "COMPUTERS"), people)
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
    return print_result(args, found, [*lines, *_to_confirm(found), *_reported(found)])


def _rank(member: methods.Member) -> str:
    if member.rank == "guest":
        return "waits to be let in" if member.waits else "not confirmed yet"
    return "on probation" if member.is_on_probation else member.rank


def _to_confirm(found: methods.MembersList) -> list[str]:
    """Return lines about people for whom the user has to do something."""
    waiting = [member.name for member in found.members if member.waits]
    lines = [f"To let in {', '.join(waiting)}: potluck members confirm NAME"] if waiting else []
    if found.asking:
        lines.append(f"{found.asking} asks to be a computer of yours: {_confirming(found.asking)}")
    return ["", *lines] if lines else []


def _reported(found: methods.MembersList) -> list[str]:
    """Return lines about computers that returned wrong results, and what the user can do about each."""
    lines = []
    for each in found.wrong_results:
        number, names = len(each.found_by), ", ".join(each.found_by[:_MAX_NAMED])
        if number > _MAX_NAMED:
            names += f" and {number - _MAX_NAMED} others"
        people = f"{number} people ({names})" if number > 1 else names
        confirmed = ", confirmed here" if each.is_confirmed else ""
        whose = "This computer" if each.is_here else f"{each.name}'s {each.machine}"
        lines += ["", f"{whose} returned wrong results: found by {people}{confirmed}."]
        named = f"{shlex.quote(each.name)} --machine {shlex.quote(each.machine)}"
        if each.is_here:
            lines += [f"  {_checked(each)}", "  To serve nobody: potluck pause"]
        else:
            lines.append(f"  To remove it: potluck members remove {named}")
        lines.append(f"  If nothing is wrong with it: potluck members dismiss {named}")
    return lines


def _checked(found: methods.WrongResultsReport) -> str:
    if found.checked_at is None:
        return "It has not reloaded its weights since."
    when = time.strftime("%d %b, %H:%M", time.localtime(found.checked_at))
    if found.damaged:
        return f"Weights were damaged in its memory ({when}). Test this computer's memory, and that of its GPU."
    return f"It has reloaded its weights ({when}). Those in memory were undamaged."


def _day(at: float) -> str:
    return time.strftime("%d %b %Y", time.localtime(at)) if at else ""


def _decide(args: argparse.Namespace) -> int:
    """Confirm or remove a person, or dismiss what was reported about one."""
    method = {"confirm": methods.CONFIRM, "remove": methods.REMOVE, "dismiss": methods.DISMISS}[args.action]
    return _changed(args, daemon().call(method, methods.MemberParams(args.name, args.machine, args.swarm)))


def _promote(args: argparse.Namespace) -> int:
    """Let a person invite and remove others, or let newcomers in."""
    params = methods.PromoteParams(args.name, not args.enroller, args.swarm, args.enroller, args.seats)
    return _changed(args, daemon().call(methods.PROMOTE, params))


def _demote(args: argparse.Namespace) -> int:
    """Make an admin or enroller an ordinary member.

    Show what would follow, and do it once the user agrees.
    """
    client, params = daemon(), methods.PromoteParams(args.name, is_admin=False, swarm=args.swarm, keep=args.keep)
    effects = _effects(client.call(methods.PROMOTE, structs.replace(params, is_trial=True)))
    if effects and not args.yes:
        say(*effects, sep="\n", file=sys.stderr)
        if args.json or not sys.stdin.isatty():
            raise UsageError("nothing was changed, because people would lose or regain their place", hint="add --yes")
        if not agrees(f"Make {args.name} an ordinary member?"):
            return 1
    return _changed(args, client.call(methods.PROMOTE, params))


def _effects(changed: methods.MembersChanged) -> list[str]:
    lost = [f"Not confirmed any more: {', '.join(changed.lost)}."] if changed.lost else []
    return [*lost, *([f"Members again: {', '.join(changed.returned)}."] if changed.returned else [])]


def _decisions(args: argparse.Namespace) -> int:
    """List what an admin or enroller decided, numbered for --keep."""
    found = daemon().call(methods.DECISIONS, methods.MemberParams(args.name, swarm=args.swarm))
    texts = (_KINDS.get(each.kind, f"{each.kind} {{about}}").format(about=each.about) for each in found.decisions)
    lines = [f"{number:5}  {text}" for number, text in enumerate(texts, 1)]
    return print_result(args, found, lines or [f"{found.name} decided nothing in {found.swarm}."])


def _end_invite(args: argparse.Namespace) -> int:
    """End an invite; those who joined with it and are confirmed stay."""
    return _changed(args, daemon().call(methods.END_INVITE, methods.EndInviteParams(args.invite, args.swarm)))


def _recovery_code(args: argparse.Namespace) -> int:
    """Show the code that brings the founder's key to another computer."""
    found = daemon().call(methods.RECOVERY_CODE, methods.SwarmParams(args.swarm))
    lines = [found.code, f"Write it down and keep it safe: whoever has it is the founder of {found.swarm}."]
    return print_result(args, found, lines)


def _recover(args: argparse.Namespace) -> int:
    """Become the founder again, with the recovery code."""
    code = _read_secret("Recovery code (it stays hidden): ").strip()
    return _changed(args, daemon().call(methods.RECOVER, methods.RecoveryCode(code, args.swarm)))


def _changed(args: argparse.Namespace, changed: methods.MembersChanged) -> int:
    lines = [f"{changed.done[0].upper()}{changed.done[1:]}.", *_effects(changed)]
    if not changed.is_known:
        lines.append("The others learn of it when this computer serves the swarm again.")
    return print_result(args, changed, lines)


def _add_computer(args: argparse.Namespace) -> int:
    """Show an invite with which another computer becomes yours.

    Show an invite for one machine; on a terminal, wait for the computer that uses it and ask whether it is right.
    """
    client = daemon()
    if args.confirm:
        return _changed(args, client.call(methods.CONFIRM_COMPUTER, methods.ConfirmParams(args.confirm, args.swarm)))
    made = client.call(methods.ADD_COMPUTER, methods.SwarmParams(args.swarm))
    print_result(args, made, _machine_invite(made))
    if args.json or not sys.stdin.isatty():
        return 0
    asking = ""
    with WaitNotice("Waiting for the other computer"):
        while not asking and time.time() < made.expires_at:
            time.sleep(_POLL_S)
            asking = client.call(methods.LIST, methods.SwarmParams(made.swarm)).asking
    if not asking:
        raise UsageError("no computer used the invite in time", hint="make another one: potluck members add-computer")
    if not agrees(f"{asking} asks to be one of your computers. Does it show this name?"):
        say("It was not added.")
        return 1
    return _changed(args, client.call(methods.CONFIRM_COMPUTER, methods.ConfirmParams(asking, made.swarm)))


def _machine_invite(made: methods.MachineInvite) -> list[str]:
    until = time.strftime("%H:%M", time.localtime(made.expires_at))
    return [
        "On the other computer, run `potluck join` and enter this, or paste it into the app:",
        "",
        made.invite,
        "",
        *_qr_code(made.invite, Terminal()),
        f"It works once, until {until}. Then confirm the name that the other computer shows: {_confirming('NAME')}",
    ]


def _confirming(name: str) -> str:
    return f"potluck members add-computer --confirm {shlex.quote(name)}"


def _qr_code(text: str, terminal: Terminal) -> list[str]:
    """Return a QR code as lines, if it fits the terminal and the library is there, which comes with the app."""
    drawn = io.StringIO()
    with contextlib.suppress(ModuleNotFoundError):
        from segno import make_qr

        make_qr(text, error="l", boost_error=False).terminal(drawn, border=2, compact=True)
    lines = drawn.getvalue().splitlines()
    fits = terminal.has_unicode and terminal.width is not None and max(map(len, lines), default=0) < terminal.width
    return [*lines, ""] if fits else []


def _backup(args: argparse.Namespace) -> int:
    """Write your keys to a file, encrypted with a password."""
    if args.file.exists():
        raise UsageError(f"{args.file} exists already", hint="name another file")
    password = _read_secret("Password for the backup (it stays hidden): ")
    if sys.stdin.isatty() and getpass.getpass("Once more: ") != password:
        raise UsageError("the two passwords differ")
    made = daemon().call(methods.BACK_UP, methods.BackupParams(password))
    handle = os.open(args.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(base64.b64decode(made.data))
    lines = [f"Your keys are in {args.file}. Keep it and the password apart: whoever has both can act as you."]
    return print_result(args, Moved(str(args.file)), lines)


def _restore(args: argparse.Namespace) -> int:
    """Bring your keys to this computer from a backup."""
    with args.file.open("rb") as file:
        data = file.read(MAX_BACKUP_BYTES)
    password = _read_secret("Password of the backup (it stays hidden): ")
    if lacks_engine(find_places()):
        make_engine(quiet=args.json)
    ensure_started()
    given = base64.b64encode(data).decode()
    restored = daemon().call(methods.RESTORE, methods.RestoreParams(given, password))
    return print_result(
        args, restored, [f"This computer is yours in {', '.join(restored.swarms)}. See: potluck status"]
    )


def _read_secret(prompt: str) -> str:
    """Return what the user types without showing it, or a line of standard input."""
    if sys.stdin.isatty():
        return getpass.getpass(prompt)
    return sys.stdin.readline().rstrip("\n")


_PERSON = argument("name", type=_person, metavar="PERSON", help="the person's name or id, as the list shows it")
_SWARM = argument(
    "--swarm", type=_name, default="", metavar="SWARM", help="a swarm you joined (default: the one you serve)"
)


def _about_computers(machine_help: str, summary: str) -> Subcommand:
    """Return the action on a person, or on one of their computers."""
    machine = argument("--machine", type=_name, default="", metavar="NAME", help=machine_help)
    return Subcommand(_decide, methods.MembersChanged, _PERSON, machine, _SWARM, summary=summary)


_ACTIONS = {
    "list": Subcommand(_list, methods.MembersList, _SWARM),
    "confirm": Subcommand(
        _decide,
        methods.MembersChanged,
        _PERSON,
        _SWARM,
        lambda parser: parser.set_defaults(machine=""),
        summary="let in a person who waits for that",
    ),
    "remove": _about_computers("remove only this computer", "remove a person, or one of their computers"),
    "dismiss": _about_computers("only about this computer", "hide what was reported about a person's computers"),
    "promote": Subcommand(
        _promote,
        methods.MembersChanged,
        _PERSON,
        argument(
            "--enroller", action="store_true", help="only let this person's computers let newcomers into a public swarm"
        ),
        argument(
            "--seats",
            type=whole_number(0, MAX_PEOPLE_OF_INVITE),
            default=DEFAULT_SEATS,
            metavar="N",
            help="how many people an admin's open invites may let in (default: %(default)s)",
        ),
        _SWARM,
    ),
    "demote": Subcommand(
        _demote,
        methods.MembersChanged,
        _PERSON,
        argument(
            "--keep",
            type=whole_number(0, _MAX_DECISIONS),
            metavar="N",
            help="only their first N decisions go on to count (default: all of them)",
        ),
        argument("--yes", action="store_true", help="don't ask, even if people lose their place by it"),
        _SWARM,
    ),
    "decisions": Subcommand(_decisions, methods.Decisions, _PERSON, _SWARM),
    "end-invite": Subcommand(
        _end_invite, methods.MembersChanged, argument("invite", metavar="ID", help="as the list shows it"), _SWARM
    ),
    "recovery-code": Subcommand(_recovery_code, methods.RecoveryCode, _SWARM),
    "recover": Subcommand(_recover, methods.MembersChanged, _SWARM),
    "add-computer": Subcommand(
        _add_computer,
        methods.MachineInvite,
        argument(
            "--confirm", type=_person, metavar="NAME", help="confirm the computer of this name, which used the invite"
        ),
        _SWARM,
    ),
    "backup": Subcommand(_backup, Moved, argument("file", type=Path, metavar="FILE", help="must not exist")),
    "restore": Subcommand(
        _restore,
        methods.Restored,
        argument("file", type=Path, metavar="FILE", help="that `potluck members backup` wrote"),
    ),
}
COMMANDS = {"members": CommandGroup(__doc__, _ACTIONS)}
