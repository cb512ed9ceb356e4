"""Reads and changes the settings file, and decides which settings are in force.

A mistake in the file is named with its line, and never keeps the daemon from starting: the settings of the last file
without a mistake stay in force, so that a typo doesn't change whether somebody serves. A checked backup of that file
lies beside the state. People edit the file, so a valid file that differs from the backup counts as an edit, unless it
shows damage: it is empty or gone, it breaks off within a line, or its content changed while its time of change stayed
the same. Changes keep comments, order, and what only a newer version knows.
"""

from __future__ import annotations

import logging
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from potluck_control.places import Places
from potluck_control.settings import SETTINGS_VERSION, SettingEntry, Settings, entries, value_of, with_value

from potluck.checked_files import read_copy, repair, write_copy
from potluck.errors import PotluckError, UsageError
from potluck.files import write_atomically
from potluck.locks import locked_folder
from potluck.sentences import Sentence, sentence
from potluck_daemon.host.owner import files_as_owner, owner_of
from potluck_daemon.settings.values import FALSE, convert, entry_of, similar

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

log = logging.getLogger(__name__)

EDIT_HINT = sentence("correct it with: potluck config edit")
_ENCODING = "utf-8-sig"  # editors of Windows put a byte order mark before the text
_CLOCK_S = 1.0  # file systems may not tell two changes within this time apart


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings in force, or those of one file, where a setting with a mistake has its default."""

    settings: Settings
    problems: tuple[Sentence, ...] = ()  # mistakes in the file, each with its line
    notices: tuple[Sentence, ...] = ()  # oddities that do no harm
    data: bytes = b""

    @property
    def is_valid(self) -> bool:
        """True if the file has no mistake."""
        return not self.problems


class SettingsStore:
    """The settings file of a daemon with its backup. Call `read` whenever the file may have changed."""

    def __init__(self, places: Places, environment: Mapping[str, str]) -> None:
        self._places = places
        self._path = places.settings_file
        self._environment = environment
        self._backup = places.accepted_settings_file
        self._obeyed: Settings | None = None
        self._lost: tuple[Sentence, ...] = ()

    def read(self) -> Loaded:
        """Return the settings in force, with what is wrong with the file. Never raises."""
        earlier = parse_settings(read_copy(self._backup) or b"", self._path.name, self._environment)
        loaded = self._load(earlier.data)
        if loaded.is_valid:
            if loaded.data != earlier.data:
                self._lost = _lost(self._path.name, loaded, earlier)
            self._back_up(loaded.data)
            self._obeyed = loaded.settings
            return replace(loaded, notices=loaded.notices + self._lost)
        obeyed = self._obeyed or (earlier.settings if earlier.data and earlier.is_valid else None)
        if obeyed is None:
            remark = sentence("the defaults hold where the file cannot be obeyed")
            return replace(loaded, problems=(*loaded.problems, remark))
        remark = sentence("the settings before this mistake stay in force")
        return Loaded(obeyed, (*loaded.problems, remark), loaded.notices)

    def in_force(self) -> bytes:
        """Return the last file without a mistake; empty if there is none or it cannot be read.

        Root adopts nothing that the service's user could have written, because settings name whose programs root
        installs.
        """
        return (read_copy(self._backup) or b"") if owner_of(self._places) is None else b""

    def change(self, values: Mapping[str, object]) -> dict[str, Any]:
        """Change settings in the file, all or none, to values or to text as a person types it.

        None removes a setting from the file, so that its default applies. Return what the file had before, which undoes
        the change; None for a setting that it did not have. An empty or missing file begins with the settings in force.

        Raises:
            UsageError: a setting is unknown, a value is wrong, or only a person can mend the file.
            OSError: the file cannot be written, and is unchanged.
        """
        import tomlkit  # only a change needs it; the paused daemon does not

        wanted = [(entry := entry_of(key), _converted(entry, value)) for key, value in values.items()]
        with locked_folder(self._path.parent):
            data = self._path.read_bytes() if self._path.exists() else b""
            data = data if data.strip() else self.in_force()
            there = _table(data, self._path.name)
            found = parse_settings(data, self._path.name, {}).settings
            document = tomlkit.parse(data.decode(_ENCODING) or f"version = {SETTINGS_VERSION}\n")
            for entry, value in wanted:
                _put(document, entry, value)
            self._write(document.as_string().encode())
        return {entry.key: value_of(found, entry) if entry.key in there else None for entry, _ in wanted}

    def drop_old_switch(self) -> bool:
        """Remove `serve.enabled`, which a pause has replaced, from the file. Return whether it was off.

        A file that has mistakes or cannot be written keeps it; then the daemon pauses at its next start again.
        """
        in_file = load_settings(self._path, {})
        data = in_file.data if in_file.is_valid else read_copy(self._backup) or b""
        switch = _table(data, self._path.name).get("serve.enabled")
        if switch is not None and in_file.is_valid:
            import tomlkit

            document = tomlkit.parse(data.decode(_ENCODING))
            cast("dict[str, Any]", document["serve"]).pop("enabled")
            try:
                self.replace(document.as_string().encode())
            except (OSError, PotluckError) as error:
                log.warning("serve.enabled stays in %s: %s", self._path, error)
        chosen = self._environment.get("POTLUCK_SERVE_ENABLED", switch)
        return str(chosen).lower() in FALSE

    def replace(self, data: bytes) -> None:
        """Replace the file by an edited one. If this raises OSError, the file is unchanged."""
        with locked_folder(self._path.parent):
            self._write(data)

    def _load(self, kept: bytes) -> Loaded:
        """Read the file; damage counts as a mistake. Repair a file that has changed although nobody wrote to it."""
        loaded = load_settings(self._path, self._environment)
        if not kept.strip() or loaded.data == kept:
            return loaded
        if self._has_rotted():
            try:
                repair(self._path, lambda file: file.write(kept), mode=self._path.stat().st_mode & 0o777)
                return load_settings(self._path, self._environment)
            except OSError:
                problem = sentence("{file} was damaged and cannot be repaired", file=str(self._path))
                return replace(loaded, problems=(problem, *loaded.problems))
        if loaded.is_valid and not loaded.data.strip():
            problem = sentence(
                "{file} is empty or missing; `version = {number}` in it would mean the defaults",
                file=str(self._path),
                number=SETTINGS_VERSION,
            )
            return replace(loaded, problems=(problem,))
        if loaded.is_valid and kept.startswith(loaded.data) and not loaded.data.endswith(b"\n"):
            problem = sentence("{file} breaks off in the middle of a line", file=str(self._path))
            return replace(loaded, problems=(problem,))
        return loaded

    def _has_rotted(self) -> bool:
        """Return whether the file's content has changed but not its time, which every writer sets."""
        try:
            file, backup = self._path.stat(), self._backup.stat()
        except OSError:
            return False
        return file.st_mtime_ns == backup.st_mtime_ns and backup.st_ctime > file.st_mtime + _CLOCK_S

    def _write(self, data: bytes) -> None:
        """Replace the file, and the backup if there is no mistake in it. The caller holds the lock. Raises OSError.

        The file is as readable as its folder, because the service must read what root writes.
        """
        write_atomically(self._path, data, mode=self._path.parent.stat().st_mode & 0o644)
        if parse_settings(data, self._path.name, {}).is_valid:
            with files_as_owner(self._places):
                self._back_up(data)

    def _back_up(self, data: bytes) -> None:
        """Make the backup hold `data` and have the time of the file, which tells damage from edits."""
        try:
            if (read_copy(self._backup) or b"") != data:
                write_copy(self._backup, data)
            if data:
                time_ns = self._path.stat().st_mtime_ns
                os.utime(self._backup, ns=(time_ns, time_ns))
        except OSError as error:
            log.warning("cannot keep a copy of the settings in %s: %s", self._backup, error.strerror)


def load_settings(path: Path, environment: Mapping[str, str] = os.environ) -> Loaded:
    """Return the defaults, overridden by the file and then by the environment. Never raises for a file's contents."""
    try:
        return parse_settings(path.read_bytes(), path.name, environment)
    except FileNotFoundError:
        return parse_settings(b"", path.name, environment)
    except OSError as error:
        settings = parse_settings(b"", path.name, environment).settings
        return Loaded(settings, (sentence("{path} cannot be read: {why}", path=str(path), why=str(error.strerror)),))


def parse_settings(data: bytes, name: str, environment: Mapping[str, str]) -> Loaded:
    """Return the settings in the bytes of a file called `name`. Pure."""
    problems: list[Sentence] = []
    notices: list[Sentence] = []
    settings = Settings()
    known = {entry.key: entry for entry in entries()}
    try:
        table = _table(data, name)
    except UsageError as error:
        table = {"version": SETTINGS_VERSION}
        problems.append(error.sentence)
    is_newer = table.pop("version") > SETTINGS_VERSION
    if is_newer:
        notices.append(
            sentence(
                "{file} is of a newer Potluck; what this one does not know stays in it and has no effect", file=name
            )
        )
    for key, value in table.items():
        place = f"{name}{_line_of(data, key)}"
        if key not in known:
            notices.append(_unknown(place, key))
            continue
        try:
            settings = with_value(settings, known[key], convert(known[key], value))
        except ValueError as error:
            problem = sentence("{place}: {key}: {why}", place=place, key=key, why=str(error))
            (notices if is_newer else problems).append(problem)
    for entry in known.values():
        text = environment.get(entry.variable)
        if text is not None:
            try:
                settings = with_value(settings, entry, convert(entry, text))
            except ValueError as error:
                notices.append(sentence("{name} is ignored: {why}", name=entry.variable, why=str(error)))
    return Loaded(settings, tuple(problems), tuple(notices), data)


def _unknown(place: str, key: str) -> Sentence:
    if key == "serve.enabled":
        advice = sentence("to stop serving: potluck pause until I resume")
        return sentence("{place}: {key} is gone; {advice}", place=place, key=key, advice=advice)
    alike = similar(key)
    if not alike:
        return sentence("{place}: there is no setting {key}", place=place, key=key)
    return sentence("{place}: there is no setting {key}; did you mean {other}?", place=place, key=key, other=alike)


def _converted(entry: SettingEntry, value: object) -> Any:
    try:
        return None if value is None else convert(entry, value)
    except ValueError as error:
        raise UsageError(sentence("{key}: {why}", key=entry.key, why=str(error)), hint=entry.help) from None


def _put(document: TOMLDocument, entry: SettingEntry, value: Any) -> None:
    """Set a value in the document. Raises UsageError if the file has something else in place of the section."""
    section = document.get(entry.section, {})
    if not isinstance(section, dict):
        raise UsageError(sentence("{name} is not a section of the file", name=entry.section), hint=EDIT_HINT)
    if value is None:
        section.pop(entry.name, None)
    else:
        document.setdefault(entry.section, {})[entry.name] = list(value) if isinstance(value, tuple) else value


def _table(data: bytes, name: str) -> dict[str, Any]:
    """Return the settings in a file of this version or a newer one by key, and its `version`, which may be missing.

    Raises:
        UsageError: a person has to mend the file.
    """
    try:
        table = tomllib.loads(data.decode(_ENCODING))
    except (ValueError, RecursionError) as error:  # Python limits the length of numbers and the depth of nesting
        problem = sentence("{file} is not valid TOML: {why}", file=name, why=str(error))
        raise UsageError(problem, hint=EDIT_HINT) from None
    version = table.setdefault("version", SETTINGS_VERSION)
    if type(version) is not int or version < SETTINGS_VERSION:
        problem = sentence(
            "{place} has version {theirs}; this Potluck knows version {ours}",
            place=f"{name}{_line_of(data, 'version')}",
            theirs=repr(version),
            ours=SETTINGS_VERSION,
        )
        raise UsageError(problem, hint=EDIT_HINT)
    sections = {key: value if isinstance(value, dict) else {"": value} for key, value in table.items()}
    return {f"{key}.{name}".removesuffix("."): item for key, value in sections.items() for name, item in value.items()}


def _line_of(data: bytes, key: str) -> str:
    """Return ` line 7`, where the file sets `key`; empty if no single line does."""
    section, _, name = key.rpartition(".")
    here = ""
    for number, line in enumerate(data.decode(_ENCODING, errors="replace").splitlines(), 1):
        heading = re.match(r"\s*\[\s*([\w.-]+)\s*\]", line)
        here = heading[1] if heading else here
        if here == section and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return f" line {number}"
    return ""


def _lost(name: str, loaded: Loaded, earlier: Loaded) -> tuple[Sentence, ...]:
    """Return a notice if the file has lost its end, as a full disk leaves it; else nothing. Pure."""
    both = (loaded.settings, earlier.settings)
    gone = [entry.key for entry in entries() if len({value_of(settings, entry) for settings in both}) == 2]
    if not gone or not earlier.data.startswith(loaded.data):
        return ()
    keys = ", ".join(gone)
    return (sentence("{file} has lost its last lines; back to the default: {keys}", file=name, keys=keys),)
