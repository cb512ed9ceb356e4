"""Read and change the settings file.

A mistake in it never keeps the daemon from starting and never costs the file: each one is named with its line, and who
obeys the settings decides what to do about it (`accepted.py`). A file of an older version is migrated as it is read,
one of a newer version is a mistake like any other. Changes keep comments and order. The first change that brings a file
to a newer version leaves it beside as it was, as `settings.toml.v1`: who goes back to an older Potluck has it again.
"""

from __future__ import annotations

import fcntl
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from potluck.errors import UsageError
from potluck.files import write_atomically
from potluck_daemon.settings.migrations import OLDEST, migrate
from potluck_daemon.settings.schema import SETTINGS_VERSION, SettingEntry, Settings, entries
from potluck_daemon.settings.values import convert, entry_of, suggestion

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

EDIT_HINT = "correct it with: potluck config edit"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file says; a setting that has a problem has its default here."""

    settings: Settings
    problems: tuple[str, ...] = ()  # mistakes in the file, each with its line
    notices: tuple[str, ...] = ()  # what does no harm but was perhaps not meant so
    data: bytes = b""

    @property
    def is_valid(self) -> bool:
        return not self.problems


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Loaded:
    """Defaults, overridden by the file, overridden by the environment. Never raises for what a file may hold."""
    try:
        return parse(path.read_bytes(), path.name, environment)
    except FileNotFoundError:
        return parse(b"", path.name, environment)
    except OSError as error:
        settings = parse(b"", path.name, environment).settings
        return Loaded(settings, (f"{path} cannot be read: {error.strerror}",))


def parse(data: bytes, name: str, environment: Mapping[str, str]) -> Loaded:
    """The settings in the bytes of a file that is called `name`. Pure."""
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
            settings = _with(settings, known[key], convert(known[key], value))
        except ValueError as error:
            problems.append(f"{place}: {key}: {error}")
    for entry in known.values():
        text = environment.get(entry.variable)
        if text is not None:
            try:
                settings = _with(settings, entry, convert(entry, text))
            except ValueError as error:
                notices.append(f"{entry.variable} is ignored: {error}")
    return Loaded(settings, tuple(problems), tuple(notices), data)


def change(path: Path, values: Mapping[str, object], *, earlier: bytes = b"") -> dict[str, Any]:
    """Set settings in the file, all or none: from values, or from text as a person types it.

    None takes a setting out of the file, so that its default holds. Returns what the file had before, None for what it
    did not have: to set that is the undo. `earlier`: the settings in force, which an empty or missing file begins with.

    Raises:
        UsageError: no such setting, not a value for it, or a file that only a person can mend.
        OSError: the file cannot be written; it is as it was.
    """
    wanted = [(entry := entry_of(key), _converted(entry, value)) for key, value in values.items()]
    with _alone(path.parent):
        document = _document(path, earlier)
        before = {entry.key: _value_in(document, entry) for entry, _ in wanted}
        for entry, value in wanted:
            _put(document, entry, value)
        write(path, document.as_string().encode())
    return before


def take_back(path: Path) -> str:
    """Let a file that a newer Potluck migrated be the one again that this one knows, with what was changed since.

    What the newer one wrote lies beside as a copy of its version. Returns what was done, as a sentence; empty: nothing.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    if not path.exists():
        return ""
    with _alone(path.parent):
        data = path.read_bytes()
        table = _readable(data)
        version, earlier = _version(table), _newest_known_copy(path)
        if not isinstance(version, int) or version <= SETTINGS_VERSION or earlier is None:
            return ""
        merged, left = _merged(earlier.read_bytes(), table)
        write(_copy_of(path, version), data)
        write(path, merged)
    lost = f"; not taken over: {', '.join(left)}" if left else ""
    return (
        f"{path.name} was of a newer Potluck, and is now as before that, with what was changed since and is known "
        f"here{lost}; the newer one is kept as {_copy_of(path, version).name}"
    )


def write(path: Path, data: bytes) -> None:
    """Replace the file; it is as readable as its folder, for the service has to read what root writes.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(path, data, mode=path.parent.stat().st_mode & 0o644)


def _converted(entry: SettingEntry, value: object) -> Any:
    try:
        return None if value is None else convert(entry, value)
    except ValueError as error:
        raise UsageError(f"{entry.key}: {error}", hint=entry.help) from None


def _value_in(document: TOMLDocument, entry: SettingEntry) -> Any:
    """None for what is not there, or is a mistake: nobody wants that back."""
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
    """The file as it is to be changed, in today's version. Raises UsageError."""
    import tomlkit  # only a change needs it; the paused daemon does not

    data = path.read_bytes() if path.exists() else b""
    data = data if data.strip() else earlier
    problems: list[str] = []
    tables = _table(data, path.name, problems)
    if problems:
        raise UsageError(problems[0], hint=EDIT_HINT)
    document = tomlkit.parse(data.decode())
    if not data:
        document.add("version", tomlkit.item(SETTINGS_VERSION))
    elif tables["version"] != document.get("version"):
        write(_copy_of(path, _version(document)), data)
        migrate(document, _version(document), SETTINGS_VERSION)
    return document


def _copy_of(path: Path, version: int) -> Path:
    """Where the file lies as it was in that version."""
    return path.with_name(f"{path.name}.v{version}")


def _newest_known_copy(path: Path) -> Path | None:
    copies = (_copy_of(path, version) for version in range(SETTINGS_VERSION, OLDEST - 1, -1))
    return next((copy for copy in copies if copy.exists() and _readable(copy.read_bytes())), None)


def _merged(earlier: bytes, newer: Mapping[str, Any]) -> tuple[bytes, list[str]]:
    """The earlier file with the newer one's values, as far as they are known here; and which are not."""
    import tomlkit

    document = tomlkit.parse(earlier.decode())
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
    """The tables of any version; empty if it is no TOML."""
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _table(data: bytes, name: str, problems: list[str]) -> dict[str, Any]:
    """The tables of the file in today's version; empty, with a problem said, if it cannot be obeyed at all."""
    try:
        table = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(f"{name} is not valid TOML: {error}")
        return {}
    version = _version(table)
    if not isinstance(version, int) or not OLDEST <= version <= SETTINGS_VERSION:
        problems.append(
            f"{name} has version {version!r}, this program knows {SETTINGS_VERSION}; it needs a newer Potluck"
        )
        return {}
    migrate(table, version, SETTINGS_VERSION)
    return table


def _version(table: Mapping[str, Any]) -> int:
    """A file without a version was written by hand; it may have the oldest names."""
    version: int = table.get("version", OLDEST)
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
    """` line 7`, where the file mentions `key`; empty if it does so in a way that is not found by looking at lines."""
    section, _, name = key.rpartition(".")
    here = ""
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        heading = re.match(r"\s*\[\s*([\w.-]+)\s*\]", line)
        here = heading[1] if heading else here
        if here == section and re.match(rf"\s*{re.escape(name)}\s*=", line):
            return f" line {number}"
    return ""


def _with(settings: Settings, entry: SettingEntry, value: object) -> Settings:
    section = getattr(settings, entry.attribute)
    return replace(settings, **{entry.attribute: replace(section, **{entry.name: value})})


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One change at a time: two that read the same file would lose one of them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
