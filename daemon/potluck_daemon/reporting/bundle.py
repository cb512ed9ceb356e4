"""Writes the bundle for somebody who helps: all that explains this machine's problems, without anything private."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import pwd
import socket
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from msgspec import structs
from potluck_control.log_tail import tail
from potluck_control.methods.health import Bundle
from potluck_control.places import Places
from potluck_control.schema import Status
from potluck_control.settings import entries, value_of

from potluck.errors import PotluckError
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.codec import encode, readable
from potluck.sentences import sentence
from potluck_daemon.doctor.checks import examine
from potluck_daemon.doctor.finding import Scene
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.reporting.own_names import OwnNames, redact_person

_LOG_LINES = 2000
_TRANSITIONS = 200
_PACKAGES = ("potluck", "torch", "transformers", "hivemind", "psutil", "PySide6-Essentials")


def write_bundle(path: Path, scene: Scene, person: OwnNames, *, replaces: bool) -> Bundle:
    """Write the bundle, which only this user can read. Raises as `create_bundle`."""
    return fill_bundle(create_bundle(path, replaces=replaces), path, scene, person)


def create_bundle(path: Path, *, replaces: bool) -> int:
    """Open the file for `fill_bundle`. Raises PotluckError if it exists, and OSError."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replaces else os.O_EXCL), 0o600)
    except FileExistsError:
        raise PotluckError(
            sentence("there is a file {path} already", path=str(path)), hint=sentence("choose another name")
        ) from None


def fill_bundle(handle: int, path: Path, scene: Scene, person: OwnNames) -> Bundle:
    """Write the bundle to an open file, and close it. Raises OSError."""
    packed = io.BytesIO()  # pack in memory: the place may be a device or a pipe without seek
    with os.fdopen(handle, "wb") as file:
        parts = dict(contents(scene, person))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in parts.items():
                bundle.writestr(name, text)
        file.write(packed.getbuffer())
    return Bundle(str(path), packed.tell(), tuple(parts))


def contents(scene: Scene, person: OwnNames) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the files in the bundle, without anything private."""
    words = _private_words(scene)
    for name, text in _texts(scene):
        yield name, redact_person(text, person, words)


def this_person() -> OwnNames:
    with contextlib.suppress(KeyError):  # in a container, the user may have no entry
        return OwnNames(pwd.getpwuid(os.getuid()).pw_name, str(Path.home()), socket.gethostname())
    return OwnNames("", os.environ.get("HOME", ""), socket.gethostname())


def _texts(scene: Scene) -> Iterator[tuple[str, str]]:
    yield "versions.json", readable(_versions())
    yield "doctor.json", readable(examine(scene))
    settings = {entry.key: value_of(scene.loaded.settings, entry) for entry in entries() if not entry.is_private}
    notes = {"problems": scene.loaded.problems, "notices": scene.loaded.notices}
    yield "settings.json", readable({**settings, **notes})
    if scene.status is not None:
        yield "status.json", readable(_public(scene.status))
    yield "history.jsonl", "\n".join(encode(item).decode() for item in _history(scene.places))
    yield "log.txt", "\n".join(tail(scene.places.log_file, _LOG_LINES))


def _public(status: Status) -> Status:
    swarm = status.swarm and structs.replace(status.swarm, name="", peer_id=None)
    return structs.replace(status, swarm=swarm)


def _private_words(scene: Scene) -> list[str]:
    words = [scene.swarm.name] if scene.swarm is not None else []
    serve, chosen = scene.loaded.settings.serve, JoinedSwarms(scene.places.swarms_file).names()
    return [*words, *filter(None, (serve.swarm, serve.name, chosen.person, chosen.computer))]


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
