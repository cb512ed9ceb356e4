"""Reads and changes the settings file.

A mistake in the file is named with its line, and never keeps the daemon from starting (`accepted.py` decides what is in
force then). A file of another version is a mistake like any other. Changes keep comments and order. A version with
another form of the file keeps the one of before as `settings.toml.vN`; `take_back` brings it back after a downgrade.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck_control.settings import SETTINGS_VERSION, SettingEntry, Settings, entries, with_value

from potluck.errors import UsageError
from potluck.files import write_atomically
from potluck.locks import alone
from potluck_daemon.settings.values import convert, entry_of, suggestion

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

EDIT_HINT = "correct it with: potluck config edit"
_ENCODING = "utf-8-sig"  # editors of Windows put a byte order mark before the text


@dataclass(frozen=True, slots=True)
class Loaded:
    """The contents of a settings file. A setting with a mistake has its default here."""

    settings: Settings
    problems: tuple[str, ...] = ()  # mistakes in the file, each with its line
    notices: tuple[str, ...] = ()  # oddities that do no harm
    data: bytes = b""

    @property
    def is_valid(self) -> bool:
        return not self.problems


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Loaded:
    """Return the defaults, overridden by the file and then by the environment. Never raises for a file's contents."""
    try:
        return parse(path.read_bytes(), path.name, environment)
    except FileNotFoundError:
        return parse(b"", path.name, environment)
    except OSError as error:
        settings = parse(b"", path.name, environment).settings
        return Loaded(settings, (f"{path} cannot be read: {error.strerror}",))


def parse(data: bytes, name: str, environment: Mapping[str, str]) -> Loaded:
    """Return the settings in the bytes of a file called `name`. Pure."""
    problems: list[str] = []
    notices: list[str] = []
    settings = Settings()
    known = {entry.key: entry for entry in entries()}
    for key, value in _flatten(_table(data, name, problems)).items():
        place = f"{name}{_line_of(data, key)}"
        if key not in known:
            meant = suggestion(key)
            notices.append(f"{place}: there is no setting {key}{meant and '; '}{meant}")
            continue
        try:
            settings = with_value(settings, known[key], convert(known[key], value))
        except ValueError as error:
            problems.append(f"{place}: {key}: {error}")
    for entry in known.values():
        text = environment.get(entry.variable)
        if text is not None:
            try:
                settings = with_value(settings, entry, convert(entry, text))
            except ValueError as error:
                notices.append(f"{entry.variable} is ignored: {error}")
    return Loaded(settings, tuple(problems), tuple(notices), data)


def keys_in(data: bytes) -> set[str]:
    """Return the settings that the bytes of a file set; none if it is not TOML."""
    return set(_flatten(_readable(data)))


def change(path: Path, values: Mapping[str, object], *, earlier: bytes = b"") -> dict[str, Any]:
    """Change settings in the file, all or none, to values or to text as a person types it.

    None takes a setting out of the file, so that its default applies. Return what the file had before, which undoes the
    change; None for a setting that it did not have. An empty or missing file begins with `earlier`, the settings in
    force.

    Raises:
        UsageError: a setting is unknown, a value is wrong, or only a person can mend the file.
        OSError: the file cannot be written, and is unchanged.
    """
    wanted = [(entry := entry_of(key), _converted(entry, value)) for key, value in values.items()]
    with alone(path.parent):
        document = _document(path, earlier)
        before = {entry.key: _value_in(document, entry) for entry, _ in wanted}
        for entry, value in wanted:
            _put(document, entry, value)
        write(path, document.as_string().encode())
    return before


def take_back(path: Path) -> str:
    """Bring back the file of this version after a downgrade, with the changes that were made since.

    The newer file is kept as a copy of its version. Return what was done as a sentence; empty: nothing.

    Raises:
        OSError: the file cannot be written, and is unchanged.
    """
    if not path.exists():
        return ""
    with alone(path.parent):
        data = path.read_bytes()
        table = _readable(data)
        version, copy = _version(table), _copy_of(path, SETTINGS_VERSION)
        earlier = copy.read_bytes() if copy.exists() else b""
        if not isinstance(version, int) or version <= SETTINGS_VERSION or not _readable(earlier):
            return ""
        merged, left = _merged(earlier, table)
        write(_copy_of(path, version), data)
        write(path, merged)
    lost = f"; not taken over: {', '.join(left)}" if left else ""
    return (
        f"{path.name} was of a newer Potluck, and is now as before that, with what was changed since and is known "
        f"here{lost}; the newer one is kept as {_copy_of(path, version).name}"
    )


def write(path: Path, data: bytes) -> None:
    """Replace the file. It is as readable as its folder, because the service must read what root writes.

    Raises:
        OSError: the file cannot be written, and is unchanged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, data, mode=path.parent.stat().st_mode & 0o644)


def _converted(entry: SettingEntry, value: object) -> Any:
    try:
        return None if value is None else convert(entry, value)
    except ValueError as error:
        raise UsageError(f"{entry.key}: {error}", hint=entry.help) from None


def _value_in(document: TOMLDocument, entry: SettingEntry) -> Any:
    """Return the value in the file; None if it is missing or wrong, because nobody wants that back."""
    section = document.unwrap().get(entry.section)
    value = section.get(entry.name) if isinstance(section, dict) else None
    try:
        return None if value is None else convert(entry, value)
    except ValueError:
        return None


def _put(document: TOMLDocument, entry: SettingEntry, value: Any) -> None:
    if value is not None:
        document.setdefault(entry.section, {})[entry.name] = list(value) if isinstance(value, tuple) else value
    elif isinstance(section := document.get(entry.section), dict):
        section.pop(entry.name, None)


def _document(path: Path, earlier: bytes) -> TOMLDocument:
    """Return the file, ready for changes. Raises UsageError."""
    import tomlkit  # only a change needs it; the paused daemon does not

    data = path.read_bytes() if path.exists() else b""
    data = data if data.strip() else earlier
    problems: list[str] = []
    _table(data, path.name, problems)
    if problems:
        raise UsageError(problems[0], hint=EDIT_HINT)
    document = tomlkit.parse(data.decode(_ENCODING))
    if not data:
        document.add("version", tomlkit.item(SETTINGS_VERSION))
    return document


def _copy_of(path: Path, version: int) -> Path:
    """Return the path of the copy that keeps the file of that version."""
    return path.with_name(f"{path.name}.v{version}")


def _merged(earlier: bytes, newer: Mapping[str, Any]) -> tuple[bytes, list[str]]:
    """Return the earlier file with the newer one's values, and the keys that are not known here."""
    import tomlkit

    document = tomlkit.parse(earlier.decode(_ENCODING))
    before, known, left = _flatten(document.unwrap()), {entry.key: entry for entry in entries()}, []
    for key, value in _flatten(newer).items():
        if before.get(key) == value:
            continue
        try:
            _put(document, known[key], convert(known[key], value))
        except (KeyError, ValueError):
            left.append(key)
    return document.as_string().encode(), left


def _readable(data: bytes) -> dict[str, Any]:
    """Return the tables of a file of any version; empty if it is not TOML."""
    try:
        return tomllib.loads(data.decode(_ENCODING))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _table(data: bytes, name: str, problems: list[str]) -> dict[str, Any]:
    """Return the tables of a file of this version. For an unusable one, add a problem and return nothing."""
    try:
        table = tomllib.loads(data.decode(_ENCODING))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(f"{name} is not valid TOML: {error}")
        return {}
    version = _version(table)
    if version != SETTINGS_VERSION:
        problems.append(f"{name} has version {version!r}; this Potluck knows version {SETTINGS_VERSION}")
        return {}
    return table


def _version(table: Mapping[str, Any]) -> int:
    """Return the file's version. One without a version was written by hand, for this one."""
    version: int = table.get("version", SETTINGS_VERSION)
    return version


def _flatten(table: Mapping[str, Any]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        elif name != "version":
            flat[name] = value
    return flat


def _line_of(data: bytes, key: str) -> str:
    """Return ` line 7`, where the file sets `key`; empty if a look at single lines does not find it."""
    section, _, name = key.rpartition(".")
    here = ""
    for number, line in enumerate(data.decode(_ENCODING, errors="replace").splitlines(), 1):
        heading = re.match(r"\s*\[\s*([\w.-]+)\s*\]", line)
        here = heading[1] if heading else here
        if here == section and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return f" line {number}"
    return ""
