"""Damages every kind of state file at random and counts what is lost without a word.

A trial makes all files of one kind, truncates, zeroes, flips or deletes one of them or its copy, and reads the state as
the product does. Different content is a loss unless an error or a notice tells of it. Zeroes and flipped bits keep the
file's time, as a failing disk does: a settings file that somebody wrote and that is valid is an edit.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from potluck_control.api.schema import HistoryParams, Transition
from potluck_control.places import Places
from potluck_control.states import Reason, State
from potluck_daemon.accounting.checked_database import close_checked, merge_log, open_checked
from potluck_daemon.accounting.tables import connect
from potluck_daemon.reporting.history import HistoryFile
from potluck_daemon.settings.state import Pause, StateFile
from potluck_daemon.settings.store import SettingsStore
from potluck_daemon.updates.publisher import KnownPublisher, NotesFile, UpdateNotes

from benchmarks.figures import Measured, figure
from potluck.checked_files import copy_of, damage_notices
from potluck.errors import PotluckError
from potluck.membership.identity import Identity
from potluck.membership.joined import JoinedSwarms
from potluck.protocol.swarm import Swarm
from potluck.sentences import verbatim

_TRIALS = 500  # damages of each kind
_NOW = 1.7e9
_SETTINGS = """# What this computer gives.
version = 2

[serve]
enabled = false  # not this month
threads = 2

[limits]
ram_mb = 4096

[yield]
full_screen = true
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of state. `read` returns the content and whether it told of damage; it may raise PotluckError."""

    name: str
    file: Callable[[Places], Path]
    make: Callable[[Places], None]
    read: Callable[[Places], tuple[object, bool]]
    copy: Callable[[Places], Path] | None = None


@figure("damage", unit="losses", reach=0, shown=True)
def lost(soak: bool) -> Measured:
    """Of 500 random damages (truncate, zero, flip, delete) to each of 8 kinds of state: losses without a word."""
    told, silent = Counter[str](), Counter[str]()
    logging.disable(logging.WARNING)  # a line for each repair
    rng, trials = random.Random(15), _TRIALS * (4 if soak else 1)
    with _folder() as folder:
        for kind in KINDS:
            made = folder / kind.name
            kind.make(_places(made))
            wanted = _read(kind, _places(made), folder / "first")[0]
            for _ in range(trials):
                places = _places(folder / "trial")
                shutil.copytree(made, folder / "trial")
                what = _damage(kind, places, rng)
                found, is_told = _read(kind, places, None)
                if found != wanted:
                    (told if is_told else silent)[f"{kind.name}, {what}"] += 1
                shutil.rmtree(folder / "trial")
    detail = {"kinds": len(KINDS), "trials": trials, "silent": dict(silent), "told": told.total()}
    return Measured(silent.total(), detail)


def _read(kind: Kind, places: Places, copy: Path | None) -> tuple[object, bool]:
    """Read the state, of a copy of the folder if `copy` names one."""
    if copy is not None:
        shutil.copytree(places.config, copy)
        places = _places(copy)
    try:
        found, is_told = kind.read(places)
    except PotluckError:
        return None, True
    finally:
        if copy is not None:
            shutil.rmtree(copy)
    return found, is_told or any(damage_notices((places.state,), time.time()))


def _damage(kind: Kind, places: Places, rng: random.Random) -> str:
    """Damage the file, or now and then its copy, and return what was done."""
    is_copy = rng.random() < 0.2
    path = (kind.copy or (lambda places: copy_of(kind.file(places))))(places) if is_copy else kind.file(places)
    return f"{'copy' if is_copy else 'file'} {damage(path, rng)}"


def damage(path: Path, rng: random.Random) -> str:
    """Truncate, zero, flip a bit of or delete a file that is not empty, and return which. The file's time stays."""
    times, size = path.stat(), path.stat().st_size
    how = rng.choice(("truncated", "zeroed", "flipped", "deleted"))
    match how:
        case "truncated":
            os.truncate(path, rng.randrange(size))
        case "deleted":
            path.unlink()
        case "zeroed" | "flipped":
            start = rng.randrange(size)
            with path.open("r+b") as file:
                file.seek(start)
                byte = file.read(1)[0] ^ 1 << rng.randrange(8)
                file.seek(0 if how == "zeroed" else start)
                file.write(bytes(size) if how == "zeroed" else bytes([byte]))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return how


# --- the kinds of state ----------------------------------------------------------------------------------------------


def _make_settings(places: Places) -> None:
    places.settings_file.write_text(_SETTINGS)
    os.utime(places.settings_file, (0, 0))
    SettingsStore(places, {}).read()


def _read_settings(places: Places) -> tuple[object, bool]:
    loaded = SettingsStore(places, {}).read()
    return loaded.settings, bool(loaded.problems or loaded.notices)


def _make_swarms(places: Places) -> None:
    for name in ("friends", "home"):
        JoinedSwarms(places.swarms_file, places.identity_file).create(Swarm(name, "model", 12, name))


def _make_state(places: Places) -> None:
    file = StateFile(places.state_file)
    file.state = replace(file.state, pause=Pause(_NOW), port=31337)
    file.save()


def _read_state(places: Places) -> tuple[object, bool]:
    file = StateFile(places.state_file)
    notice = file.load()
    return file.state, notice is not None


def _make_notes(places: Places) -> None:
    file = NotesFile(places)
    with file.lock():
        file.write(UpdateNotes(KnownPublisher("anchor", "key", "next", 7, "0.2.0", ("faster",)), 1.0, 2.0))


def _read_notes(places: Places) -> tuple[object, bool]:
    with NotesFile(places).lock() as notes:
        return notes, False


def _make_ledger(places: Places) -> None:
    """Leave a settled file, and a log as a killed daemon does."""
    work = _places(places.state / "work")
    database = open_checked(work.ledger_file, connect)
    rows = [(bytes([number]) * 16, f"model {number}") for number in range(200)]
    database.executemany("INSERT INTO model VALUES (?, ?)", rows[:180])
    merge_log(database, work.ledger_file)
    database.executemany("INSERT INTO model VALUES (?, ?)", rows[180:])
    for file in work.state.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copy2(file, places.state)
    database.close()
    shutil.rmtree(work.state)


def _read_ledger(places: Places) -> tuple[object, bool]:
    try:
        database = open_checked(places.ledger_file, connect)
        found = list(database.iterdump())
    except sqlite3.Error:
        return None, True
    close_checked(database, places.ledger_file)
    return found, False


def _make_history(places: Places) -> None:
    history = HistoryFile(places.history_file)
    for number in range(50):
        history.append(Transition(_NOW + number, State.IDLE, State.SERVING, Reason.NONE, verbatim(f"number {number}")))


def _read_history(places: Places) -> tuple[object, bool]:
    history = HistoryFile(places.history_file)
    history.load()
    return history.find(HistoryParams(limit=1000)), False


KINDS = (
    Kind(
        *("settings", lambda places: places.settings_file, _make_settings, _read_settings),
        copy=lambda places: places.accepted_settings_file,
    ),
    Kind(
        *("swarms", lambda places: places.swarms_file, _make_swarms),
        lambda places: (JoinedSwarms(places.swarms_file).load(), False),
    ),
    Kind("state", lambda places: places.state_file, _make_state, _read_state),
    Kind(
        *("identity", lambda places: places.identity_file),
        lambda places: _known(Identity.load_or_create(places.identity_file)),
        lambda places: (Identity.load_or_create(places.identity_file).peer_id, False),
    ),
    Kind("updates", lambda places: places.state / "updates.json", _make_notes, _read_notes),
    Kind("ledger", lambda places: places.ledger_file, _make_ledger, _read_ledger),
    Kind("history", lambda places: places.history_file, _make_history, _read_history),
)


def _known(_: object) -> None:
    """Make a file, of whose content nothing is needed now."""


def _places(folder: Path) -> Places:
    if not folder.exists() and folder.name != "trial":
        folder.mkdir()
    return Places(folder, folder, folder, folder)


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder in memory if possible, because thousands of writes wait for the disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)
