"""Remembers where members were found, for when the addresses of an invite lead nowhere any more.

A few addresses of each swarm in one small file with a checked copy. Nothing in it is trusted: a peer that is dialled
proves its id, and the gate finds out whether it belongs to the swarm.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from pathlib import Path

from potluck.checked_files import state_file
from potluck.protocol.swarm import is_bootstrap_address

log = logging.getLogger(__name__)

MAX_PEERS = 8  # of a swarm
MAX_ADDRESSES = 2  # of a peer
_MAX_SWARMS = 64


def merged(met: Iterable[str], before: Iterable[str]) -> tuple[str, ...]:
    """Return the addresses to remember: of the peers just met, then of those met before. Pure.

    A peer that was met again is known by its new addresses only.
    """
    found: dict[str, list[str]] = {}
    for addresses in (met, before):
        are_old = set(found)
        for address in addresses:
            peer = _peer(address)
            if peer not in are_old and is_bootstrap_address(address):
                found.setdefault(peer, []).append(address)
    peers = list(found.values())[:MAX_PEERS]
    return tuple(address for addresses in peers for address in list(dict.fromkeys(addresses))[:MAX_ADDRESSES])


class MetPeers:
    """The file. A damaged one without a good copy is set aside, and the memory starts anew."""

    def __init__(self, path: Path) -> None:
        self._file = state_file(path, dict[str, tuple[str, ...]])

    def load(self) -> dict[str, tuple[str, ...]]:
        """Return the addresses by the swarm's name; none if the file is out of reach."""
        try:
            return {name: merged(those, ()) for name, those in (self._file.read() or {}).items()}
        except OSError as error:
            log.debug("cannot read %s: %s", self._file.path, error)
            return {}

    def remember(self, swarm: str, met: Iterable[str]) -> None:
        """Keep where members of a swarm were just found; on a full disk nothing changes."""
        known = self.load()
        addresses = merged(met, known.get(swarm, ()))
        if addresses != known.get(swarm, ()):
            self._write({swarm: addresses} | {name: those for name, those in known.items() if name != swarm})

    def forget(self, swarm: str) -> None:
        """Forget the members of a swarm that was left."""
        known = self.load()
        if known.pop(swarm, None) is not None:
            self._write(known)

    def _write(self, known: dict[str, tuple[str, ...]]) -> None:
        with contextlib.suppress(OSError):
            self._file.write(dict(list(known.items())[:_MAX_SWARMS]))


def _peer(address: str) -> str:
    return address.rpartition("/p2p/")[2]
