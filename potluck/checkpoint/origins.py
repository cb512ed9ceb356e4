"""Remembers from which files a block was loaded, and finds out whether they still hold it."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from potluck.checkpoint.shards import FileIdentity, ReadTensors, Shard
from potluck.checkpoint.tensors import DIGEST_HEX_DIGITS
from potluck.errors import CheckpointError


@dataclass(frozen=True, slots=True, eq=False)
class BlockOrigin:
    """The files of one block, by the names of its tensors, and what they were when it was loaded."""

    digest: str
    files: Mapping[str, Path]
    identities: Mapping[Path, FileIdentity | None]

    @classmethod
    def of(cls, digest: str, read: ReadTensors) -> BlockOrigin:
        shards = read.shards
        return cls(
            digest,
            {name: shard.path for name, shard in shards.items()},
            {shard.path: shard.opened_as for shard in shards.values()},
        )

    def identities_now(self) -> dict[Path, FileIdentity | None]:
        """Return what is under the names of the files now; None: nothing that can be read."""
        return {path: _identity_of(path) for path in self.identities}

    def verify(self) -> Iterator[None]:
        """Read the block from its files again, a piece at a time, and compare the digest.

        Raises:
            CheckpointError: the files are missing, damaged, or hold something else.
        """
        shards = {path: Shard(path) for path in self.identities}
        whole = hashlib.sha256()
        for name in sorted(self.files):
            for piece in shards[self.files[name]].digested(name):
                whole.update(piece)
                yield
        if whole.hexdigest()[:DIGEST_HEX_DIGITS] != self.digest:
            raise CheckpointError(f"{self.file_names} changed on disk", hint="put the right file back")

    @property
    def file_names(self) -> str:
        return ", ".join(sorted(path.name for path in self.identities))


def _identity_of(path: Path) -> FileIdentity | None:
    with contextlib.suppress(OSError):
        return FileIdentity.of(os.stat(path))
    return None
