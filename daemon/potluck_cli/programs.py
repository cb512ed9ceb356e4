"""`potluck programs`: which programs the machine is given back for."""

from __future__ import annotations

import argparse
import sys

from potluck_control.formatting import size
from potluck_control.methods import programs
from potluck_control.methods.programs import PlacedProgram, PlaceParams, ProgramPlace, Programs

from potluck.errors import UsageError
from potluck_cli.connect import daemon
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Style, Terminal, table

DESCRIPTION = """\
Programs that run now and the two lists: what the machine is always given back for while it runs, and what never.
Everything else is judged by what it does. `potluck history` tells what was given way to."""
EXAMPLES = """\
  potluck programs list
  potluck programs always blender
  potluck programs never mpv
  potluck programs judge mpv            take it off the lists again"""
RESULT = {"list": Programs, "always": PlacedProgram, "never": PlacedProgram, "judge": PlacedProgram}

_PLACES = {"always": ProgramPlace.ALWAYS, "never": ProgramPlace.NEVER, "judge": ProgramPlace.NONE}
_SHOWN = {ProgramPlace.ALWAYS: "always", ProgramPlace.NEVER: "never"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    add_json(actions.add_parser("list", help="programs that run, and the lists"), "the programs")
    for name, summary in (
        ("always", "give way whenever it runs"),
        ("never", "never give way to it"),
        ("judge", "take it off both lists: what it does decides"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("app", metavar="PROGRAM", help="the executable's name, as `list` shows it")
        add_json(action, "where it stands now, and where it stood")


def run(args: argparse.Namespace) -> int:
    terminal = Terminal(sys.stdout)
    if args.action == "list":
        found = daemon().call(programs.RUNNING)
        if args.json:
            print_json(found)
        else:
            _show(found, terminal)
        return 0
    try:
        params = PlaceParams(args.app, _PLACES[args.action])
    except ValueError as error:
        raise UsageError(str(error), hint="potluck programs list shows names") from None
    done = daemon().call(programs.PLACE, params)
    if args.json:
        print_json(done)
        return 0
    undo = next(name for name, place in _PLACES.items() if place is done.before)
    how = {"always": "always given way to", "never": "never given way to", "judge": "judged by what it does"}
    taken_back = f" Undo: potluck programs {undo} {done.app}" if done.before is not done.place else ""
    terminal.line(f"{done.app} is {how[args.action]}.{taken_back}")
    return 0


def _show(found: Programs, terminal: Terminal) -> None:
    rows = [(item.app, item.title, size(item.memory_bytes), _SHOWN.get(item.place, "")) for item in found.running]
    running = {item.app for item in found.running}
    for place, apps in ((ProgramPlace.ALWAYS, found.always), (ProgramPlace.NEVER, found.never)):
        rows += [(app, "(does not run)", "", _SHOWN[place]) for app in apps if app.lower() not in running]
    heading, *lines = table(("PROGRAM", "TITLE", "MEMORY", "GIVE WAY"), rows)
    terminal.line(terminal.styled(heading, Style.BOLD))
    for line in lines:
        terminal.line(line)
