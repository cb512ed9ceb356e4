"""Remembers the digests of the weights that this computer has announced.

An engine that starts with other weights for the same swarm, revision and files would announce damaged ones as if they
were right. One small JSON file in the state folder: key -> block -> digest.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from potluck_control.launch_spec import LaunchSpec

from potluck.checked_files import CheckedFile, state_file
from potluck.errors import CheckpointError
from potluck.protocol.blocks import Span
from potluck.sentences import sentence

log = logging.getLogger(__name__)

_MAX_MODELS = 64  # the oldest go first

Known = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class ServedWeights:
    """A file of digests. Engines may share it."""

    path: Path

    def confirm(self, key: str, span: Span, digests: Sequence[str]) -> None:
        """Compare the digests of `span` with the earlier ones, and remember those of new blocks.

        Raises:
            CheckpointError: some differ.
        """
        file = state_file(self.path, Known)
        known = self._read(file)
        before = known.pop(key, {})
        now = {str(block): digest for block, digest in zip(span, digests, strict=True)}
        changed = [str(int(block) + 1) for block, digest in now.items() if before.get(block, digest) != digest]
        if changed:
            raise CheckpointError(
                sentence("the files of layer {number} have changed since they were served", number=", ".join(changed)),
                hint=sentence(
                    "put the right files back; if the new ones are right, delete {path} and {file}",
                    path=self.path,
                    file=file.copy,
                ),
            )
        if now.items() <= before.items():
            return
        entries = [*known.items(), (key, before | now)][-_MAX_MODELS:]
        try:
            file.write(dict(entries))
        except OSError as error:
            log.warning("cannot remember which weights are served: %s", error)

    def _read(self, file: CheckedFile[Known]) -> Known:
        try:
            return file.read() or {}
        except OSError as error:
            log.warning("cannot read which weights were served: %s", error)
            return {}


def weights_key(spec: LaunchSpec) -> str:
    """Return a key of the swarm, its revision and the files of the model."""
    return " | ".join((spec.swarm.prefix, spec.swarm.revision, spec.checkpoint))
