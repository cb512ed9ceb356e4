"""`potluck diag`: writes one file that helps others to help you, without private data.

Write one file with versions, the findings of `potluck doctor`, settings, status, history and the end of the log. Keys,
invites, addresses, home folders and the names of people, machines and swarms are removed. Prompts are never in it. The
history names programs that Potluck stepped aside for. Check the file before you send it.

  potluck diag
  potluck diag --output report.zip
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from potluck_control.methods.health import Bundle
from potluck_control.places import find_places
from potluck_daemon.doctor.bundle import create_bundle, fill_bundle, words_of_person
from potluck_daemon.doctor.checks import read_scene
from potluck_daemon.host.owner import drop_root

from potluck_cli.daemon_access import status_or_reason
from potluck_cli.options import print_result
from potluck_cli.terminal import WaitNotice

RESULT = Bundle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", type=Path, help="default: potluck-diag-DATE.zip here")


def run(args: argparse.Namespace) -> int:
    path = args.output or Path(time.strftime("potluck-diag-%Y%m%d-%H%M%S.zip"))
    places, found, words = find_places(), status_or_reason(), words_of_person()
    handle = create_bundle(path, replaces=True)
    drop_root(places)  # root owns the file; its contents are read as the service's user
    with WaitNotice("Checking this machine", 5):
        written = fill_bundle(handle, path, read_scene(places, found), words)
    return print_result(args, written, [f"Wrote {path}: {', '.join(written.parts)}. Check it before you send it."])
