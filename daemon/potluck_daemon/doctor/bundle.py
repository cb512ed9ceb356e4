"""Writes the bundle for somebody who helps: everything that explains this machine's problems, and nothing private."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import pwd
import re
import socket
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from potluck_control.api.schema import HistoryParams
from potluck_control.logs import log_tail, redact
from potluck_control.methods.health import Bundle
from potluck_control.settings import entries, value_of

from potluck.errors import PotluckError
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.codec import encode, readable
from potluck.sentences import sentence
from potluck_daemon.doctor.checks import examine
from potluck_daemon.doctor.finding import Scene
from potluck_daemon.reporting.history import HistoryFile

_LOG_LINES = 2000
_TRANSITIONS = 200
_PACKAGES = ("potluck", "torch", "transformers", "hivemind", "psutil", "PySide6-Essentials")


def create_bundle(path: Path, *, replaces: bool) -> int:
    """Open the file for `fill_bundle`. Raises PotluckError if it exists, and OSError."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if replaces else os.O_EXCL), 0o600)
    except FileExistsError:
        raise PotluckError(
            sentence("there is a file {path} already", path=str(path)), hint=sentence("choose another name")
        ) from None


def fill_bundle(handle: int, path: Path, scene: Scene, own_words: Iterable[str]) -> Bundle:
    """Write the bundle to an open file, and close it. `own_words`: see `words_of_person`. Raises OSError."""
    packed = io.BytesIO()  # pack in memory: the place may be a device or a pipe without seek
    words = {*own_words, *_private_words(scene)}
    with os.fdopen(handle, "wb") as file:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in _texts(scene):
                bundle.writestr(name, redact_words(text, words))
        file.write(packed.getbuffer())
    return Bundle(str(path), packed.tell(), tuple(bundle.namelist()))


def words_of_person() -> tuple[str, ...]:
    """Return words that name the user and the machine. In a container, the user may have no entry."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_name, str(Path.home()), socket.gethostname()
    return os.environ.get("HOME", ""), socket.gethostname()


def _texts(scene: Scene) -> Iterator[tuple[str, str]]:
    yield "versions.json", readable(_versions())
    yield "doctor.json", readable(list(examine(scene)))
    settings = {entry.key: value_of(scene.loaded.settings, entry) for entry in entries() if not entry.is_private}
    notes = {"problems": scene.loaded.problems, "notices": scene.loaded.notices}
    yield "settings.json", readable({**settings, **notes})
    if scene.status is not None:
        yield "status.json", readable(scene.status)
    history = HistoryFile(scene.places.history_file)
    history.load()
    yield "history.jsonl", "\n".join(encode(item).decode() for item in history.find(HistoryParams(_TRANSITIONS)))
    yield "log.txt", "\n".join(log_tail(scene.places.log_file, _LOG_LINES))


def _private_words(scene: Scene) -> list[str]:
    served = scene.status.swarm if scene.status is not None else None  # the file may be damaged
    words = [swarm.name for swarm in (scene.swarm, served) if swarm is not None]
    serve, chosen = scene.loaded.settings.serve, JoinedSwarms(scene.places.swarms_file).names()
    return [*words, *filter(None, (serve.swarm, serve.name, chosen.person, chosen.computer))]


def _versions() -> dict[str, str]:
    found = {each.name: each.version for each in distributions() if each.name in _PACKAGES}
    return {**found, "python": platform.python_version(), "system": platform.platform()}


def redact_words(text: str, words: Iterable[str]) -> str:
    """Return the text without secrets, home folders and the private `words`; words of one letter stay."""
    text = re.sub(r"/(home|Users)/[^/\s'\",:]+", "~", redact(text))
    for word in sorted(words, key=len, reverse=True):
        if len(word) > 1:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])", "[name]", text)
    return text
