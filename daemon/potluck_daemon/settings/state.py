"""What the daemon remembers across restarts: a pause, today's tokens, the last known swarm map. Not for editing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from potluck_daemon.codec import CodecError, dumps, from_json, loads
from potluck_daemon.control.schema import SwarmStatus
from potluck_daemon.settings.files import keep_aside, write_atomically

log = logging.getLogger(__name__)

STATE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Pause:
    """The user's wish; `until` None: until resumed."""

    since: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class RememberedState:
    version: int = STATE_VERSION
    pause: Pause | None = None
    tokens_day: str = ""  # local date the count belongs to
    tokens: int = 0
    swarm: SwarmStatus | None = None


def load_state(path: Path) -> tuple[RememberedState, str | None]:
    """The remembered state and, if the file was broken, a notice. Never raises for what a file may hold."""
    try:
        state = from_json(RememberedState, loads(path.read_bytes()), path.name)
    except FileNotFoundError:
        return RememberedState(), None
    except OSError as error:
        return RememberedState(), f"{path} cannot be read: {error.strerror}"
    except CodecError as error:
        try:
            aside = keep_aside(path)
        except OSError:
            return RememberedState(), f"{path.name} is damaged ({error}); starting afresh"
        return RememberedState(), f"{path.name} is damaged ({error}); kept as {aside.name}, starting afresh"
    return state, None


def save_state(path: Path, state: RememberedState) -> None:
    """Write at once; a full disk is logged, it must not stop the daemon."""
    try:
        write_atomically(path, dumps(state))
    except OSError as error:
        log.warning("cannot remember the state in %s: %s", path, error.strerror)
