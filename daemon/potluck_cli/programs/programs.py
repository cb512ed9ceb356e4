"""`potluck programs`: chooses the programs that Potluck steps aside for.

List running programs, and choose those that Potluck always or never steps aside for. It judges all others by what they
do. Where it is not sure, `list` asks whether a program is a game: answer with `always` or `never`. `potluck history`
tells what it stepped aside for.

  potluck programs list
  potluck programs always blender
  potluck programs never mpv
  potluck programs judge mpv            remove it from both lists
"""

from __future__ import annotations

import argparse
import shlex

from potluck_control.api import schema
from potluck_control.methods import machine
from potluck_control.methods.machine import PlacedProgram, PlaceParams, ProgramPlace, Programs

from potluck.errors import UsageError
from potluck.formatting import size
from potluck_cli.daemon_access import daemon
from potluck_cli.options import print_result
from potluck_cli.parser import CommandGroup, Subcommand, argument
from potluck_cli.terminal import Terminal

_PLACES = {"always": ProgramPlace.ALWAYS, "never": ProgramPlace.NEVER, "judge": ProgramPlace.NONE}
_SHOWN = {ProgramPlace.ALWAYS: "always", ProgramPlace.NEVER: "never"}


def _list(args: argparse.Namespace) -> int:
    """List running programs and those on your two lists."""
    found = daemon().call(machine.PROGRAMS)
    return print_result(args, found, _page(found) + _questions(daemon().call(schema.STATUS)))


def _place(args: argparse.Namespace) -> int:
    try:
        params = PlaceParams(args.app, _PLACES[args.action])
    except ValueError as error:
        raise UsageError(str(error), hint="potluck programs list shows names") from None
    done = daemon().call(machine.PLACE_PROGRAM, params)
    undo = next(name for name, place in _PLACES.items() if place is done.before)
    said = {
        "always": f"Potluck always steps aside for {done.app}.",
        "never": f"Potluck never steps aside for {done.app}.",
        "judge": f"Potluck judges {done.app} by what it does.",
    }[args.action]
    reverse = f" Undo: potluck programs {undo} {done.app}" if done.before is not done.place else ""
    return print_result(args, done, [said + reverse])


def _questions(status: schema.Status) -> list[str]:
    return [
        f"Is {item.title} a game? potluck programs always {shlex.quote(item.app)} "
        f"or: potluck programs never {shlex.quote(item.app)}"
        for item in status.questions
    ]


def _page(found: Programs) -> list[str]:
    rows = [(item.app, item.title, size(item.memory_bytes), _SHOWN.get(item.place, "")) for item in found.running]
    running = {item.app for item in found.running}
    for place, apps in ((ProgramPlace.ALWAYS, found.always), (ProgramPlace.NEVER, found.never)):
        rows += [(app, "(not running)", "", _SHOWN[place]) for app in apps if app.lower() not in running]
    return Terminal().table(("PROGRAM", "TITLE", "MEMORY", "STEP ASIDE"), rows)


_PROGRAM = argument("app", metavar="PROGRAM", help="the executable's name, as `list` shows it")
_ACTIONS = {
    "list": Subcommand(_list, Programs),
    "always": Subcommand(_place, PlacedProgram, _PROGRAM, summary="always step aside while it runs"),
    "never": Subcommand(_place, PlacedProgram, _PROGRAM, summary="never step aside for it"),
    "judge": Subcommand(
        _place, PlacedProgram, _PROGRAM, summary="remove it from both lists, and judge it by what it does"
    ),
}
COMMANDS = {"programs": CommandGroup(__doc__, _ACTIONS)}
