"""Files of blocks whose weights differ from the checkpoint's: another number format, or fused experts.

Each block has one safetensors file, in a folder with a size limit. Its name has the block's digest and a hash of
everything that decides its bytes. A file that is cut short or has other content is written again: each is compared with
the weights themselves before it is used. The least recently used files are removed when the limit is reached.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from safetensors.torch import _TYPES
from torch import Tensor

from potluck.checkpoint.shards import FilePart, Shard, bytes_of, disk_full, file_errors, quick_digest
from potluck.errors import CheckpointError
from potluck.files import free_bytes, replacing
from potluck.sentences import sentence

_KEPT_FREE_BYTES = 1 << 30  # disk space that stays free for the owner of the computer
_DTYPE_NAMES = {dtype: name for name, dtype in _TYPES.items()}


class PreparedBlocks:
    """The files in `folder`, at most `limit_bytes` together."""

    def __init__(self, folder: Path, *, limit_bytes: int) -> None:
        self._folder = folder
        self._limit_bytes = limit_bytes
        self._in_use: set[Path] = set()

    def keep(self, digest: str, tensors: Mapping[str, Tensor]) -> tuple[FilePart, ...]:
        """Return where the tensors are in the file of the block, which is written if no valid one exists.

        Args:
            digest: of the block's weights in the checkpoint.

        Raises:
            CheckpointError: the disk is full, or the limit is too small.
        """
        layout = _layout_of(digest, tensors)
        path = self._folder / f"{digest}-{layout[:16]}.safetensors"
        self._in_use.add(path)
        try:
            parts = _parts_in(path, tensors)
        except CheckpointError:  # there is no valid one
            self._write(path, layout, tensors)
            parts = _parts_in(path, tensors)
        with file_errors(path):
            os.utime(path)  # marks the last use, for `_make_room`
        return parts

    def _write(self, path: Path, layout: str, tensors: Mapping[str, Tensor]) -> None:
        header = _header_of(layout, tensors)
        needed = len(header) + sum(tensor.nbytes for tensor in tensors.values())
        with file_errors(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            self._make_room(path, needed)
            with replacing(path) as file:
                file.write(header)
                file.writelines(map(bytes_of, tensors.values()))

    def _make_room(self, path: Path, needed: int) -> None:
        """Remove the least recently used files until `needed` bytes fit. Raises CheckpointError if they cannot."""
        others = sorted(self._folder.glob("*.safetensors"), key=lambda other: other.stat().st_mtime)
        used = sum(other.stat().st_size for other in others)
        for other in others:
            if used + needed <= self._limit_bytes and usable_bytes(self._folder) >= needed:
                break
            if other not in self._in_use:
                used -= other.stat().st_size
                other.unlink()
        if usable_bytes(self._folder) < needed:
            raise disk_full(path)
        if used + needed > self._limit_bytes:
            raise CheckpointError(
                sentence(
                    "converted layers would take more than the {number} MB they may have on disk",
                    number=f"{self._limit_bytes / 1000000.0:.0f}",
                ),
                hint=sentence(
                    "serve fewer layers, or the number format of the checkpoint, which needs no converted files"
                ),
            )


def usable_bytes(folder: Path) -> int:
    """Return how much may be written there, beside what stays free for the owner of the computer."""
    return free_bytes(folder) - _KEPT_FREE_BYTES


def _layout_of(digest: str, tensors: Mapping[str, Tensor]) -> str:
    """Return a hash of what decides the bytes: block, form and sums of its tensors, and version of transformers.

    The sums tell apart the parts of one block that several ranks hold: they have the same forms.
    """
    described = {name: [str(tensor.dtype), list(tensor.shape)] for name, tensor in tensors.items()}
    decisive = digest, version("transformers"), described, quick_digest(tensors)
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()


def _parts_in(path: Path, tensors: Mapping[str, Tensor]) -> tuple[FilePart, ...]:
    shard = Shard(path)
    return tuple(shard.part(name, tensor) for name, tensor in tensors.items())


def _header_of(layout: str, tensors: Mapping[str, Tensor]) -> bytes:
    """Return the safetensors header: its length, and JSON."""
    entries: dict[str, object] = {"__metadata__": {"format": "pt", "layout": layout}}
    position = 0
    for name, tensor in tensors.items():
        entries[name] = {
            "dtype": _DTYPE_NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [position, position + tensor.nbytes],
        }
        position += tensor.nbytes
    text = json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text
