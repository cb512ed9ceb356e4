"""Keeps a checked copy beside each state file, and repairs the file from it.

    NAME                   the file, in its own format
    NAME.copy              the same content below a line with its SHA-256
    NAME.repaired-STAMP    a damaged file that the copy has replaced
    NAME.broken-STAMP      a damaged file without a good copy

A file that is missing, empty or differs from its good copy is damaged. What `write` returned from is on the disk twice.
`state_file` makes one of JSON; the key of a node and the lists of members have forms of their own.
Files that people edit need another rule; `read_copy` and `write_copy` keep just the copy for them.
"""

from __future__ import annotations

import calendar
import hashlib
import logging
import os
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Generic, TypeVar

from potluck.errors import PotluckError
from potluck.files import rename_aside, replacing, write_atomically
from potluck.locks import locked_folder
from potluck.protocol.codec import decode, encode
from potluck.sentences import Sentence, sentence

log = logging.getLogger(__name__)

T = TypeVar("T")

REPAIRED, BROKEN = "repaired", "broken"
_ASIDE = re.compile(rf"(.+)\.({REPAIRED}|{BROKEN})-(\d{{8}}T\d{{6}})")
_TOLD_S = 7 * 86400.0  # how long a notice stays, unless somebody deletes the file that it names
_MARK = b"potluck copy, sha256 "
HEAD_BYTES = len(_MARK) + 64 + 1
MAX_BYTES = 1 << 26  # size limit before decoding; the members of a large swarm take a few MB


class DamagedError(PotluckError):
    """A file is damaged and has no good copy; it stays as it is."""


@dataclass(frozen=True, slots=True)
class CheckedFile(Generic[T]):
    """A state file with a checked copy. `parse` reads its content and raises ValueError or PotluckError if it can't."""

    path: Path
    parse: Callable[[bytes], T]
    to_bytes: Callable[[T], bytes]

    @property
    def copy(self) -> Path:
        return copy_of(self.path)

    def read(self) -> T | None:
        """Return the content, repaired if it was damaged; None if there is none, or none that can be read.

        What is damaged beyond repair is set aside, so that it stops nobody.

        Raises:
            OSError: the file is there but out of reach.
        """
        try:
            return self.read_or_refuse()
        except DamagedError as error:
            log.warning("%s; it is set aside, and written anew", error.message)
            with suppress(OSError):
                self.set_aside()
            return None

    def read_or_refuse(self) -> T | None:
        """Return the content as `read` does, and leave a damaged file where it is.

        Raises:
            DamagedError: neither the file nor its copy can be read.
            OSError: the file is there but out of reach.
        """
        data, copied = _bytes(self.path, MAX_BYTES + 1), read_copy(self.copy)
        if data is None and not self.copy.exists():
            return None
        if data is None or data != copied:
            with locked_folder(self.path.parent):
                data = self._repaired()
        return self._parsed(data)

    def write(self, value: T) -> None:
        """Replace file and copy, both or neither.

        Raises:
            OSError: the folder is not writable or full; nothing has changed.
        """
        with locked_folder(self.path.parent):
            self._write(self.to_bytes(value))

    def read_or_create(self, make: Callable[[], T]) -> T:
        """Return the content; without a file, write what `make` returns first. Two processes at once make one file.

        Raises:
            DamagedError: neither the file nor its copy can be read.
            OSError: the file is out of reach, or cannot be written.
        """
        found = self.read_or_refuse()
        if found is not None:
            return found
        with locked_folder(self.path.parent):
            if not self.path.exists() and not self.copy.exists():
                self._write(self.to_bytes(make()))
        return self._parsed(self.path.read_bytes())

    def set_aside(self) -> Path:
        """Rename a damaged file, so that the next one does not overwrite it, and delete its copy."""
        aside = rename_aside(self.path, BROKEN) if self.path.exists() else self.path
        self.copy.unlink(missing_ok=True)
        return aside

    def _write(self, data: bytes) -> None:
        # Write both to the disk before renaming the first, so that a full disk changes neither, and a crash between the
        # two, after which the file looks damaged, is unlikely.
        with (
            replacing(self.path) as file,
            replacing(self.copy, syncs_folder=False) as copy,
        ):
            for target, content in ((file, data), (copy, _packed(data))):
                target.write(content)
                target.flush()
                os.fsync(target.fileno())

    def _repaired(self) -> bytes:
        """Return the good content and make the other one like it. The caller holds the lock.

        Without a good copy a file counts that can be read: one from before there were copies.
        """
        data, copied = _bytes(self.path, MAX_BYTES + 1), read_copy(self.copy)
        if copied is None:
            self._parsed(data)
        good = data if copied is None else copied
        assert good is not None
        try:
            if copied is None:
                write_copy(self.copy, good)
            elif data != copied:
                repair(self.path, lambda file: file.write(copied))
        except OSError as error:
            log.warning("%s cannot be repaired: %s", self.path, error.strerror)
        return good

    def _parsed(self, data: bytes | None) -> T:
        try:
            if not data:
                raise ValueError("it is empty" if data is not None else "it is gone")
            if len(data) > MAX_BYTES:
                raise ValueError("it is too large")
            return self.parse(data)
        except (ValueError, PotluckError) as error:
            why = error.sentence if isinstance(error, PotluckError) else error
            raise DamagedError(sentence("{file} is damaged: {why}", file=self.path, why=why)) from error


def state_file(path: Path, kind: type[T]) -> CheckedFile[T]:
    """Return the file at `path` that holds a value of `kind` as JSON."""
    return CheckedFile(path, partial(decode, kind), encode)


@dataclass(frozen=True, slots=True)
class CheckedLog:
    """A file of lines and its copy, both only appended to. Each line carries a checksum."""

    path: Path

    def read(self) -> list[bytes]:
        """Return all lines that file or copy still has, and bring both up to date if they differ. Raises OSError."""
        with locked_folder(self.path.parent):
            raw, copied = (_bytes(path) or b"" for path in (self.path, copy_of(self.path)))
            lines = _merged(_good_lines(raw), _good_lines(copied))
            if raw != copied or raw != b"".join(map(_checked_line, lines)):
                self._write(lines)
        return lines

    def append(self, line: bytes) -> None:
        """Add a line; it may be lost in a power cut. Raises OSError."""
        with locked_folder(self.path.parent):
            for path in (self.path, copy_of(self.path)):
                with open(path, "ab", opener=_private) as file:
                    file.write(_checked_line(line))

    def write(self, lines: list[bytes]) -> None:
        """Replace everything. Raises OSError."""
        with locked_folder(self.path.parent):
            self._write(lines)

    def _write(self, lines: list[bytes]) -> None:
        for path in (self.path, copy_of(self.path)):
            write_atomically(path, b"".join(map(_checked_line, lines)))


def copy_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.copy")


def read_copy(path: Path) -> bytes | None:
    """Return the content of the copy at `path`; None if there is none, or it is damaged."""
    try:
        raw = _bytes(path, HEAD_BYTES + MAX_BYTES) or b""
    except OSError:
        return None
    data = raw[HEAD_BYTES:]
    return data if raw[:HEAD_BYTES] == head(hashlib.sha256(data).hexdigest()) else None


def write_copy(path: Path, data: bytes) -> None:
    """Write a copy of `data` that `read_copy` can check. Raises OSError."""
    with replacing(path) as file:
        file.write(_packed(data))


def head(sha256: str) -> bytes:
    """Return the first line of a copy."""
    return _MARK + sha256.encode() + b"\n"


def repair(path: Path, write: Callable[[BinaryIO], object], *, mode: int = 0o600) -> None:
    """Replace a damaged or missing file by what `write` writes, and keep the damaged one. Raises OSError."""
    with replacing(path, mode=mode) as file:
        write(file)
        file.flush()
        was = f"kept as {rename_aside(path, REPAIRED).name}" if path.exists() else "it was missing"
    log.warning("%s was damaged and has been restored from its copy (%s)", path, was)


def damage_notices(folders: tuple[Path, ...], now: float) -> Iterator[Sentence]:
    """Yield a sentence for each damaged file that was set aside lately. `now`: Unix seconds."""
    for folder in dict.fromkeys(folders):
        names: list[str] = []
        with suppress(OSError):
            names = sorted(os.listdir(folder))
        for match in filter(None, map(_ASIDE.fullmatch, names)):
            name, kind, stamp = match.groups()
            with suppress(ValueError):
                if calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%S")) > now - _TOLD_S:
                    yield _notice(name, folder / match[0], is_repaired=kind == REPAIRED)


def _notice(name: str, path: Path, *, is_repaired: bool) -> Sentence:
    if is_repaired:
        return sentence("{name} was damaged and has been repaired; the damaged file is {path}", name=name, path=path)
    return sentence("{name} was damaged and could not be repaired; the damaged file is {path}", name=name, path=path)


def _checked_line(line: bytes) -> bytes:
    return b"%b\t%08x\n" % (line, zlib.crc32(line))


def _good_lines(raw: bytes) -> list[bytes]:
    """Return the lines whose checksum fits."""
    lines = ((whole, whole.rpartition(b"\t")[0]) for whole in raw.splitlines(keepends=True))
    return [line for whole, line in lines if whole == _checked_line(line)]


def _merged(lines: list[bytes], others: list[bytes]) -> list[bytes]:
    """Return all lines of two lists that each lack some of one list, in order. Pure."""
    places = {line: place for place, line in enumerate(others)}
    merged, taken = [], 0
    for line in lines:
        place = places.get(line, -1)
        if place >= taken:
            merged += others[taken:place]
            taken = place + 1
        merged.append(line)
    return merged + others[taken:]


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _packed(data: bytes) -> bytes:
    return head(hashlib.sha256(data).hexdigest()) + data


def _bytes(path: Path, limit: int = -1) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except FileNotFoundError:
        return None
