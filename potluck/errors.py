"""Errors that reach a person or cross a package border.

There are two families, an idea from h11: a *local* error is for us or the user to fix, a *remote* error is a peer's
answer or silence. Every error carries a one-line message and, where the reader can do something, a hint.
"""

from __future__ import annotations


class PotluckError(Exception):
    """The base of all errors of this project; `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PotluckError):
    """The caller asked for something impossible: a bad option, name or value."""


class CheckpointError(PotluckError):
    """A checkpoint is missing, damaged, unsafe to read or impossible to split."""


class NetworkError(PotluckError):
    """There is no connection: the peer-to-peer process does not start, or no peer answers."""


class SwarmError(PotluckError):
    """The swarm cannot do it now, for example because nobody serves some blocks."""
