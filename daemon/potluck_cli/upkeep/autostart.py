"""`potluck autostart`: chooses what starts when you log in, or with the machine.

Choose whether the desktop starts the tray app, and systemd (launchd on a Mac) the daemon, when you log in. Both are off
until you choose. Without options, show what the system will do, whoever arranged it. Nothing starts or ends now:
`potluck start` and `potluck stop` do that, through systemd if it has the daemon. `loginctl enable-linger` keeps your
daemon running after you log out.

With --system, systemd starts a daemon with the machine. That is for machines that nobody plays on: the daemon runs as
its own user and sees no games. Repeat the command after an update. "off" keeps settings, swarms and identity.

  potluck autostart
  potluck autostart --daemon on
  potluck autostart --daemon on --app on
  sudo potluck autostart --system --daemon on
"""

from __future__ import annotations

import argparse
import os

from potluck_control.methods.machine import LoginStart
from potluck_control.places import find_places, system_places
from potluck_daemon.host import login

from potluck.sentences import Sentence
from potluck_cli.options import print_result

RESULT = LoginStart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", choices=("on", "off"), help="whether the tray app starts")
    parser.add_argument("--daemon", choices=("on", "off"), help="whether the daemon starts")
    parser.add_argument("--system", action="store_true", help="the daemon of the whole machine; needs root")


def run(args: argparse.Namespace) -> int:
    places = system_places() if args.system else find_places()
    if args.app is not None:
        login.set_app(os.environ, args.app == "on")
    if args.daemon is not None:  # last: not every machine has a systemd that starts it
        login.set_daemon(places, args.daemon == "on")
    now = login.read_login(os.environ, places)
    lines = [
        _line("The tray app", now.app, "at log-in", now.app_problem),
        _line("The daemon", now.daemon, "with the machine" if places.is_system else "at log-in", now.daemon_problem),
    ]
    return print_result(args, now, lines)


def _line(what: str, is_on: bool, when: str, problem: Sentence) -> str:
    return f"{what} {'starts' if is_on else 'does not start'} {when}{f' ({problem})' if problem else ''}"
