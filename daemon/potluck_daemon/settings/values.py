"""Converts the value of a setting from TOML or from text that a person typed, and back to text. Pure."""

from __future__ import annotations

import math
import re
from difflib import get_close_matches
from typing import Any

from potluck_control.settings import SettingEntry, entries

from potluck.errors import UsageError
from potluck.sentences import sentence

_DECIMAL_COMMA = re.compile(r"(\d+),(\d{1,2})(?!\d)")  # three digits could be thousands
_SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([kMGT])(i?)B", re.IGNORECASE)
_TRUE, FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def entry_of(key: str) -> SettingEntry:
    """Return the setting called `key`. Raises UsageError with a suggestion."""
    for entry in entries():
        if entry.key == key:
            return entry
    if key == "serve.enabled":
        raise UsageError(
            sentence("{name} is gone", name=repr(key)), hint=sentence("to stop serving: potluck pause until I resume")
        )
    alike = similar(key)
    hint = sentence("did you mean {other}?", other=alike) if alike else "potluck config list names them all"
    raise UsageError(sentence("there is no setting {name}", name=repr(key)), hint=hint)


def similar(key: str) -> str:
    """Return the setting that was probably meant; empty if no key is similar."""
    keys = [entry.key for entry in entries()]
    alike = [item for item in keys if item.split(".")[1] == key.split(".")[-1]] or get_close_matches(key, keys, 1, 0.6)
    return alike[0] if alike else ""


def convert(entry: SettingEntry, value: object) -> Any:
    """Return the value of `entry` from TOML or from text.

    Raises:
        ValueError: the value is wrong; one line says what is expected.
    """
    converted = _convert(entry, type(entry.default), value)
    if shown(converted).encode(errors="replace").decode() != shown(converted):
        raise ValueError("its text is not in UTF-8")
    if any(letter < " " or letter == "\x7f" for letter in shown(converted)):
        raise ValueError("its text has control characters")
    if entry.choices and converted not in entry.choices:
        raise ValueError(f"{value!r} is none of {', '.join(entry.choices)}")
    if entry.check is not None:
        try:
            entry.check(converted)
        except UsageError as error:
            raise ValueError(f"{error.message}; {error.hint}") from None
    return converted


def _convert(entry: SettingEntry, kind: type, value: object) -> Any:
    if kind is bool:
        return _bool(value)
    if kind is tuple:
        return _strings(value)
    if kind is str:
        if not isinstance(value, str):
            raise ValueError(f"expected text, not {value!r}")
        return value
    return _number(entry, kind, value)


def shown(value: object) -> str:
    """Return the value as `potluck config set` takes it, or a word in brackets for an empty one."""
    if isinstance(value, tuple):
        return ",".join(value) or "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or "(empty)"


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in _TRUE + FALSE:
        return value.lower() in _TRUE
    raise ValueError(f"expected true or false, not {value!r}")


def _strings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(item.strip() for item in value.split(",") if item.strip())
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError(f"expected a list of texts, not {value!r}")


def _number(entry: SettingEntry, kind: type, value: object) -> int | float:
    refusal = ValueError(f"expected {_range(entry, kind)}, not {value!r:.80}")
    is_float_for_int = kind is int and isinstance(value, float)
    if isinstance(value, bool) or not isinstance(value, int | float | str) or is_float_for_int:
        raise refusal
    typed = _as_typed(entry, value) if isinstance(value, str) else value
    try:
        number: int | float = int(typed) if kind is int else float(typed)
    except (ValueError, OverflowError):  # no number, or one that no float holds
        raise refusal from None
    low, high = entry.low, entry.high
    is_finite = -math.inf < number < math.inf
    if not is_finite or (low is not None and number < low) or (high is not None and number > high):
        raise refusal
    return number


def _range(entry: SettingEntry, kind: type) -> str:
    number = "a whole number" if kind is int else "a number"
    bounds = f" from {_plain(entry.low)} to {_plain(entry.high)}" if entry.high is not None else ""
    return f"{number}{bounds}{entry.unit and ' ' + entry.unit}"


def _as_typed(entry: SettingEntry, text: str) -> str:
    """Return a number as Python writes it: `0,32` as 0.32, `80 °C` as 80, and `6GB` in the MiB of its setting."""
    text = _DECIMAL_COMMA.sub(r"\1.\2", text.strip())
    if entry.unit == "MiB" and (size := _SIZE.fullmatch(text)) is not None:
        base = 1024 if size[3] else 1000
        return str(int(float(size[1]) * base ** ("KMGT".index(size[2].upper()) + 1)) >> 20)
    for unit in filter(None, (entry.unit, entry.unit.removeprefix("°"))):
        if text.lower().endswith(unit.lower()):
            return text[: -len(unit)].rstrip()
    return text


def _plain(bound: float | None) -> str:
    """Return a bound without an exponent."""
    return f"{bound:.0f}" if bound == round(bound or 0.0) else f"{bound}"
