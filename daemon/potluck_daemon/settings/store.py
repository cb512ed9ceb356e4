"""Read and change the settings file. A mistake in it never keeps the daemon from starting: what cannot be understood
is replaced by its default and named in a notice; a file that is no TOML at all is kept aside under another name.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from potluck.errors import UsageError
from potluck_daemon.settings.files import keep_aside, write_atomically
from potluck_daemon.settings.schema import SETTINGS_VERSION, Entry, Settings, entries

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    notices: tuple[str, ...] = ()


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Loaded:
    """Defaults, overridden by the file, overridden by the environment. Never raises for what a file may hold."""
    notices: list[str] = []
    table = _read_table(path, notices)
    settings = Settings()
    known = {entry.key: entry for entry in entries()}
    for key, value in _flatten(table).items():
        if key == "version":
            _check_version(value, path, notices)
        elif key not in known:
            notices.append(f"{path.name}: there is no setting {key}")
        else:
            settings = _apply(settings, known[key], value, path.name, notices)
    for entry in known.values():
        text = environment.get(entry.variable)
        if text is not None:
            settings = _apply(settings, entry, text, entry.variable, notices)
    return Loaded(settings, tuple(notices))


def change(path: Path, key: str, text: str) -> None:
    """Set one setting in the file from text as a person types it; comments and order stay.

    Raises:
        UsageError: no such setting, or not a value for it.
        OSError: the file cannot be written.
    """
    import tomlkit  # only a change needs it; the paused daemon does not

    entry = {item.key: item for item in entries()}.get(key)
    if entry is None:
        raise UsageError(f"there is no setting {key!r}", hint="potluck settings lists them")
    try:
        value = convert(entry, text)
    except ValueError as error:
        raise UsageError(f"{key}: {error}") from None
    document = tomlkit.parse(path.read_text()) if path.exists() else tomlkit.document()
    document.setdefault("version", SETTINGS_VERSION)
    section = document.setdefault(entry.section, tomlkit.table())
    section[entry.name] = list(value) if isinstance(value, tuple) else value
    write_atomically(path, tomlkit.dumps(document).encode())


def convert(entry: Entry, value: object) -> Any:
    """The value of `entry` from TOML or from text.

    Raises:
        ValueError: with one line that says what is expected.
    """
    kind = type(entry.default)
    if kind is bool:
        return _bool(value)
    if kind is tuple:
        return _strings(value)
    if kind is str:
        if not isinstance(value, str):
            raise ValueError(f"expected text, not {value!r}")
        return value
    return _number(entry, kind, value)


def _apply(settings: Settings, entry: Entry, value: object, source: str, notices: list[str]) -> Settings:
    try:
        converted = convert(entry, value)
    except ValueError as error:
        notices.append(f"{source}: {entry.key}: {error}; using {entry.default!r}")
        return settings
    section = getattr(settings, entry.attribute)
    return replace(settings, **{entry.attribute: replace(section, **{entry.name: converted})})


def _read_table(path: Path, notices: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except OSError as error:
        notices.append(f"{path} cannot be read ({error.strerror}); using defaults")
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        try:
            aside = keep_aside(path)
            notices.append(f"{path.name} is not valid TOML ({error}); kept as {aside.name}, using defaults")
        except OSError:
            notices.append(f"{path.name} is not valid TOML ({error}); using defaults")
        return {}


def _check_version(value: object, path: Path, notices: list[str]) -> None:
    if not isinstance(value, int) or value > SETTINGS_VERSION:
        notices.append(f"{path.name} has version {value}, this program knows {SETTINGS_VERSION}; reading what it can")


def _flatten(table: Mapping[str, Any]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return flat


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE + _FALSE:
        return value.lower() in _TRUE
    raise ValueError(f"expected true or false, not {value!r}")


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError(f"expected a list of texts, not {value!r}")


def _number(entry: Entry, kind: type, value: object) -> int | float:
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | str)
        or (kind is int and isinstance(value, float))
    ):
        raise ValueError(f"expected a number, not {value!r}")
    try:
        number: int | float = int(value) if kind is int else float(value)
    except ValueError:
        raise ValueError(f"expected a number, not {value!r}") from None
    low, high = entry.low, entry.high
    if not math.isfinite(number) or (low is not None and number < low) or (high is not None and number > high):
        raise ValueError(f"expected {low:g} to {high:g}{entry.unit and ' ' + entry.unit}, not {value!r}")
    return number
