"""Keeps past transitions, one JSON line each, so that "why did it stop last night?" has an answer.

Each change appends a line. Beyond `MAX_LINES` the older half is dropped at once.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any

from potluck_control.api.schema import HistoryParams, Transition

from potluck.checked_files import CheckedLog
from potluck.protocol.codec import CodecError, decode, encode
from potluck.sentences import verbatim

log = logging.getLogger(__name__)

MAX_LINES = 2000


class HistoryFile:
    """The past transitions: all of them in memory, and a line for each in the file."""

    def __init__(self, path: Path) -> None:
        self._log = CheckedLog(path)
        self._recent: list[Transition] = []

    def load(self) -> None:
        """Read what earlier daemons wrote. Never raises for what the file holds."""
        try:
            for line in self._log.read():
                with contextlib.suppress(CodecError):  # a version that this one can't read wrote it
                    self._recent.append(_read(line))
        except OSError as error:
            log.warning("cannot read the history: %s", error)

    def append(self, transition: Transition) -> None:
        """Remember a transition. Failures are logged: a full disk must not stop the daemon."""
        self._recent.append(transition)
        try:
            if len(self._recent) > MAX_LINES:
                self._recent = self._recent[-(MAX_LINES // 2) :]
                self._log.write([encode(kept) for kept in self._recent])
            else:
                self._log.append(encode(transition))
        except OSError as error:
            log.warning("cannot write the history: %s", error)

    def find(self, wanted: HistoryParams) -> tuple[Transition, ...]:
        """Return the newest transitions that fit all filters, oldest first."""
        return tuple(item for item in self._recent if fits(item, wanted))[-wanted.limit :]


def _read(line: bytes) -> Transition:
    """Read a line; earlier versions wrote the English text alone. Raises CodecError."""
    try:
        return decode(Transition, line)
    except CodecError:
        earlier = decode(dict[str, Any], line)
        return decode(Transition, encode(earlier | {"text": verbatim(str(earlier.get("text", "")))}))


def fits(transition: Transition, wanted: HistoryParams) -> bool:
    """Return whether a transition fits all filters; an empty one fits everything. Pure."""
    text = f"{transition.text} {transition.app} {transition.app_title}".casefold()
    return (
        (wanted.since is None or transition.at >= wanted.since)
        and (not wanted.states or transition.state in wanted.states)
        and all(word in text for word in wanted.words.casefold().split())
    )
