"""Decides which settings are in force: those of the file, or the earlier ones while the file has a mistake.

The last file without a mistake is kept as a checked copy beside the state, so that a mistake does not bring back the
defaults at the next start. Somebody who switched serving off must not serve because of a typo. People edit this file,
so a file that differs from the copy is an edit, unless damage shows: it is empty or gone, it breaks off within a line,
or its content changed while its time of change stayed the same.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from potluck_control.places import Places
from potluck_control.settings import SETTINGS_VERSION, Settings

from potluck.checked_files import read_copy, repair, write_copy
from potluck_daemon.settings.owner import files_as_owner, owner_of
from potluck_daemon.settings.store import Loaded, change, keys_in, load, parse, take_back

log = logging.getLogger(__name__)

_CLOCK_S = 1.0  # file systems may not tell two changes within this time apart


class AcceptedSettings:
    """The settings in force. Call `read` whenever the file may have changed."""

    def __init__(self, path: Path, copy: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._copy = copy
        self._environment = environment
        self._obeyed: Settings | None = None
        self._taken_back = ""
        self._lost = ""

    def take_back(self) -> None:
        """Make a newer Potluck's file readable after a downgrade. Call it once, before the first `read`."""
        try:
            self._taken_back = take_back(self._path)
        except OSError as error:
            log.warning("%s of a newer version cannot be taken back: %s", self._path, error.strerror)

    def read(self) -> Loaded:
        """Return the settings in force, with what is wrong with the file. Never raises."""
        kept = read_copy(self._copy) or b""
        loaded = self._load(kept)
        if loaded.is_valid:
            if loaded.data != kept:
                self._lost = _lost(self._path.name, loaded.data, kept)
            _keep(self._copy, self._path, loaded.data)
            self._obeyed = loaded.settings
            return replace(loaded, notices=tuple(filter(None, (*loaded.notices, self._taken_back, self._lost))))
        obeyed = self._obeyed or self._earlier(kept)
        if obeyed is None:
            return replace(loaded, problems=(*loaded.problems, "the defaults hold where the file cannot be obeyed"))
        return Loaded(obeyed, (*loaded.problems, "the settings before this mistake stay in force"), loaded.notices)

    def _load(self, kept: bytes) -> Loaded:
        """Read the file; damage counts as a mistake. Repair a file that nobody has written to but that has changed."""
        loaded = load(self._path, self._environment)
        if not kept.strip() or loaded.data == kept:
            return loaded
        if self._has_rotted():
            try:
                repair(self._path, lambda file: file.write(kept), mode=self._path.stat().st_mode & 0o777)
                return load(self._path, self._environment)
            except OSError:
                return replace(loaded, problems=(f"{self._path} was damaged and cannot be repaired", *loaded.problems))
        if not loaded.is_valid:
            return loaded
        if not loaded.data.strip():
            problem = f"{self._path} is empty or missing; `version = {SETTINGS_VERSION}` in it would mean the defaults"
            return replace(loaded, problems=(problem,))
        if kept.startswith(loaded.data) and not loaded.data.endswith(b"\n"):
            return replace(loaded, problems=(f"{self._path} breaks off in the middle of a line",))
        return loaded

    def _has_rotted(self) -> bool:
        """Return whether the content has changed, but not the file's time, which each writer sets."""
        try:
            file, copy = self._path.stat(), self._copy.stat()
        except OSError:
            return False
        return file.st_mtime_ns == copy.st_mtime_ns and copy.st_ctime > file.st_mtime + _CLOCK_S

    def _earlier(self, kept: bytes) -> Settings | None:
        """Return the settings that were in force in an earlier daemon."""
        loaded = parse(kept, self._copy.name, self._environment)
        return loaded.settings if kept and loaded.is_valid else None


def change_settings(places: Places, values: Mapping[str, object]) -> dict[str, Any]:
    """Change settings in the file, which begins with those in force if it is empty, and keep a copy.

    Return what the file had before, which undoes the change.

    Raises:
        UsageError: a setting is unknown, a value is wrong, or only a person can mend the file.
        OSError: the file cannot be written, and is unchanged.
    """
    before = change(places.settings_file, values, earlier=accepted_data(places))
    accept(places)
    return before


def accept(places: Places) -> None:
    """Keep a copy of a settings file that was changed on purpose, if it has no mistake."""
    loaded = load(places.settings_file, {})
    if loaded.is_valid:
        with files_as_owner(places):
            _keep(places.accepted_settings_file, places.settings_file, loaded.data)


def accepted_data(places: Places) -> bytes:
    """Return the last settings file without a mistake; empty if there is none or it cannot be read.

    Root takes nothing over that the service's user could have written: the settings name whose programs root installs.
    """
    return (read_copy(places.accepted_settings_file) or b"") if owner_of(places) is None else b""


def _keep(copy: Path, path: Path, data: bytes) -> None:
    """Make the copy hold `data` and have the time of the file, by which damage is told from edits."""
    try:
        if (read_copy(copy) or b"") != data:
            write_copy(copy, data)
        if data:
            time_ns = path.stat().st_mtime_ns
            os.utime(copy, ns=(time_ns, time_ns))
    except OSError as error:
        log.warning("cannot keep a copy of the settings in %s: %s", copy, error.strerror)


def _lost(name: str, data: bytes, kept: bytes) -> str:
    """Return a notice for a file that has lost its end, as a full disk leaves it; empty if it has not. Pure."""
    gone = sorted(keys_in(kept) - keys_in(data)) if kept.startswith(data) else []
    return f"{name} has lost its last lines; back to the default: {', '.join(gone)}" if gone else ""
