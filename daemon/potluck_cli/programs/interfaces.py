"""Serves other programs: an app in another system (`potluck control`), and shells (`potluck completions`)."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable

from potluck_control.api.client import DaemonAwayError
from potluck_control.methods import members, models
from potluck_control.places import find_socket
from potluck_control.resources import resource

from potluck.errors import PotluckError, UsageError
from potluck.sentences import sentence
from potluck_cli.daemon_access import daemon
from potluck_cli.parser import Subcommand, argument
from potluck_cli.swarm_choice import known_swarms

_WAIT_S = 20.0  # a system that has just started may still be starting its daemon
_RETRY_S = 0.2
_PIECE_BYTES = 1 << 16
_PLAIN_SIGNS = frozenset("-_.+@/")


def control(args: argparse.Namespace) -> int:
    """Connect input and output to the daemon's socket.

    Connect standard input and output to the daemon's control socket, until the input ends. This is how the app on
    Windows reaches the daemon in WSL2. Whoever can run this command as the daemon's user can control the daemon.

      wsl.exe -d Potluck --exec potluck control     what the app on Windows runs
      ssh host potluck control                      the same for another machine
      echo '{"method":"status"}' | potluck control  asks for the status, as one line of JSON
    """
    if sys.stdin.isatty():
        raise UsageError("this command is for programs", hint="potluck status shows what the daemon does")
    with _connect(args.wait) as connection:
        threading.Thread(target=_send, args=(connection,), daemon=True).start()
        with contextlib.suppress(ConnectionResetError):  # the daemon ended before it read everything
            while piece := connection.recv(_PIECE_BYTES):
                _write(piece)
    return 0


def _connect(wait_s: float) -> socket.socket:
    """Connect to the daemon. The path is looked up for each try, because a starting system daemon changes it."""
    ends_at = time.monotonic() + wait_s
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(find_socket()))
            return connection
        except (FileNotFoundError, ConnectionRefusedError) as error:
            connection.close()
            if time.monotonic() >= ends_at:
                raise DaemonAwayError(
                    sentence("the daemon is not running"), hint=sentence("start it with: potluck start")
                ) from error
        time.sleep(_RETRY_S)


def _send(connection: socket.socket) -> None:
    """Send the input until its end, and then close this direction of the connection."""
    with contextlib.suppress(OSError):
        while piece := os.read(sys.stdin.fileno(), _PIECE_BYTES):
            connection.sendall(piece)
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)


def _write(piece: bytes) -> None:
    while piece:
        piece = piece[os.write(sys.stdout.fileno(), piece) :]


def completions(args: argparse.Namespace) -> int:
    """Print a script that lets a shell complete commands, options and names.

    Print a script that lets your shell complete commands, options and the names of settings, swarms, models and
    people. Save it where the shell looks for it. It calls `potluck completions swarms`, `models` and `people` for
    their names.

      potluck completions bash > ~/.local/share/bash-completion/completions/potluck
      potluck completions zsh > ~/.zfunc/_potluck         (with fpath+=~/.zfunc before compinit in ~/.zshrc)
      potluck completions fish > ~/.config/fish/completions/potluck.fish
    """
    if args.shell in _NAMES:
        sys.stdout.writelines(f"{name}\n" for name in names(args.shell))
    else:
        sys.stdout.write(resource(f"completions/potluck.{args.shell}").read_text())
    return 0


def names(kind: str) -> list[str]:
    """Return the names of a kind that a shell may offer; none if the daemon that knows them is away.

    A shell may expand them, and people choose their own, so none is more than letters, digits and a few signs.
    """
    try:
        return sorted({name for name in _NAMES[kind]() if is_plain(name)})
    except PotluckError:
        return []


def is_plain(name: str) -> bool:
    """Return whether a shell takes a name as one word and expands nothing in it."""
    return bool(name) and not name.startswith("-") and all(sign.isalnum() or sign in _PLAIN_SIGNS for sign in name)


def _swarms() -> Iterable[str]:
    return known_swarms().load()


def _models() -> Iterable[str]:
    return (model.name for model in daemon().call(models.LIST).stored)


def _people() -> Iterable[str]:
    found = daemon().call(members.LIST, members.SwarmParams("")).members
    return (member.name if is_plain(member.name) else member.id for member in found)


_NAMES: dict[str, Callable[[], Iterable[str]]] = {"swarms": _swarms, "models": _models, "people": _people}


COMMANDS = {
    "control": Subcommand(
        control,
        (),
        argument(
            "--wait",
            type=float,
            default=_WAIT_S,
            metavar="SECONDS",
            help="longest wait for the daemon (default: %(default)s)",
        ),
    ),
    "completions": Subcommand(
        completions,
        (),
        argument("shell", choices=("bash", "zsh", "fish", *_NAMES), help="your shell, or the names to list"),
    ),
}
