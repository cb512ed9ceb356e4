"""`potluck start`: the daemon in the background."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from potluck_control import schema
from potluck_control.methods import swarms
from potluck_control.resources import DEMO_MODEL
from potluck_daemon.host.units import STARTS_WITH_MACHINE, enable_system_service, installed, start_service

from potluck_cli.connect import daemon, hello_or_none, start_daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Start the daemon in the background, unless it runs already. It serves blocks of the swarm you joined and steps aside
when a game starts. If the service is installed, the service is started, and
as root also enabled."""
EXAMPLES = """\
  potluck start
  potluck start --demo
  potluck status"""


@dataclass(frozen=True, slots=True)
class Started:
    """The daemon that runs now; `swarm`: the one of --demo."""

    pid: int
    swarm: str | None


@dataclass(frozen=True, slots=True)
class _DemoSwarm:
    name: str
    is_new: bool
    is_served: bool


RESULT = Started


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--demo",
        action="store_true",
        help="also serve a private swarm of the small model that comes with Potluck; it is made if there is none",
    )
    add_json(parser, "the process, and the name of the swarm of --demo")


def run(args: argparse.Namespace) -> int:
    words = ensure_started()
    if enable_system_service():
        words = f"{words} {STARTS_WITH_MACHINE}"
    demo = _demo_swarm() if args.demo else None
    if args.json:
        print_json(Started(daemon().hello("potluck start").pid, demo.name if demo is not None else None))
        return 0
    terminal = Terminal(sys.stdout)
    terminal.line(words)
    if demo is not None:
        terminal.line(_words(demo))
    return 0


def _demo_swarm() -> _DemoSwarm:
    """The one that was made before, so that the command may be typed twice; else a new one."""
    known = [swarm for swarm in daemon().call(swarms.LIST).swarms if swarm.model == DEMO_MODEL and not swarm.is_open]
    if known:
        return _DemoSwarm(known[-1].name, False, known[-1].is_served)
    return _DemoSwarm(daemon().call(schema.CREATE).name, True, True)


def _words(demo: _DemoSwarm) -> str:
    if not demo.is_served:
        return f"The swarm {demo.name} is there; to serve it again: potluck config set serve.swarm {demo.name}"
    verb = "Started the swarm" if demo.is_new else "It serves the swarm"
    return f"{verb} {demo.name}. See: potluck status; invite others: potluck swarm invite {demo.name}"


def ensure_started() -> str:
    """Start the service if there is one, else a daemon of one's own; returns what was done, for people."""
    hello = hello_or_none()
    if hello is not None:
        return f"The daemon runs already as process {hello.pid}."
    if (unit := installed()) is not None:
        start_service(unit)
        return "Started the service potluckd."
    return f"Started the daemon as process {start_daemon().pid}. See: potluck status"
