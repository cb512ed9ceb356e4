"""Errors that reach a person or cross a package border.

Two families, after h11's idea: a *local* error is ours or the user's to fix, a *remote* error is what a peer said or
failed to say. Every error carries a message of one line and, where there is something to do about it, a hint.
"""

from __future__ import annotations


class PotluckError(Exception):
    """Base of every error of this project; `hint` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PotluckError):
    """The caller asked for something that cannot be: a bad option, name, or value."""


class CheckpointError(PotluckError):
    """A checkpoint is missing, damaged, unsafe to read, or cannot be split."""


class NetworkError(PotluckError):
    """No connection: the peer-to-peer process does not start, or nobody answers."""


class SwarmError(PotluckError):
    """The swarm cannot do it now, e.g. blocks that nobody serves."""
