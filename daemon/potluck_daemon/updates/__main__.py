"""The daemon's check or update: `python -m potluck_daemon.updates [--stage]` prints one JSON line for each step.

It is a process of its own, because TLS and a publisher's bytes have no place in the daemon. With --stage it also
fetches a newer version and unpacks it; the daemon then switches.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

from potluck_control.places import find_places

from potluck_daemon.child_process import OnProgress, print_work
from potluck_daemon.settings.store import load_settings
from potluck_daemon.updates.manifest import is_newer
from potluck_daemon.updates.publisher import NotesFile
from potluck_daemon.updates.update import ask_publisher, stage
from potluck_daemon.updates.versions import own_versions


def main() -> int:
    places, versions = find_places(), own_versions()
    settings, file = load_settings(places.settings_file).settings.updates, NotesFile(places)

    def work(on_progress: OnProgress) -> None:
        with file.lock():
            offer = ask_publisher(settings, file, on_progress)
            if versions is not None and "--stage" in sys.argv and is_newer(offer.version, version("potluck")):
                stage(offer, settings.url, versions, on_progress)

    return print_work(work, places.state)


if __name__ == "__main__":
    sys.exit(main())
