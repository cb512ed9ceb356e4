"""Reads the invite that a command needs from a prompt, a file or standard input, where no other user can see it.

Every user of a computer can read the arguments of all processes, and whoever reads an invite may join. One that is
given as an argument is accepted with a warning, and is not passed on to another program.
"""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from potluck_control.places import find_places

from potluck.errors import UsageError
from potluck.membership.invite import decode_invite, is_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck_cli.terminal import say

_FILE = "--invite-file"
_MAX_LETTERS = 1 << 15  # more than an invite has; it must also fit into a pipe
_WARNING = "potluck: other users of this computer can read an invite in a command line; instead,"


def add_invite(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that joins a swarm."""
    parser.add_argument("invite", nargs="?", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, metavar="FILE", help="read the invite from this file")


def read_invite(args: argparse.Namespace) -> str:
    """Return the invite for a parser with `add_invite`. Raises UsageError if it is none."""
    if args.invite is not None:
        invite = str(args.invite)
        if not decode_invite(invite).is_public:
            say(_WARNING, "leave it out and paste it when you are asked", file=sys.stderr)
    elif args.file is not None:
        invite = _content(args.file)
    elif sys.stdin.isatty():
        invite = getpass.getpass("Paste the invite (it stays hidden), then press Enter: ")
    else:
        invite = sys.stdin.read(_MAX_LETTERS)
    decode_invite(invite)
    return invite


def add_swarm(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a swarm."""
    parser.add_argument("--swarm", metavar="SWARM", help="a swarm you joined (default: your only swarm)")
    add_invite_file(parser)


def add_invite_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(_FILE, type=Path, metavar="FILE", help="use the swarm of the invite in this file")


def swarm_of(args: argparse.Namespace) -> Membership:
    """Return the membership for a parser with `add_swarm`. Raises UsageError."""
    joined = known_swarms()
    if args.invite_file is not None:
        return joined.join(_content(args.invite_file))
    if args.swarm is not None and is_invite(args.swarm):
        say(_WARNING, f"use {_FILE}, or join the swarm and give its name", file=sys.stderr)
    elif find_places().is_system and not is_service_user() and not joined.load():
        raise UsageError("you joined no swarm yet; this machine's service has its own", hint="use sudo")
    return joined.find(args.swarm)


def brings_invite(args: argparse.Namespace) -> bool:
    """Return whether a parser with `add_swarm` was given an invite instead of the name of a swarm."""
    named = getattr(args, "swarm", None)
    return getattr(args, "invite_file", None) is not None or (named is not None and is_invite(named))


def known_swarms() -> JoinedSwarms:
    """Return the swarms of this user; for the user of the machine's service, those of the service."""
    if not is_service_user():
        return JoinedSwarms()
    places = find_places()
    return JoinedSwarms(places.swarms_file, places.identity_file)


def is_service_user() -> bool:
    """Return whether this process runs as the user of the machine's service, as root's commands do that need it."""
    places = find_places()
    return places.is_system and places.state.exists() and places.state.stat().st_uid == os.geteuid()


def passed_on(arguments: Sequence[str]) -> list[str]:
    """Return the arguments for another program that replaces this process: a pipe takes the place of an invite."""
    end = arguments.index("--") if "--" in arguments else len(arguments)  # a prompt follows
    passed: list[str] = []
    for word in arguments[:end]:
        value = word.removeprefix("--swarm=")
        if not is_invite(value):
            passed.append(word)
            continue
        if passed[-1:] == ["--swarm"]:
            passed.pop()
        passed += [_FILE, _pipe_with(value)]
    return [*passed, *arguments[end:]]


def _pipe_with(text: str) -> str:
    """Return the path of a pipe from which a program that replaces this one can read `text`."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as file:
        file.write(text)
    os.set_inheritable(reader, True)
    return f"/dev/fd/{reader}"


def _content(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            return file.read(_MAX_LETTERS)
    except UnicodeDecodeError:
        raise UsageError(f"{path} holds no invite", hint="it is one line that begins with `potluck4:`") from None
