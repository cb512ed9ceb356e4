"""The swarm that a command is about: one that was joined, or that of an invite; and which one this computer serves.

Every user of a computer can read the arguments of all processes, and whoever reads an invite may join. So an invite
comes from a prompt, a file or standard input. One that is given as an argument is accepted with a warning, and is not
passed on to another program.
"""

from __future__ import annotations

import argparse
import codecs
import os
import select
import shlex
import sys
import termios
from collections.abc import Iterable, Sequence
from pathlib import Path

from potluck_control.api.client import ControlClient
from potluck_control.methods import settings, swarms
from potluck_control.methods.settings import Change, SetParams
from potluck_control.places import find_places

from potluck.errors import UsageError
from potluck.membership.invite import decode_invite
from potluck.membership.joined import JoinedSwarms
from potluck.membership.membership import Membership
from potluck.membership.own_names import OwnNames, guessed_names
from potluck.membership.pasted import MAX_PASTED_CHARS, find_invite, is_pasted
from potluck_cli.daemon_access import daemon, hello_or_none
from potluck_cli.terminal import agrees, say

_FILE = "--invite-file"
_MAX_BYTES = 4 * MAX_PASTED_CHARS
_BURST_S = 0.3  # the longest gap between the lines of one paste
_WARNING = "potluck: other users of this computer can read an invite in a command line; instead,"


def add_invite(parser: argparse.ArgumentParser) -> None:
    """Add the options of a command that joins a swarm."""
    parser.add_argument("invite", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, metavar="FILE", help="read the invite from this file")
    add_names(parser)


def read_invite(args: argparse.Namespace) -> str:
    """Return the invite in what the user gave, for a parser with `add_invite`. Raises UsageError if there is none."""
    if args.invite:
        invite = find_invite(" ".join(args.invite))
        if not decode_invite(invite).is_public:
            say(_WARNING, "leave it out and paste it when you are asked", file=sys.stderr)
        return invite
    if args.file is not None:
        return find_invite(_content(args.file))
    return find_invite(_pasted() if sys.stdin.isatty() else _text(sys.stdin.buffer.read(_MAX_BYTES)))


def add_names(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what others call the user and this computer."""
    parser.add_argument("--name", dest="person", default="", help="what friends call you (default: ask once)")
    parser.add_argument("--computer", default="", metavar="NAME", help="what they call this computer")


def own_names(args: argparse.Namespace, *, asks_person: bool = True) -> OwnNames:
    """Return the names for a parser with `add_names`: those given or chosen before, or the answers at a terminal.

    Args:
        asks_person: False: somebody whose name is known there.
    """
    given = OwnNames(args.person, args.computer).cleaned().or_else(_chosen_names())
    is_asked = sys.stdin.isatty() and sys.stderr.isatty()
    person = given.person or guessed_names().person
    if is_asked and asks_person and not given.person:
        person = _answer("What should friends call you?", person)
    computer = given.computer or guessed_names(person).computer
    if is_asked and not given.computer:
        computer = _answer("What should this computer be called?", computer)
    return OwnNames(person, computer).cleaned()


def _chosen_names() -> OwnNames:
    """Return the names that were chosen before: the daemon's, or those in this user's file while none runs."""
    if hello_or_none() is None:
        return known_swarms().names()
    found = daemon().call(swarms.OWN_NAMES)
    return OwnNames(found.person, found.computer) if found.is_chosen else OwnNames()


def _answer(question: str, guess: str) -> str:
    say(f"{question} " + (f"[{guess}] " if guess else ""), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or guess


def add_swarm(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a swarm."""
    parser.add_argument("--swarm", metavar="SWARM", help="a swarm you joined (default: your only swarm)")
    add_invite_file(parser)


def add_invite_file(parser: argparse.ArgumentParser) -> None:
    """Add the option that names a file with an invite."""
    parser.add_argument(_FILE, type=Path, metavar="FILE", help="use the swarm of the invite in this file")


def swarm_of(args: argparse.Namespace) -> Membership:
    """Return the membership for a parser with `add_swarm`. Raises UsageError."""
    joined = known_swarms()
    if args.invite_file is not None:
        return joined.join(_content(args.invite_file))
    if args.swarm is not None and is_pasted(args.swarm):
        say(_WARNING, f"use {_FILE}, or join the swarm and give its name", file=sys.stderr)
    elif find_places().is_system and not is_service_user() and not joined.load():
        raise UsageError("you joined no swarm yet; this machine's service has its own", hint="use sudo")
    return joined.find(args.swarm)


def brings_invite(args: argparse.Namespace) -> bool:
    """Return whether a parser with `add_swarm` was given an invite instead of the name of a swarm."""
    named = getattr(args, "swarm", None)
    return getattr(args, "invite_file", None) is not None or (named is not None and is_pasted(named))


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
    """Return the arguments for a program that replaces this process. A pipe stands for an invite among them."""
    end = arguments.index("--") if "--" in arguments else len(arguments)  # a prompt follows
    passed: list[str] = []
    for word in arguments[:end]:
        value = word.removeprefix("--swarm=")
        if not is_pasted(value):
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
    with path.open("rb") as file:
        return _text(file.read(_MAX_BYTES))


def _text(data: bytes) -> str:
    """Decode what a program wrote; some shells write UTF-16 into files."""
    marked = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return data.decode("utf-16" if marked else "utf-8", errors="replace")


def _pasted() -> str:
    """Return what is pasted at the terminal without showing it. An invite may be broken into lines."""
    terminal = sys.stdin.fileno()
    shown = termios.tcgetattr(terminal)
    hidden = [*shown[:3], shown[3] & ~termios.ECHO, *shown[4:]]
    try:
        termios.tcsetattr(terminal, termios.TCSADRAIN, hidden)  # Hide the input first: some people paste at once.
        say("Paste the invite (it stays hidden), then press Enter: ", end="", file=sys.stderr, flush=True)
        text, is_begun = "", True
        while is_begun:
            lines = _burst(terminal)
            text += lines
            is_begun = bool(lines.strip()) and is_pasted(text) and not _is_complete(text)
            if is_begun:
                say("\nThe invite is not complete yet. Paste the rest, or press Enter. ", end="", file=sys.stderr)
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, shown)  # the rest of a mail is no command for the shell
        say("", file=sys.stderr)
    return text


def _burst(terminal: int) -> str:
    """Return all lines of one paste; a terminal hands out one at a time."""
    data = os.read(terminal, _MAX_BYTES)
    while len(data) < _MAX_BYTES and select.select([terminal], [], [], _BURST_S)[0]:
        line = os.read(terminal, _MAX_BYTES)
        if not line:
            break
        data += line
    return _text(data)


def _is_complete(text: str) -> bool:
    try:
        return bool(find_invite(text))
    except UsageError:
        return False


def add_move(parser: argparse.ArgumentParser) -> None:
    """Add the option that moves this computer to the swarm without asking."""
    parser.add_argument(
        "--move",
        action="store_true",
        help="serve it from now on, even if this computer serves another swarm (default: ask)",
    )


def served_swarm(client: ControlClient) -> str | None:
    """Return the name of the swarm that this computer serves, or would; None: there is none."""
    return _served(client.call(swarms.LIST).swarms)


def move_or_stay(args: argparse.Namespace, name: str, folder: str = "") -> list[str]:
    """Move this computer to the swarm `name` if its user wants that. Return what to tell a user who stays.

    Args:
        folder: where the user has the swarm's model; empty: not known.
    """
    if hello_or_none() is None:  # nothing is served
        return []
    client = daemon()
    known = client.call(swarms.LIST).swarms
    served = _served(known)
    if name not in (swarm.name for swarm in known):
        return []
    copy = (Change("serve.checkpoint", folder),) if folder else ()
    if served in (None, name):
        if copy:
            client.call(settings.SET, SetParams(copy))
        return []
    if args.move or agrees(f"This computer serves {served}. Serve {name} instead?"):
        client.call(settings.SET, SetParams((Change("serve.swarm", name), *copy)))
        return []
    changes = [f"potluck config set serve.swarm {name}"]
    if folder:
        changes.append(f"potluck config set serve.checkpoint {shlex.quote(folder)}")
    return [f"This computer goes on serving {served}. To serve {name}: {' and '.join(changes)}"]


def _served(known: Iterable[swarms.JoinedSwarm]) -> str | None:
    return next((swarm.name for swarm in known if swarm.is_served), None)
