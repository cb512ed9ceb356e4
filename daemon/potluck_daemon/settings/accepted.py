"""Decides which settings are in force: those of the file, or the earlier ones while the file has a mistake.

The last file without a mistake is kept beside the state, so that a mistake does not bring back the defaults at the next
start. Somebody who switched serving off must not serve because of a typo. A file that had settings and is now empty or
gone counts as damaged, for example by a full disk or a power cut.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from potluck_control.places import Places

from potluck.files import write_atomically
from potluck_daemon.settings.owner import files_as_owner
from potluck_daemon.settings.schema import SETTINGS_VERSION, Settings
from potluck_daemon.settings.store import Loaded, load, parse, take_back

log = logging.getLogger(__name__)


class AcceptedSettings:
    """The settings in force. Call `read` whenever the file may have changed."""

    def __init__(self, path: Path, copy: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._copy = copy
        self._environment = environment
        self._obeyed: Settings | None = None
        self._taken_back = ""

    def take_back(self) -> None:
        """Make a newer Potluck's file readable after a downgrade. Call it once, before the first `read`."""
        try:
            self._taken_back = take_back(self._path)
        except OSError as error:
            log.warning("%s of a newer version cannot be taken back: %s", self._path, error.strerror)

    def read(self) -> Loaded:
        """Return the settings in force, with what is wrong with the file. Never raises."""
        loaded = load(self._path, self._environment)
        if loaded.is_valid and not loaded.data.strip() and self._kept().strip():
            problem = f"{self._path} is empty or missing; `version = {SETTINGS_VERSION}` in it would mean the defaults"
            loaded = replace(loaded, problems=(problem,))
        if loaded.is_valid:
            self._keep(loaded.data)
            self._obeyed = loaded.settings
            notices = filter(None, (*loaded.notices, self._taken_back))
            return replace(loaded, notices=tuple(notices))
        obeyed = self._obeyed or self._earlier()
        if obeyed is None:
            return replace(loaded, problems=(*loaded.problems, "the defaults hold where the file cannot be obeyed"))
        return Loaded(obeyed, (*loaded.problems, "the settings before this mistake stay in force"), loaded.notices)

    def _earlier(self) -> Settings | None:
        """Return the settings that were in force in an earlier daemon."""
        if not (data := self._kept()):
            return None
        loaded = parse(data, self._copy.name, self._environment)
        return loaded.settings if loaded.is_valid else None

    def _kept(self) -> bytes:
        try:
            return self._copy.read_bytes()
        except OSError:
            return b""

    def _keep(self, data: bytes) -> None:
        try:
            if self._kept() != data:
                write_atomically(self._copy, data)
        except OSError as error:
            log.warning("cannot keep a copy of the settings in %s: %s", self._copy, error.strerror)


def accepted_data(places: Places) -> bytes:
    """Return the last settings file without a mistake; empty if there is none or it cannot be read."""
    try:
        with files_as_owner(places):
            return places.accepted_settings_file.read_bytes()
    except OSError:
        return b""
