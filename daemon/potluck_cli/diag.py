"""`potluck diag`: one file with what somebody needs to help, without what is private."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from potluck_control.methods.health import Bundle
from potluck_control.places import find_places
from potluck_daemon.doctor.checks import read_scene
from potluck_daemon.reporting.bundle import create_bundle, fill_bundle, this_person
from potluck_daemon.settings.owner import drop_root

from potluck_cli.connect import status_or_none
from potluck_cli.options import add_json, print_json
from potluck_cli.terminal import Terminal

DESCRIPTION = """\
Write one file with versions, findings of `potluck doctor`, settings, status, history and the end of the log. Keys,
invites, addresses, names of people, machines and swarms, and home folders are taken out; prompts are in none of them.
History names programs that this machine gave way to. Look into the file before you send it."""
EXAMPLES = """\
  potluck diag
  potluck diag --output report.zip"""

RESULT = Bundle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", type=Path, help="(default: potluck-diag-DATE.zip here)")
    add_json(parser, "the name of the file")


def run(args: argparse.Namespace) -> int:
    path = args.output or Path(time.strftime("potluck-diag-%Y%m%d-%H%M%S.zip"))
    places, status, person = find_places(), status_or_none(), this_person()
    handle = create_bundle(path, replaces=True)
    drop_root(places)  # the file is root's, what goes into it is read and run as the service's user
    written = fill_bundle(handle, path, read_scene(places, status), person)
    if args.json:
        print_json(written)
    else:
        Terminal(sys.stdout).line(f"Wrote {path}: {', '.join(written.parts)}. Look into it before you send it.")
    return 0
