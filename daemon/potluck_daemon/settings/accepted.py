"""The settings that are obeyed: the file's, or those before it while the file has a mistake.

The last file without a mistake is kept beside the state, so that a mistake does not bring back defaults at the next
start either: somebody who switched serving off must not serve because of a typing error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from potluck.files import write_atomically
from potluck_daemon.settings.schema import Settings
from potluck_daemon.settings.store import Loaded, load, parse, take_back

log = logging.getLogger(__name__)


class AcceptedSettings:
    """Owned by the daemon; `read()` whenever the file may have changed."""

    def __init__(self, path: Path, copy: Path, environment: Mapping[str, str]) -> None:
        self._path = path
        self._copy = copy
        self._environment = environment
        self._obeyed: Settings | None = None
        self._taken_back = ""

    def take_back(self) -> None:
        """Once, before the first reading: after a way back from a newer Potluck its file is understood by this one."""
        try:
            self._taken_back = take_back(self._path)
        except OSError as error:
            log.warning("%s of a newer version cannot be taken back: %s", self._path, error.strerror)

    def read(self) -> Loaded:
        """Settings to obey, and what is wrong with the file. Never raises."""
        loaded = load(self._path, self._environment)
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
        """What an earlier daemon obeyed."""
        try:
            loaded = parse(self._copy.read_bytes(), self._copy.name, self._environment)
        except OSError:
            return None
        return loaded.settings if loaded.is_valid else None

    def _keep(self, data: bytes) -> None:
        try:
            if not self._copy.exists() or self._copy.read_bytes() != data:
                write_atomically(self._copy, data)
        except OSError as error:
            log.warning("cannot keep a copy of the settings in %s: %s", self._copy, error.strerror)
