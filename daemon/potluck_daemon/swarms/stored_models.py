"""Lists and deletes downloaded checkpoints.

The layout is huggingface_hub's: a folder `models--OWNER--NAME` for each model with `blobs`, `refs`, `snapshots`. A
running engine can still read files that it has mapped after they were deleted. Everything here blocks.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from potluck_control.methods.models import StoredModel

from potluck.files import taken_bytes
from potluck.protocol.swarm import Swarm

_PREFIX = "models--"  # how the folder of a model begins
_PARTIAL = (".partial", ".incomplete")


def downloads(folder: Path) -> list[tuple[str, Path]]:
    """Return name and folder of each model in a folder of downloads. A name without an owner is not the hub's."""
    found = (path for path in folder.glob(f"{_PREFIX}*") if path.is_dir())
    return sorted((path.name.removeprefix(_PREFIX).replace("--", "/", 1), path) for path in found)


def stored_models(folder: Path, swarms: Sequence[Swarm], served: str) -> tuple[StoredModel, ...]:
    """Return the models in `folder`, largest first.

    Args:
        swarms: the joined swarms.
        served: the name of the model that is served now.
    """
    found = []
    for name, path in downloads(folder):
        users = tuple(swarm.name for swarm in swarms if name in (swarm.model, swarm.draft_name))
        is_partial = any(file.name.endswith(_PARTIAL) for file in path.glob("blobs/*"))
        found.append(StoredModel(name, taken_bytes(path), is_partial, users, is_served=name == served))
    return tuple(sorted(found, key=lambda model: -model.bytes))


def delete_folder(path: Path) -> int:
    """Delete a folder, if it is there, and return the bytes that were freed. Raises OSError."""
    taken = taken_bytes(path)
    if path.is_dir():
        shutil.rmtree(path)
    return taken
