"""Errors that reach a person or cross a package border.

There are two families, an idea from h11: a *local* error is for us or the user to fix, a *remote* error is a peer's
answer or silence. Every error carries a one-line message and, where the reader can do something, a hint.
"""

from __future__ import annotations

import errno
from pathlib import Path

from potluck.sentences import Sentence, sentence, verbatim

_IS_FULL, _IS_YOURS, _IS_THERE = (
    sentence("is the disk full?"),
    sentence("does it belong to you?"),
    sentence("is its disk or network share still there?"),
)
_ELSEWHERE = sentence("choose another place")
_HINTS = {
    errno.ENOSPC: _IS_FULL,
    errno.EDQUOT: _IS_FULL,
    errno.ENOENT: _ELSEWHERE,
    errno.ENOTDIR: _ELSEWHERE,
    errno.EISDIR: _ELSEWHERE,
    errno.EROFS: sentence("is the disk mounted read-only?"),
    errno.EACCES: _IS_YOURS,
    errno.EPERM: _IS_YOURS,
    errno.EIO: _IS_THERE,
    errno.ENOTCONN: _IS_THERE,
    errno.ESTALE: _IS_THERE,
}


class PotluckError(Exception):
    """The base of all errors of this project; `hint` says what to do next."""

    def __init__(self, message: str | Sentence, *, hint: str | Sentence | None = None) -> None:
        """Store a sentence, or words that nobody translates."""
        super().__init__(str(message))
        self.sentence = message if isinstance(message, Sentence) else verbatim(message)
        self.advice = hint if isinstance(hint, Sentence) else verbatim(hint or "")

    @property
    def message(self) -> str:
        """Return the error in English."""
        return self.sentence.text

    @property
    def hint(self) -> str | None:
        """Return what to do next, in English."""
        return self.advice.text or None

    @property
    def whole(self) -> Sentence:
        """Return the error with what to do next."""
        return sentence("{what} ({advice})", what=self.sentence, advice=self.advice) if self.advice else self.sentence


class UsageError(PotluckError):
    """The caller asked for something impossible: a bad option, name or value."""


class AmbiguousError(UsageError):
    """A name stands for several things; the hint lists their ids."""


class CheckpointError(PotluckError):
    """A checkpoint is missing, damaged, unsafe to read or impossible to split."""


class NetworkError(PotluckError):
    """There is no connection: the peer-to-peer process does not start, or no peer answers."""


class SwarmError(PotluckError):
    """The swarm cannot do it now, for example because nobody serves some blocks."""


def explained(error: BaseException, place: Path | None = None) -> PotluckError | None:
    """Return an error of a file or disk in words for people, about `place` if it names no file; else None."""
    if not isinstance(error, OSError):
        return None
    hint = _HINTS.get(error.errno or 0)
    file = error.filename or place
    if file is None and hint != _IS_FULL:
        return None
    why = error.strerror or error
    if file is None:
        return PotluckError(sentence("cannot write: {why}", why=why), hint=hint)
    return PotluckError(sentence("cannot use {path}: {why}", path=file, why=why), hint=hint)
