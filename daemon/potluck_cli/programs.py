"""`potluck programs`: chooses the programs that Potluck steps aside for."""

from __future__ import annotations

import argparse
import shlex

from potluck_control import schema
from potluck_control.methods import programs
from potluck_control.methods.programs import PlacedProgram, PlaceParams, ProgramPlace, Programs

from potluck.errors import UsageError
from potluck.formatting import size
from potluck_cli.connect import daemon
from potluck_cli.options import answer
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
List running programs, and choose those that Potluck always or never steps aside for. It judges all others by what they
do. Where it is not sure, `list` asks whether a program is a game: answer with `always` or `never`. `potluck history`
tells what it stepped aside for."""
EXAMPLES = """\
  potluck programs list
  potluck programs always blender
  potluck programs never mpv
  potluck programs judge mpv            remove it from both lists"""
RESULT = {"list": Programs, "always": PlacedProgram, "never": PlacedProgram, "judge": PlacedProgram}

_PLACES = {"always": ProgramPlace.ALWAYS, "never": ProgramPlace.NEVER, "judge": ProgramPlace.NONE}
_SHOWN = {ProgramPlace.ALWAYS: "always", ProgramPlace.NEVER: "never"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    actions.add_parser("list", help="running programs, and both lists")
    for name, summary in (
        ("always", "always step aside while it runs"),
        ("never", "never step aside for it"),
        ("judge", "remove it from both lists, and judge it by what it does"),
    ):
        action = actions.add_parser(name, help=summary)
        action.add_argument("app", metavar="PROGRAM", help="the executable's name, as `list` shows it")


def run(args: argparse.Namespace) -> int:
    if args.action == "list":
        found = daemon().call(programs.RUNNING)
        return answer(args, found, _page(found) + _questions(daemon().call(schema.STATUS)))
    try:
        params = PlaceParams(args.app, _PLACES[args.action])
    except ValueError as error:
        raise UsageError(str(error), hint="potluck programs list shows names") from None
    done = daemon().call(programs.PLACE, params)
    undo = next(name for name, place in _PLACES.items() if place is done.before)
    how = {"always": "always steps aside for", "never": "never steps aside for", "judge": "itself judges"}
    reverse = f" Undo: potluck programs {undo} {done.app}" if done.before is not done.place else ""
    return answer(args, done, [f"Potluck {how[args.action]} {done.app}.{reverse}"])


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
