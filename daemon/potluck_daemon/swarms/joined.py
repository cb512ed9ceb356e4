"""Keeps the invites of the swarms that this user has joined.

An invite holds the membership key of its swarm, so only the owner may read the file and its checked copy.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from potluck_control.codec import dumps, from_json, loads
from potluck_control.places import user_places

from potluck.checked_files import CheckedFile, DamagedError
from potluck.errors import PotluckError, UsageError
from potluck.protocol.invite import decode_invite, encode_invite
from potluck.protocol.swarm import Swarm

_INVITE_START = re.compile(r"\s*potluck\d+:")


@dataclass(frozen=True, slots=True)
class _File:
    invites: tuple[str, ...]  # in the order they were joined
    version: int = 1


class JoinedSwarms:
    """The joined swarms, by name, in one small file."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or user_places().config / "swarms.json"
        self._file = CheckedFile(self.path, _swarms)

    def load(self) -> dict[str, Swarm]:
        """Return swarms by name, in the order they were joined.

        Raises:
            UsageError: the file cannot be read. A damaged one has been moved aside.
        """
        try:
            return {swarm.name: swarm for swarm in self._file.read() or ()}
        except OSError as error:
            raise UsageError(f"cannot read {self.path}: {error.strerror}") from error
        except DamagedError as error:
            text = f"{error.message}; it is now called {self._file.set_aside().name}"
            raise UsageError(text, hint="join again with: potluck swarm join") from error

    def add(self, swarm: Swarm) -> None:
        """Add a swarm as the last one joined. One of the same name is replaced."""
        swarms = self.load()
        swarms.pop(swarm.name, None)
        self._save([*swarms.values(), swarm])

    def remove(self, name: str) -> None:
        """Forget a swarm. Raises UsageError if it is not known."""
        swarms = self.load()
        if swarms.pop(name, None) is None:
            raise UsageError(f"you did not join a swarm named {name}", hint=_known(swarms))
        self._save(list(swarms.values()))

    def find(self, name_or_invite: str | None) -> Swarm:
        """Return the swarm of an invite or a name, or the only one for None.

        Raises:
            UsageError: a broken invite, an unknown name, or no single swarm to choose.
        """
        if name_or_invite is not None and is_like_invite(name_or_invite):
            return decode_invite(name_or_invite)
        swarms = self.load()
        if name_or_invite is not None:
            if name_or_invite not in swarms:
                raise UsageError(f"{name_or_invite!r} is neither an invite nor a swarm you joined", hint=_known(swarms))
            return swarms[name_or_invite]
        if len(swarms) != 1:
            problem = "you joined several swarms" if swarms else "you joined no swarm yet"
            raise UsageError(problem, hint=_known(swarms))
        return next(iter(swarms.values()))

    def _save(self, swarms: list[Swarm]) -> None:
        content = _File(tuple(encode_invite(swarm) for swarm in swarms))
        try:
            self._file.write(dumps(content) + b"\n")
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}", hint="potluck doctor") from error


def is_like_invite(text: str) -> bool:
    """Return whether `text` begins as an invite does; no swarm's name does."""
    return _INVITE_START.match(text) is not None


def chosen_swarm(path: Path, wanted: str) -> tuple[Swarm | None, tuple[str, ...]]:
    """Return the swarm to serve, `wanted` or the last one joined, and notices if it cannot be found."""
    try:
        swarms = JoinedSwarms(path).load()
    except PotluckError as error:
        return None, (f"{error.message} ({error.hint})",)
    except OSError as error:
        return None, (f"{path} cannot be read: {error.strerror}",)
    if wanted and wanted not in swarms:
        return None, (f"serve.swarm is {wanted!r}, which is not a swarm you joined",)
    return swarms.get(wanted) or next(reversed(swarms.values()), None), ()


def free_name(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or `wanted-2` and so on if that name is taken."""
    names = itertools.chain([wanted], (f"{wanted}-{number}" for number in itertools.count(2)))
    return next(name for name in names if name not in taken)


def _swarms(data: bytes) -> list[Swarm]:
    """Return the swarms in the bytes of a file. Raises ValueError or UsageError."""
    return [decode_invite(invite) for invite in from_json(_File, loads(data), "swarms").invites]


def _known(swarms: dict[str, Swarm]) -> str:
    if not swarms:
        return "join one with: potluck swarm join"
    return f"name one of: {', '.join(swarms)}"
