"""`potluck autostart`: chooses what starts when you log in.

Choose whether the desktop starts the tray app and systemd starts the daemon when you log in. Both are off until you
choose. Without options, show what the system will do, whoever arranged it. For a machine that nobody plays on, use
`potluck service install --system`.

  potluck autostart
  potluck autostart --daemon on
  potluck autostart --daemon on --app on
"""

from __future__ import annotations

import argparse

from potluck_control.methods import machine
from potluck_control.methods.machine import LoginParams, LoginStart

from potluck.sentences import Sentence
from potluck_cli.connect import daemon
from potluck_cli.options import answer

RESULT = LoginStart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--app", choices=("on", "off"), help="whether the tray app starts")
    parser.add_argument("--daemon", choices=("on", "off"), help="whether the daemon starts")


def run(args: argparse.Namespace) -> int:
    app, service = (None if text is None else text == "on" for text in (args.app, args.daemon))
    if (app, service) == (None, None):
        now = daemon().call(machine.LOGIN)
    else:
        now = daemon().call(machine.SET_LOGIN, LoginParams(app, service))
    lines = [
        _line("The tray app", now.app, now.app_problem, now.app_by),
        _line("The daemon", now.daemon, now.daemon_problem, now.daemon_by),
    ]
    return answer(args, now, lines)


def _line(what: str, is_on: bool, problem: Sentence, by: str) -> str:
    details = "; ".join(filter(None, (f"by {by}" if by else "", str(problem))))
    return f"{what} {'starts' if is_on else 'does not start'} at log-in{f' ({details})' if details else ''}"
