"""The daemon's check or update: `python -m potluck_daemon.updates [--stage]` prints one JSON line for each step.

It is a process of its own, because TLS and a publisher's bytes have no place in the daemon. With --stage it also
fetches a newer version and unpacks it; the daemon then switches.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from potluck_control.methods.setup import Problem
from potluck_control.methods.updates import UpdateProgress
from potluck_control.places import find_places

from potluck.errors import PotluckError
from potluck.sentences import Sentence
from potluck_daemon.child import print_line
from potluck_daemon.settings.store import load
from potluck_daemon.updates.manifest import is_newer
from potluck_daemon.updates.notes import NotesFile, UpdateLine
from potluck_daemon.updates.update import ask_publisher, stage
from potluck_daemon.updates.versions import own_versions


def main() -> int:
    places, versions = find_places(), own_versions()
    settings, file = load(places.settings_file).settings.updates, NotesFile(places)
    try:
        with file.lock():
            offer = ask_publisher(settings, file, _tell_progress)
            if versions is not None and "--stage" in sys.argv and is_newer(offer.version, version("potluck")):
                stage(offer, settings.url, versions, _tell_progress)
    except PotluckError as error:
        print_line(UpdateLine(problem=Problem(error.sentence, error.advice)))
        return 1
    return 0


def _tell_progress(text: Sentence, done: int, total: int) -> None:
    print_line(UpdateLine(UpdateProgress(text, done, total)))


if __name__ == "__main__":
    sys.exit(main())
