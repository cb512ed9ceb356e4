"""`potluck diag`: one file with what somebody needs to help, without what is private."""

from __future__ import annotations

import argparse
import json
import os
import platform
import pwd
import socket
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from potluck.errors import PotluckError
from potluck_daemon import logs
from potluck_daemon.cli.connect import status_or_none
from potluck_daemon.cli.options import add_json, print_json
from potluck_daemon.cli.terminal import Terminal
from potluck_daemon.codec import to_json
from potluck_daemon.control.schema import Status
from potluck_daemon.doctor.checks import examine, read_scene
from potluck_daemon.doctor.finding import Scene
from potluck_daemon.history import HistoryFile
from potluck_daemon.redaction import Person, redact_person
from potluck_daemon.settings.places import Places, find_places
from potluck_daemon.settings.schema import entries
from potluck_daemon.settings.values import value_of

DESCRIPTION = """\
Write one file with versions, findings of `potluck doctor`, settings, status, history and the end of the log. Keys,
invites, addresses, names of people, machines and swarms, and home folders are taken out; prompts are in none of them.
History names programs that this machine gave way to. Look into the file before you send it."""
EXAMPLES = """\
  potluck diag
  potluck diag --output report.zip"""

_LOG_LINES = 2000
_TRANSITIONS = 200
_PACKAGES = ("potluck", "torch", "transformers", "hivemind", "psutil", "PySide6-Essentials")
_PRIVATE = ("serve.swarm", "serve.name", "serve.listen")  # settings that say who and where this is


@dataclass(frozen=True, slots=True)
class Bundle:
    """What was written."""

    file: str
    bytes: int


RESULT = Bundle


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="FILE", type=Path, help="(default: potluck-diag-DATE.zip here)")
    add_json(parser, "the name of the file")


def run(args: argparse.Namespace) -> int:
    path = args.output or Path(time.strftime("potluck-diag-%Y%m%d-%H%M%S.zip"))
    scene = read_scene(find_places(), status_or_none())
    parts = dict(contents(scene, this_person()))
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in parts.items():
                bundle.writestr(name, text)
    except OSError as error:
        raise PotluckError(f"cannot write {path}: {error.strerror}", hint="--output names another place") from error
    if args.json:
        print_json(Bundle(str(path), path.stat().st_size))
    else:
        Terminal(sys.stdout).line(f"Wrote {path}: {', '.join(parts)}. Look into it before you send it.")
    return 0


def contents(scene: Scene, person: Person) -> Iterator[tuple[str, str]]:
    """Names and texts of the files in the bundle; nothing private is in any of them."""
    words = _private_words(scene)
    for name, text in _texts(scene):
        yield name, redact_person(text, person, words)


def this_person() -> Person:
    return Person(pwd.getpwuid(os.getuid()).pw_name, str(Path.home()), socket.gethostname())


def _texts(scene: Scene) -> Iterator[tuple[str, str]]:
    yield "versions.json", _json(_versions())
    yield "doctor.json", _json(to_json(examine(scene)))
    settings = {entry.key: value_of(scene.loaded.settings, entry) for entry in entries() if entry.key not in _PRIVATE}
    notes = {"problems": scene.loaded.problems, "notices": scene.loaded.notices}
    yield "settings.json", _json(to_json({**settings, **notes}))
    if scene.status is not None:
        yield "status.json", _json(to_json(_public(scene.status)))
    yield "history.jsonl", "\n".join(_json(to_json(item), indent=None) for item in _history(scene.places))
    yield "log.txt", "\n".join(logs.tail(scene.places.log_file, _LOG_LINES))


def _public(status: Status) -> Status:
    swarm = status.swarm and replace(status.swarm, name="", peer_id=None)
    return replace(status, swarm=swarm)


def _private_words(scene: Scene) -> list[str]:
    words = [scene.swarm.name] if scene.swarm is not None else []
    serve = scene.loaded.settings.serve
    return [*words, *filter(None, (serve.swarm, serve.name))]


def _versions() -> dict[str, str]:
    found = {name: _version(name) for name in _PACKAGES}
    return {**found, "python": platform.python_version(), "system": platform.platform()}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _history(places: Places) -> tuple[Any, ...]:
    history = HistoryFile(places.history_file)
    history.load()
    return history.last(_TRANSITIONS)


def _json(value: object, indent: int | None = 2) -> str:
    return json.dumps(value, indent=indent, default=list)
