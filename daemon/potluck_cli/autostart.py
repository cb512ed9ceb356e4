"""`potluck autostart`: what starts when you log in."""

from __future__ import annotations

import argparse
import sys

from potluck_control.methods import machine
from potluck_control.methods.machine import LoginParams, LoginStart

from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Have the desktop start the tray app and systemd the daemon when you log in. Both are off until you choose. What is shown
is what the system will do, whoever arranged it. `potluck service install --system` is for a machine that nobody plays
on."""
EXAMPLES = """\
  potluck autostart
  potluck autostart --daemon on
  potluck autostart --daemon on --app on"""
RESULT = LoginStart


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, what in (("app", "the tray app"), ("daemon", "the daemon")):
        parser.add_argument(f"--{name}", choices=("on", "off"), help=f"start {what}, or do not")
    add_json(parser, "what starts")


def run(args: argparse.Namespace) -> int:
    client = daemon()
    wanted = LoginParams(_choice(args.app), _choice(args.daemon))
    now = client.call(machine.LOGIN) if wanted == LoginParams() else client.call(machine.SET_LOGIN, wanted)
    if args.json:
        print_json(now)
        return 0
    terminal = Terminal(sys.stdout)
    terminal.line(_line("The tray app", now.app, now.app_problem, now.app_by))
    terminal.line(_line("The daemon", now.daemon, now.daemon_problem, now.daemon_by))
    return 0


def _choice(text: str | None) -> bool | None:
    return None if text is None else text == "on"


def _line(what: str, is_on: bool, problem: str, by: str) -> str:
    said = "; ".join(filter(None, (f"by {by}" if by else "", problem)))
    why = f" ({said})" if said else ""
    return f"{what} {'starts' if is_on else 'does not start'} at log-in{why}"
