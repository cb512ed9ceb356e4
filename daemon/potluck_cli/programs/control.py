"""`potluck control`: connects input and output to the daemon's socket, for an app in another system.

Connect standard input and output to the daemon's control socket, until the input ends. This is how the app on Windows
reaches the daemon in WSL2. Whoever can run this command as the daemon's user can control the daemon.

  wsl.exe -d Potluck --exec potluck control     what the app on Windows runs
  ssh host potluck control                      the same for another machine
  echo '{"method":"status"}' | potluck control  asks for the status, as one line of JSON
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
import threading
import time

from potluck_control.api.client import DaemonAwayError
from potluck_control.places import find_socket

from potluck.errors import UsageError
from potluck.sentences import sentence

_WAIT_S = 20.0  # a system that was just started still starts its daemon
_LOOK_S = 0.2
_PIECE_BYTES = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        type=float,
        default=_WAIT_S,
        metavar="SECONDS",
        help="longest wait for the daemon (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    if sys.stdin.isatty():
        raise UsageError("this command is for programs", hint="potluck status shows what the daemon does")
    with _connect(args.wait) as daemon:
        threading.Thread(target=_send, args=(daemon,), daemon=True).start()
        with contextlib.suppress(ConnectionResetError):  # the daemon ended before it read everything
            while piece := daemon.recv(_PIECE_BYTES):
                _write(piece)
    return 0


def _connect(wait_s: float) -> socket.socket:
    """Look the place up each time: until the socket of a system's daemon exists, it looks like a user's."""
    ends_at = time.monotonic() + wait_s
    while True:
        daemon = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            daemon.connect(str(find_socket()))
            return daemon
        except (FileNotFoundError, ConnectionRefusedError) as error:
            daemon.close()
            if time.monotonic() >= ends_at:
                raise DaemonAwayError(
                    sentence("the daemon is not running"), hint=sentence("start it with: potluck start")
                ) from error
        time.sleep(_LOOK_S)


def _send(daemon: socket.socket) -> None:
    """Send until the input ends, which is how the other side hangs up."""
    with contextlib.suppress(OSError):
        while piece := os.read(sys.stdin.fileno(), _PIECE_BYTES):
            daemon.sendall(piece)
    with contextlib.suppress(OSError):
        daemon.shutdown(socket.SHUT_WR)


def _write(piece: bytes) -> None:
    while piece:
        piece = piece[os.write(sys.stdout.fileno(), piece) :]
