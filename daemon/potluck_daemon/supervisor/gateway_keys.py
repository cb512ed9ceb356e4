"""Keeps the keys with which programs use the gateway: their names and hashes, never the keys themselves."""

from __future__ import annotations

import contextlib
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, structs
from potluck_control.methods.gateway import KeyInfo
from potluck_control.processes.gateway_messages import key_hash

from potluck.checked_files import state_file
from potluck.errors import UsageError
from potluck.sentences import sentence

MAX_KEYS = 100
_WRITE_EVERY_S = 60.0
_PREFIX, _KEY_BYTES = "potluck-", 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Key(Struct, frozen=True):
    name: str
    hash: str
    made_at: float  # Unix seconds
    answers: int = 0
    tokens: int = 0
    used_at: float | None = None  # Unix seconds


class _Content(Struct, frozen=True):
    keys: tuple[_Key, ...] = ()


def _used(key: _Key, counted: Sequence[tuple[str, int]]) -> _Key:
    """Return the key with its share of the answers in `counted`."""
    tokens = [number for used, number in counted if used == key.hash]
    if not tokens:
        return key
    return structs.replace(key, answers=key.answers + len(tokens), tokens=key.tokens + sum(tokens), used_at=time.time())


class GatewayKeys:
    """The file of keys, readable by its user only. Methods raise OSError if it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self._file = state_file(path, _Content)
        self._unwritten: list[tuple[str, int]] = []  # answers: hashes of their keys, and tokens
        self._written_at = 0.0  # monotonic

    def listed(self) -> tuple[KeyInfo, ...]:
        """Return all keys with what was counted for them."""
        self.flush()
        return tuple(KeyInfo(key.name, key.made_at, key.answers, key.tokens, key.used_at) for key in self._read())

    def count_answer(self, key: str, tokens: int) -> None:
        """Count an answer for the key with this hash. Counts are written once a minute."""
        self._unwritten.append((key, tokens))
        if time.monotonic() - self._written_at > _WRITE_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Write the counts. Losing them is all that happens if the file cannot be written."""
        counted, self._unwritten = self._unwritten, []
        self._written_at = time.monotonic()
        if counted:
            with contextlib.suppress(OSError):
                self._write(tuple(_used(key, counted) for key in self._read()))

    def hashes(self) -> tuple[str, ...]:
        """Return the hashes of all keys."""
        return tuple(key.hash for key in self._read())

    def make(self, name: str) -> str:
        """Make a key for a program and return it; it is shown only now."""
        keys = self._read()
        if not _NAME.fullmatch(name):
            raise UsageError(
                sentence("{name} is no name for a key", name=repr(name)),
                hint=sentence("use letters, digits, dots, dashes, underscores"),
            )
        if any(key.name == name for key in keys):
            raise UsageError(
                sentence("there is a key {name} already", name=repr(name)), hint=f"potluck gateway revoke {name}"
            )
        if len(keys) >= MAX_KEYS:
            raise UsageError(
                sentence("there are {number} keys already", number=MAX_KEYS), hint="potluck gateway revoke NAME"
            )
        made = _PREFIX + secrets.token_urlsafe(_KEY_BYTES)
        self._write((*keys, _Key(name, key_hash(made), time.time())))
        return made

    def revoke(self, name: str) -> None:
        """Delete a key. Raises UsageError if there is none of this name."""
        keys = self._read()
        left = tuple(key for key in keys if key.name != name)
        if left == keys:
            raise UsageError(sentence("there is no key {name}", name=repr(name)), hint="potluck gateway keys")
        self._write(left)

    def _read(self) -> tuple[_Key, ...]:
        return (self._file.read() or _Content()).keys

    def _write(self, keys: tuple[_Key, ...]) -> None:
        self._file.write(_Content(keys))
