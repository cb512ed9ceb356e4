"""Notices when the files of the served blocks change on disk. It says so, and decides nothing.

Blocks compute with copies in memory, so a change cannot make them wrong; but they could not be loaded again. A file
whose identity changed is read again soon. Besides, all files are read in turn all the time, so slowly that nobody
notices, because a disk or a mapping can change bytes and leave no other sign.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck.checkpoint.shards import BlockOrigin, FileIdentity
from potluck.errors import CheckpointError

INTERVAL_S = 1.0
_SOON_SHARE = 0.25  # of one core, to read files again that may have changed
_SLOW_SHARE = 0.002  # of one core, always: a gigabyte in five minutes


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What was found when the files of a block looked like this; `problem` is empty if they are right."""

    identities: Mapping[Path, FileIdentity | None]
    problem: str = ""


class FileWatch:
    """The files of some blocks. Call `look` every `INTERVAL_S`; `look_slowly` never returns."""

    def __init__(self) -> None:
        self._verdicts: dict[BlockOrigin, _Verdict] = {}

    async def look(self, origins: Sequence[BlockOrigin]) -> str:
        """Return which files do not hold these blocks any more; empty: all do."""
        verdicts = {}
        for origin in origins:
            verdict = self._verdicts.get(origin) or _Verdict(origin.identities)
            now = origin.identities_now()
            if now != verdict.identities:
                verdict = _Verdict(now, await _problem_of(origin, _SOON_SHARE))
            verdicts[origin] = verdict
        self._verdicts = verdicts
        return next((verdict.problem for verdict in verdicts.values() if verdict.problem), "")

    async def look_slowly(self) -> None:
        """Read the files of the blocks that `look` last saw, one block after another, for ever."""
        while True:
            for origin, verdict in list(self._verdicts.items()):
                problem = await _problem_of(origin, _SLOW_SHARE)
                if problem != verdict.problem and self._verdicts.get(origin) is verdict:
                    self._verdicts[origin] = _Verdict(verdict.identities, problem)
            await asyncio.sleep(INTERVAL_S)


async def _problem_of(origin: BlockOrigin, share: float) -> str:
    """Read a block in this share of the time. Return the files' names if they do not hold it."""
    pieces = origin.verify()
    try:
        while True:
            begin = time.monotonic()
            if await asyncio.to_thread(_is_over, pieces):
                return ""
            await asyncio.sleep((time.monotonic() - begin) * (1.0 / share - 1.0))
    except CheckpointError:
        return origin.file_names


def _is_over(pieces: Iterator[None]) -> bool:
    return next(pieces, pieces) is pieces
